"""How sorting acts on tangents: they are put in the order of their primals, which is piecewise constant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._lax.indexing.primitives import GatherDimensionNumbers, GatherScatterMode, gather_p
from tangrad._lax.sorting.primitives import approx_top_k_p, search_sorted_p, sort_p, top_k_p
from tangrad._lax.structure.primitives import iota_p, reshape_p, slice_p
from tangrad.autodiff import Zero, symbolic_zeros, zero_jvp
from tangrad.core import Array, Primitive, RuleSet, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.typing import DType, Value, Values

jvp = RuleSet("jvp", api=1)

zero_jvp(jvp, search_sorted_p)


def _take(values: Value, positions: Value, axis: int) -> Array:
    """The values at positions along an axis; the other dimensions of both run in parallel."""
    shape = positions.aval.shape
    if 0 in values.aval.shape:  # there is nothing to gather a slice from
        return slice_p.bind(values, start_indices=(0,) * len(shape), limit_indices=shape, strides=None)
    others = tuple([d for d in range(len(shape)) if d != axis])
    return gather_p.bind(
        values,
        reshape_p.bind(positions, new_sizes=(*shape, 1), dimensions=None),
        dimension_numbers=GatherDimensionNumbers((), (axis,), (axis,), others, others),
        slice_sizes=(1,) * len(shape),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


def _position_dtype(size: int) -> DType:
    return dtypes.as_dtype(np.uint64 if not is_symbolic(size) and size >= 1 << 32 else np.uint32)


@jvp.rule(sort_p)
@symbolic_zeros
def _sort(
    primals: Values, tangents: tuple[Value | Zero, ...], *, dimension: int, **params: object
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    shape = primals[0].aval.shape
    if all([type(tangent) is Zero for tangent in tangents]):
        outs = sort_p.bind(*primals, dimension=dimension, **params)
        return outs, tuple([Zero.of(out) for out in outs])
    positions = iota_p.bind(dtype=_position_dtype(shape[dimension]), shape=shape, dimension=dimension)
    *ordered, order = sort_p.bind(*primals, positions, dimension=dimension, **params)
    moved = [Zero.of(out) if type(t) is Zero else _take(t, order, dimension) for out, t in zip(ordered, tangents)]
    return tuple(ordered), tuple(moved)


def _selection(primitive: Primitive) -> None:
    """Register the rule of a primitive that gives elements along `axis`, and where they were."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(
        primals: Values, tangents: tuple[Value | Zero, ...], *, axis: int, **params: object
    ) -> tuple[Values, tuple[Value | Zero, ...]]:
        values, positions = primitive.bind(*primals, axis=axis, **params)
        (tangent,) = tangents
        moved = Zero.of(values) if type(tangent) is Zero else _take(tangent, positions, axis)
        return (values, positions), (moved, Zero.of(positions))


_selection(top_k_p)
_selection(approx_top_k_p)
