"""How contractions act on mapped axes: by another contraction, with as few axes moved as can be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tangrad._lax.contractions.primitives import (
    CONTRACTING,
    DotDimensionNumbers,
    RaggedDotDimensionNumbers,
    dot_general_p,
    free_axes,
    layout,
    ragged_dot_general_p,
)
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.batching import AxisInfo, move_axis, place_axis
from tangrad.core import Array, RuleSet
from tangrad.typing import Dims, DType, Params, Value, Values

batch = RuleSet("batch", api=1)


@batch.rule(dot_general_p)
def _dot_general(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    dimension_numbers: object,
    precision: object,
    preferred_element_type: DType | None,
) -> tuple[Value, int | None]:
    lhs, rhs = args
    numbers, dim = batched(dimension_numbers, lhs.aval.ndim, rhs.aval.ndim, *dims)
    out = dot_general_p.bind(
        lhs, rhs, dimension_numbers=numbers, precision=precision, preferred_element_type=preferred_element_type
    )
    return out, dim


@batch.rule(ragged_dot_general_p)
def _ragged(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    ragged_dot_dimension_numbers: RaggedDotDimensionNumbers,
    **params: object,
) -> tuple[Value, int | None]:
    """A single mapped factor has one dimension more that is left over; else there is one more batch dimension."""
    lhs, rhs, group_sizes = args
    lhs_dim, rhs_dim, sizes_dim = dims
    numbers = ragged_dot_dimension_numbers
    if sizes_dim is None and (lhs_dim is None or rhs_dim is None):
        return _left_over(lhs, lhs_dim, rhs, rhs_dim, group_sizes, numbers, params)
    lhs, rhs = [place_axis(x, dim, 0, axis_info.size) for x, dim in ((lhs, lhs_dim), (rhs, rhs_dim))]
    if sizes_dim is not None or len(group_sizes.aval.shape) > 1:
        form = layout(numbers, lhs.aval.ndim - 1, rhs.aval.ndim - 1)
        prefix = tuple([lhs.aval.shape[axis + 1] for axis in form.prefix])
        group_sizes = _for_each(place_axis(group_sizes, sizes_dim, 0, axis_info.size), prefix)
    contracting, batch_axes = [[_shifted(axes) for axes in pair] for pair in numbers.dot_dimension_numbers]
    dot = DotDimensionNumbers((contracting, [(0, *axes) for axes in batch_axes]))
    shifted = RaggedDotDimensionNumbers(
        dot, _shifted(numbers.lhs_ragged_dimensions), _shifted(numbers.rhs_group_dimensions)
    )
    out = ragged_dot_general_p.bind(lhs, rhs, group_sizes, ragged_dot_dimension_numbers=shifted, **params)
    return out, int(layout(numbers, lhs.aval.ndim - 1, rhs.aval.ndim - 1).mode is CONTRACTING)


def _left_over(
    lhs: Value,
    lhs_dim: int | None,
    rhs: Value,
    rhs_dim: Any,
    group_sizes: Value,
    numbers: object,
    params: Params,
) -> tuple[Array, int]:
    form = layout(numbers, lhs.aval.ndim - (lhs_dim is not None), rhs.aval.ndim - (rhs_dim is not None))
    if lhs_dim is not None:  # behind the ragged dimension: groups may differ along those before it
        lhs = move_axis(lhs, lhs_dim, lhs.aval.ndim - 1)
    else:
        rhs = move_axis(rhs, rhs_dim, rhs.aval.ndim - 1)
    out = ragged_dot_general_p.bind(lhs, rhs, group_sizes, ragged_dot_dimension_numbers=numbers, **params)
    if lhs_dim is None:
        return out, out.aval.ndim - 1
    return out, (form.mode is CONTRACTING) + len(form.lhs_batch) + len(form.lhs_free)


def _for_each(group_sizes: Value, prefix: tuple[object, ...]) -> Value:
    """Sizes of groups, mapped along their first axis, for each element of the prefix."""
    shape = group_sizes.aval.shape
    if len(shape) > 2 or not prefix:
        return group_sizes
    whole = (shape[0], *prefix, shape[1])
    return broadcast_in_dim_p.bind(group_sizes, shape=whole, broadcast_dimensions=(0, len(whole) - 1))


def _shifted(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


@lru_cache(1024)
def batched(
    numbers: DotDimensionNumbers, lhs_rank: int, rhs_rank: int, lhs_dim: int | None, rhs_dim: int | None
) -> tuple[DotDimensionNumbers, int]:
    """The contraction of operands with mapped axes, of which at least one is there; and the result's mapped axis.

    Two mapped axes become one more batch dimension; a single one is like any other dimension of its operand. The ranks
    are those with the mapped axes.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    if lhs_dim is not None:
        lhs_contract, lhs_batch = _around(lhs_dim, lhs_contract), _around(lhs_dim, lhs_batch)
    if rhs_dim is not None:
        rhs_contract, rhs_batch = _around(rhs_dim, rhs_contract), _around(rhs_dim, rhs_batch)
    if lhs_dim is not None and rhs_dim is not None:
        batch = (lhs_dim, *lhs_batch), (rhs_dim, *rhs_batch)
        return DotDimensionNumbers(((lhs_contract, rhs_contract), batch)), 0
    made = DotDimensionNumbers(((lhs_contract, rhs_contract), (lhs_batch, rhs_batch)))
    lhs_free = free_axes(lhs_rank, lhs_contract, lhs_batch)
    if lhs_dim is not None:
        return made, len(lhs_batch) + lhs_free.index(lhs_dim)
    rhs_free = free_axes(rhs_rank, rhs_contract, rhs_batch)
    assert rhs_dim is not None
    return made, len(lhs_batch) + len(lhs_free) + rhs_free.index(rhs_dim)


def _around(dim: int, axes: Sequence[int]) -> tuple[int, ...]:
    """Axes counted without a mapped one, counted with it."""
    return tuple([axis + (axis >= dim) for axis in axes])
