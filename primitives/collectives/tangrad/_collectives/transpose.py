"""How collectives map cotangents back: sums to sums, gathering to scattering, each sender to its receiver."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import Axes, axes_in_type, names_among, positions_among
from tangrad._collectives.varying import differing
from tangrad.autodiff import Linear, linear_transpose_rule
from tangrad.core import Array, RuleSet, ShapedArray, literal
from tangrad.extend.lax import broadcast_in_dim_p, eq_p, full_like, select_n_p
from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)


def _psum(
    ct: Value, operand: ShapedArray, *, axes: Axes, axis_index_groups: tuple[tuple[int, ...], ...] | None
) -> Value:
    """Each example's value went into every sum, so it gets the sum of all their cotangents.

    Where types record that the values differ and the sum does not, there is one sum, and one cotangent for all.
    """
    positions, names = positions_among(axes), names_among(axes)
    if positions:
        kept = tuple([axis for axis in range(operand.ndim) if axis not in positions])
        ct = broadcast_in_dim_p.bind(ct, shape=operand.shape, broadcast_dimensions=kept)
    if axis_index_groups is None:
        names = _axes_not_in_type(operand, names)
    return p.psum_p.bind(ct, axes=names, axis_index_groups=axis_index_groups) if names else ct


def _axes_not_in_type(operand: ShapedArray, names: Axes) -> Axes:
    """The axes along which no type says that the operand differs."""
    known = axes_in_type(operand, names)
    return tuple([name for name in names if name not in known])


def _all_gather(ct: Value, operand: ShapedArray, *, all_gather_dimension: int, **params: object) -> Array:
    return p.reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


def _reduce_scatter(ct: Value, operand: ShapedArray, *, scatter_dimension: int, **params: object) -> Array:
    return p.all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


def _all_to_all(ct: Value, operand: Any, *, split_axis: int, concat_axis: int, **params: object) -> Array:
    return p.all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


def _ppermute(ct: Value, operand: ShapedArray, *, axis_name: Axes, perm: tuple[tuple[int, int], ...]) -> Array:
    return p.ppermute_p.bind(ct, axis_name=axis_name, perm=tuple([(to, source) for source, to in perm]))


def _pbroadcast(ct: Value, operand: Any, *, axis_name: Axes, source: int) -> Array:
    """The source gets the sum of all cotangents, the others, whose values are unused, nothing."""
    names = _axes_not_in_type(operand, axis_name)
    total = p.psum_p.bind(ct, axes=names, axis_index_groups=None) if names else ct
    index = differing(p.axis_index_p.bind(axis_name=axis_name), axis_name)
    here = eq_p.bind(index, literal(source, np.dtype(np.int32), False))
    return select_n_p.bind(here, full_like(total, 0), total)


linear_transpose_rule(transpose, p.psum_p, _psum)
linear_transpose_rule(transpose, p.all_gather_p, _all_gather)
linear_transpose_rule(transpose, p.reduce_scatter_p, _reduce_scatter)
linear_transpose_rule(transpose, p.all_to_all_p, _all_to_all)
linear_transpose_rule(transpose, p.ppermute_p, _ppermute)
linear_transpose_rule(transpose, p.pbroadcast_p, _pbroadcast)
linear_transpose_rule(
    transpose, p.pvary_p, lambda ct, operand, axes: ct
)  # summed by who holds it to the operand's type


@transpose.rule(p.psum_to_p)
def _psum_to(
    ct: Value, x: Value | Linear, source: Value | Linear, like: Value | Linear, *, axes: Axes
) -> tuple[Value | None, ...]:
    """As of a sum; what differed along the axes still follows from `source`."""
    return p.psum_to_p.bind(ct, source, like, axes=axes), None, None


@transpose.rule(p.psum_back_p)
def _psum_back(ct: Value, x: Value | Linear, like: Value | Linear, *, axes: Axes) -> tuple[Value | None, ...]:
    return p.psum_to_p.bind(ct, ct, like, axes=axes), None


transpose.not_applicable("it is not linear", p.pmax_p, p.pmin_p)
transpose.not_applicable("it has no operands", p.axis_index_p)
