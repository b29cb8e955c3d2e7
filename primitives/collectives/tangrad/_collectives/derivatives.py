"""How collectives act on tangents: nearly all are linear; and map cotangents back: each sender to its receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import Axes, axes_in_type, names_among, positions_among
from tangrad._collectives.positions import differing
from tangrad.autodiff import Linear, Zero, linear_jvp, linear_transpose_rule, symbolic_zeros
from tangrad.core import Array, Primitive, RuleSet, ShapedArray, literal
from tangrad.extend.lax import broadcast_in_dim_p, convert_element_type, div_p, eq_p, full_like, mul_p, select_n_p
from tangrad.typing import Value, Values

if TYPE_CHECKING:
    from collections.abc import Callable

jvp = RuleSet("jvp", api=1)
linear_jvp(
    jvp,
    p.psum_p,
    p.all_gather_p,
    p.reduce_scatter_p,
    p.all_to_all_p,
    p.ppermute_p,
    p.pbroadcast_p,
    p.pvary_p,
    p.pinvary_p,
)
jvp.not_applicable("it has no operands", p.axis_index_p)


@jvp.rule(p.psum_to_p, p.psum_back_p)
@symbolic_zeros
def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
    """Linear in the first operand; of the others only counts along which axes they differ."""
    primitive = p.psum_to_p if len(primals) == 3 else p.psum_back_p
    answer, (tangent, *_) = primitive.bind(*primals, **params), tangents
    if type(tangent) is Zero:
        return answer, Zero.of(answer)
    return answer, primitive.bind(tangent, *primals[1:], **params)


def _extreme(primitive: Primitive) -> Callable[..., tuple[Value, Value | Zero]]:
    """The tangent of the example that has the greatest, or least, value; of several, their mean."""

    def rule(primals: tuple[Array, ...], tangents: tuple[Array, ...], **params: Any) -> tuple[Value, Value | Zero]:
        (x,), (tangent,) = primals, tangents
        answer = primitive.bind(x, **params)
        if type(tangent) is Zero:
            return answer, Zero.of(answer)
        chosen = convert_element_type(eq_p.bind(x, _spread(answer, x, params["axes"])), x.aval.dtype)
        count = p.psum_p.bind(chosen, **params)
        return answer, div_p.bind(p.psum_p.bind(mul_p.bind(tangent, chosen), **params), count)

    return symbolic_zeros(rule)


def _spread(answer: Value, x: Value, axes: Axes) -> Value:
    """A result at the shape of the operand again."""
    positions = positions_among(axes)
    if not positions:
        return answer
    kept = tuple([axis for axis in range(len(x.aval.shape)) if axis not in positions])
    return broadcast_in_dim_p.bind(answer, shape=x.aval.shape, broadcast_dimensions=kept)


jvp.table({primitive: _extreme(primitive) for primitive in (p.pmax_p, p.pmin_p)})


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
    """The axes along which, by its type, the operand does not differ."""
    known = axes_in_type(operand, names)
    return tuple([name for name in names if name not in known])


def _all_gather(ct: Value, operand: ShapedArray, *, all_gather_dimension: int, **params: object) -> Array:
    return p.reduce_scatter_p.bind(ct, scatter_dimension=all_gather_dimension, **params)


def _reduce_scatter(ct: Value, operand: ShapedArray, *, scatter_dimension: int, **params: object) -> Array:
    return p.all_gather_p.bind(ct, all_gather_dimension=scatter_dimension, **params)


def _all_to_all(ct: Value, operand: object, *, split_axis: int, concat_axis: int, **params: object) -> Array:
    return p.all_to_all_p.bind(ct, split_axis=concat_axis, concat_axis=split_axis, **params)


def _ppermute(ct: Value, operand: ShapedArray, *, axis_name: Axes, perm: tuple[tuple[int, int], ...]) -> Array:
    return p.ppermute_p.bind(ct, axis_name=axis_name, perm=tuple([(to, source) for source, to in perm]))


def _pbroadcast(ct: Value, operand: ShapedArray, *, axis_name: Axes, source: int) -> Array:
    """The source gets the sum of all cotangents, the others, whose values are unused, nothing."""
    names = _axes_not_in_type(operand, axis_name)
    total = p.psum_p.bind(ct, axes=names, axis_index_groups=None) if names else ct
    return _of_one(total, axis_name, source)


def _of_one(x: Value, names: Axes, index: int) -> Array:
    """Zero but for the example with an index along the axes."""
    own = differing(p.axis_index_p.bind(axis_name=names), names)
    return select_n_p.bind(eq_p.bind(own, literal(index, np.dtype(np.int32), False)), full_like(x, 0), x)


def _pinvary(ct: Value, operand: ShapedArray, *, axes: Axes) -> Value:
    """Where types record that the operand differs, one example gets the one cotangent for all, which is not counted."""
    names = axes_in_type(operand, axes)
    return _of_one(ct, names, 0) if names else ct


linear_transpose_rule(transpose, p.psum_p, _psum)
linear_transpose_rule(transpose, p.all_gather_p, _all_gather)
linear_transpose_rule(transpose, p.reduce_scatter_p, _reduce_scatter)
linear_transpose_rule(transpose, p.all_to_all_p, _all_to_all)
linear_transpose_rule(transpose, p.ppermute_p, _ppermute)
linear_transpose_rule(transpose, p.pbroadcast_p, _pbroadcast)
linear_transpose_rule(transpose, p.pinvary_p, _pinvary)
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
