"""Gather and scatter on padded arrays: indices are held against what counts; updates that do not count are dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tangrad._lax.elementwise.primitives import clamp_p, convert_element_type_p, gt_p, select_n_p
from tangrad._lax.indexing.primitives import (
    SCATTERS,
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    window_sizes,
)
from tangrad._lax.structure.primitives import broadcast_in_dim_p, concatenate_p, slice_p
from tangrad.core import Array, Primitive, RuleSet, literal
from tangrad.core.arguments import is_symbolic
from tangrad.extend.masking import INT32, Sizes, number
from tangrad.typing import Dimensions, Value, Values

mask = RuleSet("mask", api=1)
OUTSIDE = 2**31 - 1


def _held(
    indices: Value,
    shape: Dimensions,
    index_map: tuple[int, ...],
    windows: tuple[int, ...],
    mode: GatherScatterMode,
    sizes: Sizes,
) -> Value:
    """Indices of dtype int32 for the padded operand that mean what they mean for the logical one.

    Args:
        shape: the logical shape of the operand.
        windows: the size of the window in each of its dimensions.
    """
    indices = convert_element_type_p.bind(indices, new_dtype=INT32, weak_type=False)
    if mode is GatherScatterMode.PROMISE_IN_BOUNDS:
        return indices
    columns = []
    for place, dimension in enumerate(index_map):
        column = _column(indices, place)
        if is_symbolic(shape[dimension]):
            last = number(sizes.logical(shape[dimension] - windows[dimension]))
            if mode is GatherScatterMode.CLIP:
                column = clamp_p.bind(literal(0, INT32), column, last)
            else:
                outside = broadcast_in_dim_p.bind(
                    literal(OUTSIDE, INT32), shape=column.aval.shape, broadcast_dimensions=()
                )
                repeated = broadcast_in_dim_p.bind(last, shape=column.aval.shape, broadcast_dimensions=())
                column = select_n_p.bind(gt_p.bind(column, repeated), column, outside)
        columns.append(column)
    return concatenate_p.bind(*columns, dimension=indices.aval.ndim - 1) if columns else indices


def _column(indices: Value, place: int) -> Array:
    """One component of all indices, with a last dimension of size 1."""
    shape = indices.aval.shape
    starts = (*[0] * (len(shape) - 1), place)
    return slice_p.bind(indices, start_indices=starts, limit_indices=(*shape[:-1], place + 1), strides=None)


@mask.rule(gather_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Dimensions,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    **params: object,
) -> Value:
    (x, indices), (shape, of_indices) = args, shapes
    held = _held(indices, shape, dimension_numbers.start_index_map, slice_sizes, mode, sizes)
    logical = gather_p.infer(
        (x.aval.update(shape=shape), indices.aval.update(shape=of_indices)),
        {
            "dimension_numbers": dimension_numbers,
            "slice_sizes": slice_sizes,
            "indices_are_sorted": indices_are_sorted,
            "mode": mode,
            **params,
        },
    )
    out = gather_p.bind(
        x,
        held,
        dimension_numbers=dimension_numbers,
        slice_sizes=sizes.padded(tuple(slice_sizes)),
        indices_are_sorted=False,  # what is beyond is in no order
        mode=mode,
        **{**params, "unique_indices": False},
    )
    return sizes.fill(out, logical.shape, 0)


def _scatter(primitive: Primitive) -> Callable[..., Array]:
    def rule(
        args: Values,
        shapes: Sequence[Dimensions],
        *,
        sizes: Sizes,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode,
        **params: object,
    ) -> Array:
        (x, indices, updates), (shape, of_indices, of_updates) = args, shapes
        windows = window_sizes(dimension_numbers, shape, of_updates)
        held = _held(indices, shape, dimension_numbers.scatter_dims_to_operand_dims, windows, mode, sizes)
        if any([is_symbolic(windows[d]) for d in dimension_numbers.scatter_dims_to_operand_dims]):
            raise NotImplementedError(
                f"mask: {primitive.name} of windows with a size that is masked, {tuple(windows)}: scatter elements"
            )
        valid = sizes.valid(of_indices)
        if valid is not None:  # an update that does not count goes nowhere
            outside = broadcast_in_dim_p.bind(literal(OUTSIDE, INT32), shape=held.aval.shape, broadcast_dimensions=())
            held, mode = select_n_p.bind(valid, outside, held), GatherScatterMode.FILL_OR_DROP
        return primitive.bind(
            x,
            held,
            sizes.fill(updates, of_updates, 0),
            dimension_numbers=dimension_numbers,
            indices_are_sorted=False,
            unique_indices=False,
            mode=mode,
        )

    return rule


for _primitive in SCATTERS:
    mask.add(_primitive, _scatter(_primitive))
