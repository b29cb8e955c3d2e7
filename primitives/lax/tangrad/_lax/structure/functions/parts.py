"""Functions that take parts of an array or write over them: `tangrad.lax.slice`, `dynamic_update_slice`, `split`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tangrad._lax.checks import canonical_axis, check_int
from tangrad._lax.elementwise.primitives import add_p, convert_element_type_p, lt_p, select_n_p
from tangrad._lax.operands import operand as as_operand
from tangrad._lax.operands import size_operand
from tangrad._lax.structure.functions.shapes import int_tuple, operand_of, reshape, squeeze
from tangrad._lax.structure.primitives import dynamic_slice_p, dynamic_update_slice_p, slice_p, split_p
from tangrad.core import Array, dtypes, literal
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, Dimensions, DType, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["dynamic_slice", "dynamic_update_slice"], True)

INT32 = dtypes.as_dtype("int32")
_INT32_MAX = 2**31 - 1


def slice(
    operand: ArrayLike, start_indices: Sequence[Any], limit_indices: Sequence[Any], strides: Sequence[int] | None = None
) -> Array:
    """The part of an array between fixed limits.

    Args:
        operand: an array.
        start_indices: for each dimension, the first index.
        limit_indices: for each dimension, the index after the last, at most the size.
        strides: for each dimension, the step; None: 1.

    Returns:
        An array of the same rank.

    Raises:
        TypeError: for indices that are no integers.
        ValueError: for limits outside the array, or strides below 1.

    >>> import tangrad
    >>> tangrad.lax.slice(tangrad.lax.iota("int32", 8), (1,), (7,), (2,))
    Array([1, 3, 5], dtype=int32)
    """
    made = operand if isinstance(operand, Array) else as_operand("slice", operand, "operand")
    if strides is not None:
        strides = int_tuple("slice", strides, "strides")
        if all([stride == 1 for stride in strides]) and len(strides) == made.aval.ndim:
            strides = None
    return slice_p.bind(
        made,
        start_indices=size_tuple("slice", start_indices, "start_indices"),
        limit_indices=size_tuple("slice", limit_indices, "limit_indices"),
        strides=strides,
    )


def size_tuple(name: str, values: Sequence[int], argument: str) -> tuple[int, ...]:
    """A parameter as a tuple of integers or symbolic dimensions. Raises TypeError for anything else."""
    if type(values) is tuple and all([type(value) is int for value in values]):
        return values
    try:
        return tuple([value if is_symbolic(value) else check_int(name, value, argument) for value in values])
    except TypeError:
        raise TypeError(f"{name}: {argument} must be a sequence of integers, got {values!r}") from None


def slice_in_dim(
    operand: ArrayLike,
    start_index: SupportsIndex | None,
    limit_index: SupportsIndex | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """The part of an array between limits along one axis.

    Args:
        operand: an array.
        start_index: the first index; negative: from the end; None: 0.
        limit_index: the index after the last; negative: from the end; None: the size.
        stride: the step.
        axis: the axis; negative: from the end.

    Returns:
        An array of the same rank.

    Raises:
        TypeError: for indices that are no integers.
        ValueError: for limits outside the array, a stride below 1, or an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.slice_in_dim(tangrad.lax.iota("int32", 8), -3, None)
    Array([5, 6, 7], dtype=int32)
    """
    made = operand_of("slice_in_dim", operand, "operand")
    shape = made.aval.shape
    axis = canonical_axis("slice_in_dim", axis, len(shape))
    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    size = shape[axis]
    starts[axis] = 0 if start_index is None else _from_front("slice_in_dim", start_index, size, "start_index")
    limits[axis] = size if limit_index is None else _from_front("slice_in_dim", limit_index, size, "limit_index")
    strides[axis] = check_int("slice_in_dim", stride, "stride")
    return slice(made, tuple(starts), tuple(limits), tuple(strides))


def _from_front(name: str, index: Any, size: int, argument: str) -> int:
    if is_symbolic(index):
        return index
    index = check_int(name, index, argument)
    return size + index if index < 0 else index


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """The part of an array at one fixed index along an axis.

    Args:
        operand: an array.
        index: the index; negative: from the end.
        axis: the axis; negative: from the end.
        keepdims: whether the result keeps the axis, with size 1.

    Returns:
        An array.

    Raises:
        TypeError: for an index that is no integer.
        IndexError: for one outside the array.
        ValueError: for an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.index_in_dim(tangrad.lax.iota("int32", 8), -1, keepdims=False)
    Array(7, dtype=int32)
    """
    made = operand_of("index_in_dim", operand, "operand")
    axis = canonical_axis("index_in_dim", axis, made.aval.ndim)
    size = made.aval.shape[axis]
    index = check_int("index_in_dim", index, "index")
    if not is_symbolic(size) and not -size <= index < size:
        raise IndexError(f"index_in_dim: index {index} is out of bounds for axis {axis} of size {size}")
    start = size + index if index < 0 else index
    part = slice_in_dim(made, start, start + 1, 1, axis)
    return part if keepdims else squeeze(part, (axis,))


# --- positions known only at run time ---


def dynamic_slice(
    operand: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """The part of a fixed size from a position that is computed.

    Args:
        operand: an array.
        start_indices: for each dimension an integer scalar, or an integer array of shape `(rank,)`. A start from which
            the part would reach beyond the array is moved, so that it fits.
        slice_sizes: the size of the part in each dimension.
        allow_negative_indices: whether negative starts count from the end; for each dimension, or for all.

    Returns:
        An array of shape `slice_sizes`.

    Raises:
        TypeError: for starts that are no integers, or of several dtypes.
        ValueError: for sizes beyond those of the array, or another number of starts.

    >>> import tangrad
    >>> tangrad.lax.dynamic_slice(tangrad.lax.iota("int32", 8), (3,), (2,))
    Array([3, 4], dtype=int32)
    """
    made = operand if isinstance(operand, Array) else as_operand("dynamic_slice", operand, "operand")
    starts = _start_operands("dynamic_slice", made.aval.shape, start_indices, allow_negative_indices)
    return dynamic_slice_p.bind(made, *starts, slice_sizes=size_tuple("dynamic_slice", slice_sizes, "slice_sizes"))


def _start_operands(name: str, shape: Dimensions, starts: Any, allow_negative: bool | Sequence[bool]) -> list[Value]:
    """Start indices as scalar operands of one dtype, counted from the front."""
    if type(starts) in (tuple, list) and allow_negative is True and all(type(start) is int for start in starts):
        fixed = _fixed_starts(starts, shape)
        if fixed is not None:
            return fixed
    if getattr(starts, "ndim", None) is not None and not isinstance(starts, (list, tuple)):
        starts = _unpacked(name, starts)
    else:
        starts = list(starts)
    if len(starts) != len(shape):
        raise ValueError(
            f"{name}: start_indices must have one index for each of {len(shape)} dimensions, got {len(starts)}"
        )
    negative = [allow_negative] * len(starts) if isinstance(allow_negative, bool) else list(allow_negative)
    if len(negative) != len(starts):
        raise ValueError(f"{name}: allow_negative_indices must have one flag for each index, got {negative}")
    dtype = next((s.aval.dtype for s in starts if hasattr(type(s), "aval")), None)
    if dtype is None or not _holds(dtype, shape):
        wide = any([not is_symbolic(size) and size > 2**31 - 1 for size in shape])
        dtype = dtypes.as_dtype("int64" if wide else "int32") if dtype is None or _is_integer(dtype) else dtype
    return [_start_operand(name, s, size, n, dtype) for s, size, n in zip(starts, shape, negative)]


def _fixed_starts(starts: Sequence[int], shape: Dimensions) -> list[Any] | None:
    """Start indices that are Python integers as literals, moved into the array; None where that takes more thought."""
    if len(starts) != len(shape):
        return None
    made = []
    for start, size in zip(starts, shape):
        if type(size) is not int or size > _INT32_MAX:
            return None
        start = start + size if start < 0 else start
        # Beyond the array is beyond the array, however far: the dtype need not hold the number itself.
        made.append(literal(min(max(start, 0), size), INT32))
    return made


def _unpacked(name: str, starts: Any) -> list[Any]:
    if not hasattr(type(starts), "aval"):
        starts = np.asarray(starts)
        if starts.ndim == 1:
            return list(starts)
    if starts.ndim != 1:
        raise ValueError(
            f"{name}: start_indices must be scalars or an array of one dimension, got shape {starts.shape}"
        )
    return [index_in_dim(starts, i, keepdims=False) for i in range(starts.shape[0])]


def _is_integer(dtype: DType) -> bool:
    return dtypes.issubdtype(dtype, np.integer)


def _holds(dtype: DType, shape: Dimensions) -> bool:
    """Whether indices of a dtype can name every position: narrow ones are widened, or the bounds would wrap."""
    if not _is_integer(dtype):
        return True  # the primitive refuses it
    largest = int(dtypes.iinfo(dtype).max)
    return all([is_symbolic(size) or size <= largest for size in shape])


def _start_operand(name: str, start: Value, size: int, negative: bool, dtype: DType) -> Value:
    if isinstance(start, (int, np.integer)) and not isinstance(start, bool):
        start = int(start)
        if is_symbolic(size):
            start = literal(start, dtype)
        else:
            start = start + size if start < 0 and negative else start
            # Beyond the array is beyond the array, however far: the dtype need not hold the number itself.
            return literal(min(max(start, 0), size), dtype)
    elif not hasattr(type(start), "aval"):
        start = as_operand(name, start, "start_indices")
    if not _is_integer(start.aval.dtype):
        return start
    if start.aval.dtype != dtype and not _holds(start.aval.dtype, (size,)):
        start = convert_element_type_p.bind(start, new_dtype=dtype, weak_type=False)
    if not negative or dtypes.issubdtype(start.aval.dtype, np.unsignedinteger) or start.aval.shape:
        return start
    kind = start.aval.dtype
    length = size_operand(size, kind)
    return select_n_p.bind(lt_p.bind(start, literal(0, kind)), start, add_p.bind(start, length))


def dynamic_slice_in_dim(
    operand: ArrayLike,
    start_index: ArrayLike,
    slice_size: SupportsIndex,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """The part of a fixed size along one axis, from a position that is computed.

    Args:
        operand: an array.
        start_index: an integer scalar; moved, where the part would reach beyond the array.
        slice_size: the size of the part.
        axis: the axis; negative: from the end.
        allow_negative_indices: whether a negative start counts from the end.

    Returns:
        An array of the same rank.

    Raises:
        TypeError: for a start that is no integer.
        ValueError: for a size beyond that of the axis, or an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.dynamic_slice_in_dim(tangrad.lax.iota("int32", 8), 7, 2)
    Array([6, 7], dtype=int32)
    """
    made = operand_of("dynamic_slice_in_dim", operand, "operand")
    axis = canonical_axis("dynamic_slice_in_dim", axis, made.aval.ndim)
    starts, negative = _starts_on_axis(made, start_index, axis, allow_negative_indices)
    sizes = list(made.aval.shape)
    sizes[axis] = slice_size
    return dynamic_slice(made, starts, sizes, allow_negative_indices=negative)


def _starts_on_axis(operand: Value, start: ArrayLike, axis: int, negative: bool) -> tuple[list[Any], list[bool]]:
    starts: list[Any] = [0] * operand.aval.ndim
    starts[axis] = start
    return starts, [negative and i == axis for i in range(operand.aval.ndim)]


def dynamic_index_in_dim(
    operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True, *, allow_negative_indices: bool = True
) -> Array:
    """The part of an array at one index along an axis, where the index is computed.

    Args:
        operand: an array.
        index: an integer scalar; moved into the array where it is outside.
        axis: the axis; negative: from the end.
        keepdims: whether the result keeps the axis, with size 1.
        allow_negative_indices: whether a negative index counts from the end.

    Returns:
        An array.

    Raises:
        TypeError: for an index that is no integer.
        ValueError: for an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.dynamic_index_in_dim(tangrad.lax.iota("int32", 8), 3, keepdims=False)
    Array(3, dtype=int32)
    """
    made = operand_of("dynamic_index_in_dim", operand, "operand")
    axis = canonical_axis("dynamic_index_in_dim", axis, made.aval.ndim)
    part = dynamic_slice_in_dim(made, index, 1, axis, allow_negative_indices=allow_negative_indices)
    return part if keepdims else squeeze(part, (axis,))


def dynamic_update_slice(
    operand: ArrayLike,
    update: ArrayLike,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """A copy of an array with another written over it, at a position that is computed.

    Args:
        operand: an array.
        update: an array of the same dtype and rank, no larger.
        start_indices: for each dimension an integer scalar, or an integer array of shape `(rank,)`. A start from which
            the update would reach beyond the array is moved, so that it fits.
        allow_negative_indices: whether negative starts count from the end; for each dimension, or for all.

    Returns:
        An array of the shape of `operand`.

    Raises:
        TypeError: for dtypes that differ, or starts that are no integers.
        ValueError: for an update that does not fit, or another number of starts.

    >>> import tangrad
    >>> tangrad.lax.dynamic_update_slice(tangrad.lax.iota("int32", 4), tangrad.lax.full((2,), 9, int), (1,))
    Array([0, 9, 9, 3], dtype=int32)
    """
    made = operand if isinstance(operand, Array) else as_operand("dynamic_update_slice", operand, "operand")
    new = update if isinstance(update, Array) else as_operand("dynamic_update_slice", update, "update")
    starts = _start_operands("dynamic_update_slice", made.aval.shape, start_indices, allow_negative_indices)
    return dynamic_update_slice_p.bind(made, new, *starts)


def dynamic_update_slice_in_dim(
    operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """A copy of an array with another written over it along one axis, at a position that is computed.

    Args:
        operand: an array.
        update: an array of the same dtype and rank, no larger.
        start_index: an integer scalar; moved, where the update would reach beyond the array.
        axis: the axis; negative: from the end.
        allow_negative_indices: whether a negative start counts from the end.

    Returns:
        An array of the shape of `operand`.

    Raises:
        TypeError: for dtypes that differ, or a start that is no integer.
        ValueError: for an update that does not fit, or an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.dynamic_update_slice_in_dim(tangrad.lax.iota("int32", 3), tangrad.lax.full((1,), 9, int), 1, 0)
    Array([0, 9, 2], dtype=int32)
    """
    made = operand_of("dynamic_update_slice_in_dim", operand, "operand")
    axis = canonical_axis("dynamic_update_slice_in_dim", axis, made.aval.ndim)
    starts, negative = _starts_on_axis(made, start_index, axis, allow_negative_indices)
    return dynamic_update_slice(made, update, starts, allow_negative_indices=negative)


def dynamic_update_index_in_dim(
    operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int, *, allow_negative_indices: bool = True
) -> Array:
    """A copy of an array with the part at one index along an axis replaced, where the index is computed.

    Args:
        operand: an array.
        update: an array of the same dtype: without the axis, or with size 1 there.
        index: an integer scalar; moved into the array where it is outside.
        axis: the axis; negative: from the end.
        allow_negative_indices: whether a negative index counts from the end.

    Returns:
        An array of the shape of `operand`.

    Raises:
        TypeError: for dtypes that differ, or an index that is no integer.
        ValueError: for an update that does not fit, or an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.dynamic_update_index_in_dim(tangrad.lax.iota("int32", 3), 9, 1, 0)
    Array([0, 9, 2], dtype=int32)
    """
    made = operand_of("dynamic_update_index_in_dim", operand, "operand")
    axis = canonical_axis("dynamic_update_index_in_dim", axis, made.aval.ndim)
    new = operand_of("dynamic_update_index_in_dim", update, "update")
    if new.aval.ndim == made.aval.ndim - 1:
        shape = new.aval.shape
        new = reshape(new, (*shape[:axis], 1, *shape[axis:]))
    if new.aval.ndim != made.aval.ndim or new.aval.shape[axis] != 1:
        raise ValueError(
            f"dynamic_update_index_in_dim: update of shape {new.aval.shape} does not fit one index along axis {axis} "
            f"of shape {made.aval.shape}"
        )
    return dynamic_update_slice_in_dim(made, new, index, axis, allow_negative_indices=allow_negative_indices)


# --- all parts ---


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Consecutive parts of an array along an axis.

    Args:
        operand: an array.
        sizes: the sizes of the parts, which add up to that of the axis.
        axis: the axis; negative: from the end.

    Returns:
        A list of arrays, one for each size.

    Raises:
        TypeError: for sizes that are no integers.
        ValueError: for sizes that do not add up, or an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.split(tangrad.lax.iota("int32", 3), (1, 2))
    [Array([0], dtype=int32), Array([1, 2], dtype=int32)]
    """
    made = operand_of("split", operand, "operand")
    axis = canonical_axis("split", axis, made.aval.ndim)
    return list(split_p.bind(made, sizes=size_tuple("split", sizes, "sizes"), axis=axis))


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """The parts of an array at each index along an axis.

    Args:
        x: an array.
        axis: the axis, which the parts do not have; negative: from the end.

    Returns:
        A tuple of arrays, one for each index.

    Raises:
        ValueError: for an axis that does not exist.

    >>> import tangrad
    >>> tangrad.lax.unstack(tangrad.lax.iota("int32", 2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    made = operand_of("unstack", x, "x")
    axis = canonical_axis("unstack", axis, made.aval.ndim)
    size = int(made.aval.shape[axis])
    if not size:
        return ()
    parts = split_p.bind(made, sizes=(1,) * size, axis=axis) if size > 1 else (made,)
    return tuple([squeeze(part, (axis,)) for part in parts])
