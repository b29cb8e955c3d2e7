"""How the structural primitives act on mapped axes: most keep the axis where it is, and count theirs around it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from tangrad._lax.checks import BOOL
from tangrad._lax.elementwise.primitives import convert_element_type_p, select_n_p
from tangrad._lax.indexing.primitives import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
    gather_p,
    one_of,
    scatter_p,
)
from tangrad._lax.structure import primitives as p
from tangrad.batching import AxisInfo, elementwise_batch, front_batch, place_axis, to_front
from tangrad.core import Array, RuleSet, literal
from tangrad.typing import Dimensions, Dims, Value, Values

T = TypeVar("T")

batch = RuleSet("batch", api=1)

elementwise_batch(batch, p.copy_p, p.stop_gradient_p)
batch.not_applicable("it has no operands", p.iota_p)


@batch.rule(p.optimization_barrier_p)
def _optimization_barrier(
    args: Values, dims: Dims, *, axis_info: AxisInfo
) -> tuple[Sequence[Value], Sequence[int | None]]:
    return p.optimization_barrier_p.bind(*args), dims


# --- shape ---


def _around(dim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Axes of an operand, counted with the mapped one."""
    return tuple([axis + (axis >= dim) for axis in axes])


def _broadcast_in_dim(operand: Value, *, shape: Dimensions, broadcast_dimensions: tuple[int, ...]) -> Array:
    size = operand.aval.shape[0]
    dimensions = (0, *[d + 1 for d in broadcast_dimensions])
    return p.broadcast_in_dim_p.bind(operand, shape=(size, *shape), broadcast_dimensions=dimensions)


def _reshape(operand: Value, *, new_sizes: Dimensions, dimensions: tuple[int, ...] | None) -> Array:
    if dimensions is not None:
        dimensions = (0, *[d + 1 for d in dimensions])
    return p.reshape_p.bind(operand, new_sizes=(operand.aval.shape[0], *new_sizes), dimensions=dimensions)


front_batch(batch, p.broadcast_in_dim_p, _broadcast_in_dim)
front_batch(batch, p.reshape_p, _reshape)


@batch.rule(p.transpose_p)
def _transpose(
    args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, permutation: tuple[int, ...]
) -> tuple[Value, int | None]:
    (operand,), (dim,) = args, dims
    return p.transpose_p.bind(operand, permutation=(dim, *_around(dim, permutation))), 0


@batch.rule(p.squeeze_p)
def _squeeze(
    args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, dimensions: tuple[int, ...]
) -> tuple[Value, int | None]:
    (operand,), (dim,) = args, dims
    gone = _around(dim, dimensions)
    return p.squeeze_p.bind(operand, dimensions=gone), dim - sum([d < dim for d in gone])


@batch.rule(p.rev_p)
def _rev(
    args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, dimensions: tuple[int, ...]
) -> tuple[Value, int | None]:
    (operand,), (dim,) = args, dims
    return p.rev_p.bind(operand, dimensions=_around(dim, dimensions)), dim


# --- parts ---


def _insert(values: tuple[T, ...], position: int | None, value: T) -> tuple[T, ...]:
    return (*values[:position], value, *values[position:])


@batch.rule(p.slice_p)
def _slice(
    args: Values,
    dims: tuple[int, ...],
    *,
    axis_info: AxisInfo,
    start_indices: Dimensions,
    limit_indices: Dimensions,
    strides: tuple[int, ...] | None,
) -> tuple[Value, int | None]:
    (operand,), (dim,) = args, dims
    out = p.slice_p.bind(
        operand,
        start_indices=_insert(start_indices, dim, 0),
        limit_indices=_insert(limit_indices, dim, axis_info.size),
        strides=None if strides is None else _insert(strides, dim, 1),
    )
    return out, dim


@batch.rule(p.split_p)
def _split(
    args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, sizes: tuple[int, ...], axis: int
) -> tuple[Sequence[Value], Sequence[int | None]]:
    (operand,), (dim,) = args, dims
    (position,) = _around(dim, (axis,))
    return p.split_p.bind(operand, sizes=sizes, axis=position), (dim,) * len(sizes)


@batch.rule(p.dynamic_slice_p)
def _dynamic_slice(
    args: Values, dims: Dims, *, axis_info: AxisInfo, slice_sizes: Dimensions
) -> tuple[Value, int | None]:
    operand, *starts = args
    dim, *start_dims = dims
    if not starts:
        return operand, dim
    if all(d is None for d in start_dims):
        first = literal(0, starts[0].aval.dtype)
        sizes = _insert(slice_sizes, dim, axis_info.size)
        return p.dynamic_slice_p.bind(operand, *_insert(tuple(starts), dim, first), slice_sizes=sizes), dim
    # Each slice from another place: a gather.
    operand, inside = to_front(operand, dim), (0,) if dim is not None else ()
    window = tuple(range(1, len(slice_sizes) + 1))
    numbers = GatherDimensionNumbers(
        offset_dims=window,
        collapsed_slice_dims=(),
        start_index_map=tuple([d + len(inside) for d in range(len(slice_sizes))]),
        operand_batching_dims=inside,
        start_indices_batching_dims=inside,
    )
    out = gather_p.bind(
        operand,
        _stacked(starts, start_dims, axis_info.size),
        dimension_numbers=numbers,
        slice_sizes=(*[one_of(axis_info.size)] * len(inside), *slice_sizes),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )
    return out, 0


def _stacked(starts: Sequence[Value], dims: Sequence[int | None], size: int) -> Array:
    """Start indices as one array, with the mapped axis in front and an index in each row."""
    columns = []
    for start, dim in zip(starts, dims, strict=True):
        places = () if dim is None else (0,)
        columns.append(p.broadcast_in_dim_p.bind(start, shape=(size, 1), broadcast_dimensions=places))
    return p.concatenate_p.bind(*columns, dimension=1)


@batch.rule(p.dynamic_update_slice_p)
def _dynamic_update_slice(args: Values, dims: Sequence[Any], *, axis_info: AxisInfo) -> tuple[Value, int | None]:
    operand, update, *starts = args
    dim, update_dim, *start_dims = dims
    if not starts:
        if update.aval.weak_type and not operand.aval.weak_type:
            update = convert_element_type_p.bind(update, new_dtype=update.aval.dtype, weak_type=False)
        return update, update_dim
    if all(d is None for d in start_dims):
        dim = update_dim if dim is None else dim
        operand = place_axis(operand, dims[0], dim, axis_info.size)
        update = place_axis(update, update_dim, dim, axis_info.size)
        first = literal(0, starts[0].aval.dtype)
        return p.dynamic_update_slice_p.bind(operand, update, *_insert(tuple(starts), dim, first)), dim
    # Each update at another place: a scatter.
    operand, update = place_axis(operand, dim, 0, axis_info.size), place_axis(update, update_dim, 0, axis_info.size)
    window = tuple(range(1, operand.aval.ndim))
    numbers = ScatterDimensionNumbers(
        update_window_dims=window,
        inserted_window_dims=(),
        scatter_dims_to_operand_dims=window,
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    out = scatter_p.bind(
        operand,
        _stacked(starts, start_dims, axis_info.size),
        update,
        dimension_numbers=numbers,
        indices_are_sorted=True,
        unique_indices=True,
        mode=GatherScatterMode.CLIP,
    )
    return out, 0


# --- joining ---


@batch.rule(p.concatenate_p)
def _concatenate(args: Values, dims: Dims, *, axis_info: AxisInfo, dimension: int) -> tuple[Value, int | None]:
    dim = next(d for d in dims if d is not None)
    operands = [place_axis(arg, d, dim, axis_info.size) for arg, d in zip(args, dims, strict=True)]
    return p.concatenate_p.bind(*operands, dimension=dimension + (dimension >= dim)), dim


@batch.rule(p.pad_p)
def _pad(
    args: Values, dims: Dims, *, axis_info: AxisInfo, padding_config: tuple[tuple[int, ...], ...]
) -> tuple[Value, int | None]:
    (operand, value), (dim, value_dim) = args, dims
    if value_dim is None:
        return p.pad_p.bind(operand, value, padding_config=_insert(padding_config, dim, (0, 0, 0))), dim
    return _pad_with_many(place_axis(operand, dim, 0, axis_info.size), value, padding_config), 0


def _pad_with_many(operand: Value, values: Value, config: tuple[tuple[int, ...], ...]) -> Array:
    """Each operand padded with its own value: padded with zeros, which the values then replace."""
    shape = operand.aval.shape
    padded = p.pad_p.bind(operand, literal(0, operand.aval.dtype, True), padding_config=((0, 0, 0), *config))
    out_shape = padded.aval.shape
    inside = p.broadcast_in_dim_p.bind(literal(True, BOOL), shape=shape[1:], broadcast_dimensions=())
    inside = p.pad_p.bind(inside, literal(False, BOOL), padding_config=config)
    inside = p.broadcast_in_dim_p.bind(inside, shape=out_shape, broadcast_dimensions=tuple(range(1, len(out_shape))))
    values = p.broadcast_in_dim_p.bind(values, shape=out_shape, broadcast_dimensions=(0,))
    return select_n_p.bind(inside, values, padded)
