"""The structural primitives and the types of their results.

Dimensions may be symbolic: sizes are compared, added and multiplied, and never assumed to be `int`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from tangrad._lax.checks import (
    COMPLEX,
    FLOATING,
    INTEGER,
    check_axes,
    check_dtype,
    check_int,
    check_length,
    check_same_dtype,
)
from tangrad.core import Array, Primitive, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.core.arguments import canonicalize_shape, is_symbolic
from tangrad.core.caches import FixedParams
from tangrad.errors import ArgumentError
from tangrad.typing import Dimensions, DType, Value, Values

structure = PrimitiveSet("structure", api=1)

_INT32 = dtypes.as_dtype("int32")
_INT32_MAX = 2**31 - 1


def _result(operand: ShapedArray, shape: Sequence[int]) -> ShapedArray:
    return ShapedArray(shape, operand.dtype)


# --- shape ---


@structure.primitive(name="broadcast_in_dim")
def broadcast_in_dim_p(
    operand: ShapedArray, *, shape: Dimensions, broadcast_dimensions: tuple[int, ...]
) -> ShapedArray:
    """The operand repeated to fill `shape`: its dimension i becomes the result's `broadcast_dimensions[i]`."""
    name, argument = "broadcast_in_dim", "broadcast_dimensions"
    check_length(name, broadcast_dimensions, operand.ndim, argument, "dimension of the operand")
    check_axes_of_result(name, broadcast_dimensions, len(shape), argument)
    for size, target in zip(operand.shape, broadcast_dimensions):
        if size != 1 and size != shape[target]:
            raise ArgumentError(
                f"broadcast_in_dim: operand of shape {operand.shape} does not fit dimensions "
                f"{tuple(broadcast_dimensions)} of shape {tuple(shape)}: each size must be 1 or equal"
            )
    return _result(operand, shape)


def check_axes_of_result(name: str, axes: Sequence[int], rank: int, argument: str) -> None:
    """Raise ValueError unless `axes` increase strictly and are dimensions of a result of that rank."""
    if any(not 0 <= axis < rank for axis in axes) or any(a >= b for a, b in pairwise(axes)):
        raise ArgumentError(f"{name}: {argument} must increase strictly within [0, {rank}), got {tuple(axes)}")


@structure.primitive(name="reshape")
def reshape_p(operand: ShapedArray, *, new_sizes: Dimensions, dimensions: tuple[int, ...] | None) -> ShapedArray:
    """The same elements in another shape, in row-major order, or in the order that `dimensions` gives."""
    if any(not is_symbolic(size) and size < 0 for size in new_sizes):
        raise ArgumentError(f"reshape: new_sizes must not be negative, got {tuple(new_sizes)}")
    out = _result(operand, new_sizes)
    if operand.size != out.size:
        raise ArgumentError(
            f"reshape: shape {operand.shape} has {operand.size} elements, new_sizes {out.shape} has {out.size}"
        )
    if dimensions is not None and sorted(dimensions) != list(range(operand.ndim)):
        raise ArgumentError(f"reshape: dimensions must be a permutation of range({operand.ndim}), got {dimensions}")
    return out


@structure.primitive(name="transpose")
def transpose_p(operand: ShapedArray, *, permutation: tuple[int, ...]) -> ShapedArray:
    """The operand with its dimensions reordered: dimension i of the result is `permutation[i]` of the operand."""
    if sorted(permutation) != list(range(operand.ndim)):
        raise ArgumentError(
            f"transpose: permutation must be a permutation of range({operand.ndim}), got {tuple(permutation)}"
        )
    return _result(operand, [operand.shape[i] for i in permutation])


def _squeeze(array: Value, *, dimensions: tuple[int, ...]) -> Array:
    sizes = tuple([size for d, size in enumerate(array.aval.shape) if d not in dimensions])
    return reshape_p.bind(array, new_sizes=sizes, dimensions=None)


@structure.primitive(name="squeeze", decompose=_squeeze)
def squeeze_p(array: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    """The array without the given dimensions, which must have size 1."""
    check_axes("squeeze", dimensions, array.ndim, "dimensions")
    if any(array.shape[d] != 1 for d in dimensions):
        raise ArgumentError(f"squeeze: dimensions {tuple(dimensions)} of shape {array.shape} must have size 1")
    return _result(array, [size for d, size in enumerate(array.shape) if d not in dimensions])


@structure.primitive(name="rev")
def rev_p(operand: ShapedArray, *, dimensions: tuple[int, ...]) -> ShapedArray:
    """The operand with the order of its elements reversed along the given dimensions."""
    check_axes("rev", dimensions, operand.ndim, "dimensions")
    return operand


# --- parts ---


def _part_from(operand: Value, *starts: Value, axes: tuple[int, ...], sizes: tuple[int, ...], strides: object) -> Array:
    """The part of these sizes along some axes, whole along the others, from starts that are operands."""
    places: list[Value] = [literal(0, starts[0].aval.dtype)] * operand.aval.ndim
    extents = list(operand.aval.shape)
    for axis, start, size in zip(axes, starts, sizes):
        places[axis], extents[axis] = start, size
    part = dynamic_slice_p.bind(operand, *places, slice_sizes=tuple(extents))
    if strides is None:
        return part
    return slice_p.bind(part, start_indices=(0,) * len(extents), limit_indices=tuple(extents), strides=strides)


def _type_of_part(
    operand: ShapedArray,
    *starts: ShapedArray,
    axes: tuple[int, ...],
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> ShapedArray:
    shape = list(operand.shape)
    for axis, size in zip(axes, sizes):
        shape[axis] = size
    steps = strides or (1,) * len(shape)
    return ShapedArray([strided_size(size, step) for size, step in zip(shape, steps)], operand.dtype, operand.weak_type)


# What slices are outside of programs, where they are compiled; no program holds one.
_part_from_p = Primitive("slice_from", _type_of_part, family="structure", weak_type="own", decompose=_part_from)


def _slice_by_operands(
    operand: ShapedArray, *, start_indices: Dimensions, limit_indices: Dimensions, strides: object
) -> Any:
    """Where a slice starts is a number that programs need not be compiled for."""
    return _slice_form(operand.shape, tuple(start_indices), tuple(limit_indices), strides)


@lru_cache(1024)
def _slice_form(
    shape: Dimensions, starts: tuple[int, ...], limits: tuple[int, ...], strides: tuple[int, ...] | None
) -> Callable[..., object] | None:
    steps = strides or (1,) * len(shape)
    if not len(starts) == len(limits) == len(steps) == len(shape) or min(steps, default=1) < 1:
        return None  # the operation itself has the messages
    axes = tuple([axis for axis, size in enumerate(shape) if limits[axis] - starts[axis] != size])
    if not axes or not all([0 <= start <= limit <= size for start, limit, size in zip(starts, limits, shape)]):
        return None
    dtype = _INT32 if all([shape[axis] <= _INT32_MAX for axis in axes]) else dtypes.as_dtype("int64")
    values = tuple([literal(starts[axis], dtype) for axis in axes])
    sizes = tuple([limits[axis] - starts[axis] for axis in axes])
    params = _part_params(axes, sizes, strides)
    return lambda operand: _part_from_p.bind_fixed(params, operand, *values)


@lru_cache(1024)
def _part_params(axes: tuple[int, ...], sizes: tuple[int, ...], strides: object) -> FixedParams:
    return FixedParams(axes=axes, sizes=sizes, strides=strides)


@structure.primitive(name="slice", value_form=_slice_by_operands)
def slice_p(
    operand: ShapedArray, *, start_indices: Dimensions, limit_indices: Dimensions, strides: tuple[int, ...] | None
) -> ShapedArray:
    """The part from `start_indices` up to, not including, `limit_indices`, in steps of `strides` (None: 1)."""
    for value, argument in ((start_indices, "start_indices"), (limit_indices, "limit_indices"), (strides, "strides")):
        if value is not None:
            check_length("slice", value, operand.ndim, argument, "dimension of the operand")
    if any(stride <= 0 for stride in strides or ()):
        raise ArgumentError(f"slice: strides must be positive, got {strides}")
    for start, limit, size in zip(start_indices, limit_indices, operand.shape):
        if not (start >= 0 and limit >= start and limit <= size):
            raise ArgumentError(
                f"slice: start_indices {tuple(start_indices)} and limit_indices {tuple(limit_indices)} must satisfy "
                f"0 <= start <= limit <= size for shape {operand.shape}"
            )
    steps = strides or (1,) * operand.ndim
    return _result(operand, [strided_size(b - a, step) for a, b, step in zip(start_indices, limit_indices, steps)])


def strided_size(extent: int, stride: int) -> int:
    """How many elements a stride meets within an extent."""
    return extent if stride == 1 else (extent + stride - 1) // stride


def _split(operand: Value, *, sizes: tuple[int, ...], axis: int) -> tuple[Value, ...]:
    """One slice after the other."""
    starts, limits = [0] * len(operand.aval.shape), list(operand.aval.shape)
    parts = []
    for size in sizes:
        limits[axis] = starts[axis] + size
        parts.append(slice_p.bind(operand, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None))
        starts[axis] = limits[axis]
    return tuple(parts)


_FEW_PARTS = 32


def _split_by_operands(_: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> Callable[..., Values] | None:
    """Slice by slice: a program for each size, where one for all would be as long as there are parts.

    A few parts of one size are one program: nothing in it changes with a value.
    """
    if len(sizes) <= _FEW_PARTS and max(sizes, default=0) - min(sizes, default=0) <= 1:
        return None
    return lambda operand: _split(operand, sizes=sizes, axis=axis)


@structure.primitive(name="split", multiple_results=True, decompose=_split, value_form=_split_by_operands)
def split_p(operand: ShapedArray, *, sizes: tuple[int, ...], axis: int) -> tuple[ShapedArray, ...]:
    """Consecutive parts of the operand along `axis`, with the given sizes."""
    check_axes("split", (axis,), operand.ndim, "axis")
    if any(not is_symbolic(size) and size < 0 for size in sizes):
        raise ArgumentError(f"split: sizes must not be negative, got {tuple(sizes)}")
    shape = operand.shape
    if sum(sizes) != shape[axis]:
        raise ArgumentError(f"split: sizes {tuple(sizes)} add up to {sum(sizes)}, dimension {axis} has {shape[axis]}")
    return tuple([_result(operand, (*shape[:axis], size, *shape[axis + 1 :])) for size in sizes])


@structure.primitive(name="dynamic_slice", weak_type="own")
def dynamic_slice_p(operand: ShapedArray, *start_indices: ShapedArray, slice_sizes: Dimensions) -> ShapedArray:
    """The part of size `slice_sizes` from `start_indices`: scalars, moved so that the part is within the operand."""
    _check_start_indices("dynamic_slice", operand, start_indices)
    check_length("dynamic_slice", slice_sizes, operand.ndim, "slice_sizes", "dimension of the operand")
    if any(not (size >= 0 and size <= full) for size, full in zip(slice_sizes, operand.shape)):
        raise ArgumentError(
            f"dynamic_slice: slice_sizes {tuple(slice_sizes)} must be between 0 and the shape {operand.shape}"
        )
    return ShapedArray(slice_sizes, operand.dtype, operand.weak_type)


@structure.primitive(name="dynamic_update_slice", weak_type="own")
def dynamic_update_slice_p(operand: ShapedArray, update: ShapedArray, *start_indices: ShapedArray) -> ShapedArray:
    """The operand with `update` written over it from `start_indices`, moved so that the update is within."""
    _check_start_indices("dynamic_update_slice", operand, start_indices)
    check_same_dtype("dynamic_update_slice", (operand, update))
    if update.ndim != operand.ndim:
        raise ArgumentError(
            "dynamic_update_slice: update must have the rank of the operand, "
            f"got shapes {update.shape} and {operand.shape}"
        )
    if any(not size <= full for size, full in zip(update.shape, operand.shape)):
        raise ArgumentError(
            f"dynamic_update_slice: update of shape {update.shape} does not fit into shape {operand.shape}"
        )
    return ShapedArray(operand.shape, operand.dtype, operand.weak_type and update.weak_type)


def _check_start_indices(name: str, operand: ShapedArray, start_indices: Sequence[ShapedArray]) -> None:
    if len(start_indices) != operand.ndim:
        raise ArgumentError(
            f"{name}: start_indices must have one index for each dimension of the operand ({operand.ndim}), "
            f"got {len(start_indices)}"
        )
    for index in start_indices:
        check_dtype(name, index, (INTEGER,), "start_indices")
        if index.shape:
            raise ArgumentError(f"{name}: start_indices must be scalars, got one of shape {index.shape}")
    if start_indices:
        check_same_dtype(f"{name} (start_indices)", start_indices)


# --- joining ---


@structure.primitive(name="concatenate")
def concatenate_p(*operands: ShapedArray, dimension: int) -> ShapedArray:
    """The operands one after the other along `dimension`."""
    if not operands:
        raise ArgumentError("concatenate requires at least one operand")
    check_same_dtype("concatenate", operands)
    first = operands[0]
    check_axes("concatenate", (dimension,), first.ndim, "dimension")
    for other in operands:
        if (
            other.ndim != first.ndim
            or other.shape[:dimension] != first.shape[:dimension]
            or other.shape[dimension + 1 :] != first.shape[dimension + 1 :]
        ):
            shapes = ", ".join([str(operand.shape) for operand in operands])
            raise ArgumentError(
                f"concatenate: operands must agree in all dimensions but {dimension}, got shapes {shapes}"
            )
    total = sum([operand.shape[dimension] for operand in operands])
    return _result(first, (*first.shape[:dimension], total, *first.shape[dimension + 1 :]))


def _padded_from(
    operand: Value, padding_value: Value, *lows: Value, shape: tuple[int, ...], interior: tuple[int, ...]
) -> Array:
    """The operand written into an array that is full of the padding value, at places that are operands."""
    if any(interior):
        operand = pad_p.bind(operand, padding_value, padding_config=tuple([(0, 0, count) for count in interior]))
    around = broadcast_in_dim_p.bind(padding_value, shape=shape, broadcast_dimensions=())
    return dynamic_update_slice_p.bind(around, operand, *lows)


def _type_of_pad_from(
    operand: ShapedArray, padding_value: ShapedArray, *_: ShapedArray, shape: tuple[int, ...], interior: tuple[int, ...]
) -> ShapedArray:
    return ShapedArray(shape, operand.dtype, operand.weak_type and padding_value.weak_type)


# What paddings are outside of programs, where they are compiled; no program holds one.
_pad_from_p = Primitive("pad_from", _type_of_pad_from, family="structure", weak_type="own", decompose=_padded_from)


def _pad_by_operands(
    operand: ShapedArray, padding_value: ShapedArray, *, padding_config: tuple[tuple[int, ...], ...]
) -> Callable[..., object] | None:
    """How a padding is shared out between both ends is a number that programs need not be compiled for."""
    if not all([low >= 0 and high >= 0 for low, high, _ in padding_config]):
        return None
    between = [dilated_size(size, interior) for size, (_, _, interior) in zip(operand.shape, padding_config)]
    shape = tuple([low + size + high for size, (low, high, _) in zip(between, padding_config)])
    if shape == tuple(between) or max(shape) > _INT32_MAX:
        return None
    lows = [literal(low, _INT32) for low, _, _ in padding_config]
    interior = tuple([item[2] for item in padding_config])
    return lambda operand, value: _pad_from_p.bind(operand, value, *lows, shape=shape, interior=interior)


@structure.primitive(name="pad", value_form=_pad_by_operands)
def pad_p(
    operand: ShapedArray, padding_value: ShapedArray, *, padding_config: tuple[tuple[int, int, int], ...]
) -> ShapedArray:
    """`padding_value` added before, after and between the elements; (low, high, interior) for each dimension.

    Negative low and high remove elements, after the interior padding.
    """
    check_same_dtype("pad", (operand, padding_value))
    if padding_value.shape:
        raise ArgumentError(f"pad: padding_value must be a scalar, got shape {padding_value.shape}")
    check_length("pad", padding_config, operand.ndim, "padding_config", "dimension of the operand")
    sizes = []
    for size, item in zip(operand.shape, padding_config):
        if len(item) != 3 or item[2] < 0:
            raise ArgumentError(
                "pad: padding_config must hold (low, high, interior) with interior >= 0 for each dimension, "
                f"got {padding_config}"
            )
        low, high, interior = item
        padded = low + high + dilated_size(size, interior)
        if not is_symbolic(padded) and padded < 0:
            raise ArgumentError(f"pad: padding_config {padding_config} leaves a negative size of shape {operand.shape}")
        sizes.append(padded)
    return _result(operand, sizes)


def dilated_size(size: int, interior: int) -> int:
    """The size of a dimension after `interior` elements went between each two of its elements."""
    if not is_symbolic(interior) and interior == 0:
        return size
    if not is_symbolic(size) and size == 0:
        return 0
    return size + (size - 1) * interior


# --- without operands, and identities ---


@structure.primitive(name="iota")
def iota_p(*, dtype: DType, shape: Dimensions, dimension: int) -> ShapedArray:
    """0, 1, 2, … along `dimension`, the same along the others."""
    out = ShapedArray(canonicalize_shape(shape), dtype)
    check_dtype("iota", out, (INTEGER, FLOATING, COMPLEX), "dtype")
    check_axes("iota", (check_int("iota", dimension, "dimension"),), out.ndim, "dimension")
    return out


@structure.primitive(name="copy")
def copy_p(x: ShapedArray) -> ShapedArray:
    """The same elements in memory of their own."""
    return x


@structure.primitive(name="stop_gradient")
def stop_gradient_p(x: ShapedArray) -> ShapedArray:
    """The same elements; to differentiation, a constant."""
    return x


@structure.primitive(name="optimization_barrier", multiple_results=True, weak_type="own", own_named_shape=True)
def optimization_barrier_p(*operands: ShapedArray) -> tuple[ShapedArray, ...]:
    """The operands unchanged; compilers move nothing across."""
    return operands
