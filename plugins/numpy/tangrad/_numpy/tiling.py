"""Repeating and rearranging: `tangrad.numpy.tile`, `repeat`, `flip`, `roll`, `rot90`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from tangrad._numpy.axes import swapaxes
from tangrad._numpy.fusing import Fused, as_one
from tangrad._numpy.indexing import getitem, is_eager
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    canonical_axes,
    canonical_axis,
    convert,
    index_argument,
    is_array_like,
    is_sequence,
    literal,
    not_array_like,
    operand,
    shape_of,
)
from tangrad._numpy.shapes import ravel, reshaped
from tangrad.core import Array, concrete_or_error, dtypes, is_concrete, transfers
from tangrad.core.arguments import is_symbolic, product
from tangrad.extend.lax import broadcast_in_dim_p, concatenate_p, dynamic_slice_p, rev_p, sharded_call, slice_p
from tangrad.typing import ArrayLike, Axis, Dimensions, Shape, ShardingLike, Value

# Of what transfer guards ask: a number of repetitions is no operand, several are positions.
COPIES_FROM_HOST = {
    "repeat": lambda given: type(given["repeats"]) is not int or transfers.is_from_host(given["a"]),
    "roll": lambda given: transfers.is_from_host([given["a"]] if type(given["shift"]) is int else list(given.values())),
}


@as_one("reps")
def tile(A: ArrayLike, reps: SupportsIndex | Sequence[SupportsIndex]) -> Array:
    """Repeat a whole array along its dimensions.

    Args:
        A: an array or number.
        reps: how often along each dimension, the last ones first: an integer or a sequence of them.

    Returns:
        An array.

    Raises:
        TypeError: `A` is no array, `reps` no integers.

    >>> import tangrad
    >>> tangrad.numpy.tile(tangrad.numpy.array([1, 2]), (2, 2))
    Array([[1, 2, 1, 2],
           [1, 2, 1, 2]], dtype=int32)
    """
    x = array_operand("tile", A)
    several: Any = reps
    given = tuple(several) if isinstance(reps, (tuple, list, range)) or len(shape_of(reps)) == 1 else (reps,)
    counts = [index_argument("tile", count, "reps") for count in given]
    rank = max(len(counts), x.ndim)
    shape = (1,) * (rank - x.ndim) + x.aval.shape
    counts = [1] * (rank - len(counts)) + counts
    spread = tuple([size for pair in zip(counts, shape) for size in pair])
    kept = tuple([2 * (rank - x.ndim + axis) + 1 for axis in range(x.ndim)])
    repeated = broadcast_in_dim_p.bind(x, shape=spread, broadcast_dimensions=kept)
    return reshaped(repeated, tuple([count * size for count, size in zip(counts, shape)]))


@as_one("repeats", "axis", "total_repeat_length", "out_sharding")
def repeat(
    a: ArrayLike,
    repeats: ArrayLike | Sequence[int],
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Repeat the elements of an axis, each one beside itself.

    Args:
        a: an array or number.
        repeats: how often: an integer, or an array of them, one for each element.
        axis: the axis; None: of the array as one dimension.
        total_repeat_length: the length of the result, needed where `repeats` is traced: what is beyond is cut off, what
            is missing repeats the last element. An axis without elements stays as it is.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array.

    Raises:
        TypeError: `a` is no array; ConcretizationTypeError for traced `repeats` without a total.
        ValueError: the axis is out of bounds, or `repeats` does not fit.

    >>> import tangrad
    >>> tangrad.numpy.repeat(tangrad.numpy.array([1, 2]), tangrad.numpy.array([2, 1]))
    Array([1, 1, 2], dtype=int32)
    """
    if out_sharding is not None:
        options = {"total_repeat_length": total_repeat_length}
        return sharded_call(out_sharding, repeat, a, repeats, axis, **options)
    x = array_operand("repeat", a)
    if axis is None:
        x, axis = ravel(x), 0
    elif not x.ndim:  # a number is a vector of one
        x = ravel(x)
    dimension = canonical_axis("repeat", axis, x.ndim)
    if isinstance(repeats, (list, tuple)):
        repeats = np.asarray(repeats if len(repeats) else np.zeros(0, np.int64))
    if not is_array_like(repeats):
        raise TypeError(not_array_like("repeat", repeats, 1))
    kind = dtypes.result_type(repeats)
    if kind != np.bool_ and not dtypes.issubdtype(kind, np.integer):
        raise TypeError(f"repeat: repeats must be integers, got dtype {dtypes.dtype_name(kind)}")
    if total_repeat_length is None:
        known = np.asarray(concrete_or_error(repeats, "the argument repeats of repeat, without total_repeat_length"))
        return _repeat_known(x, known, dimension)
    length = index_argument("repeat", total_repeat_length, "total_repeat_length")
    if x.aval.shape[dimension] == 0:  # there is nothing to fill up with
        _check_repeats(x, shape_of(repeats), dimension)
        return x
    return getitem(x, (slice(None),) * dimension + (_sources(x, repeats, dimension, length),))


def _check_repeats(x: Value, shape: Dimensions, axis: int) -> None:
    if len(shape) > 1 or (len(shape) == 1 and shape[0] not in (1, x.aval.shape[axis])):
        raise ValueError(f"repeat: repeats of shape {shape} does not fit axis {axis} of shape {x.aval.shape}")


def _repeat_known(x: Value, counts: np.ndarray, axis: int) -> Array:
    _check_repeats(x, counts.shape, axis)
    if np.any(counts < 0):
        raise ValueError("repeat: repeats must not be negative")
    shape = x.aval.shape
    if counts.size == 1:
        count = int(counts.reshape(()))
        spread = (*shape[: axis + 1], count, *shape[axis + 1 :])
        kept = tuple([position if position <= axis else position + 1 for position in range(len(shape))])
        repeated = broadcast_in_dim_p.bind(x, shape=spread, broadcast_dimensions=kept)
        return reshaped(repeated, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))
    sources = np.repeat(np.arange(shape[axis], dtype=np.int32), counts)
    return getitem(x, (slice(None),) * axis + (sources,))


def _sources(x: Value, repeats: object, axis: int, length: int) -> object:
    """For each element of the result, which element of the axis it repeats."""
    _check_repeats(x, shape_of(repeats), axis)
    size = x.aval.shape[axis]
    counts = broadcast_in_dim_p.bind(
        convert(array_operand("repeat", repeats), INT32),
        shape=(size,),
        broadcast_dimensions=(0,) if len(shape_of(repeats)) else (),
    )
    # An element of the result repeats the one before whose end it is; past the last end the last element goes on.
    starts = broadcast_in_dim_p.bind(literal(0, INT32), shape=(length,), broadcast_dimensions=())
    passed = starts.at[counts.cumsum()].add(1).cumsum()
    return passed.clip(0, size - 1)


# --- mirrored and rotated ---


def flip(m: ArrayLike, axis: Axis = None) -> Array:
    """Reverse the order of the elements along axes.

    Args:
        m: an array or number.
        axis: an axis or a sequence of axes; None: all.

    Returns:
        An array of the shape of `m`.

    Raises:
        TypeError: `m` is no array.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.flip(tangrad.numpy.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    x = array_operand("flip", m)
    axes = canonical_axes("flip", axis, x.ndim)
    return rev_p.bind(x, dimensions=tuple(sorted(axes))) if axes else x


def fliplr(m: ArrayLike) -> Array:
    """Reverse the order of the columns: the second dimension.

    Args:
        m: an array of at least two dimensions.

    Returns:
        An array of the shape of `m`.

    Raises:
        TypeError: `m` is no array.
        ValueError: it has fewer dimensions.

    >>> import tangrad
    >>> tangrad.numpy.fliplr(tangrad.numpy.array([[1, 2]]))
    Array([[2, 1]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: ArrayLike) -> Array:
    """Reverse the order of the rows: the first dimension.

    Args:
        m: an array of at least one dimension.

    Returns:
        An array of the shape of `m`.

    Raises:
        TypeError: `m` is no array.
        ValueError: it has no dimensions.

    >>> import tangrad
    >>> tangrad.numpy.flipud(tangrad.numpy.array([1, 2]))
    Array([2, 1], dtype=int32)
    """
    return flip(m, 0)


def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Rotate by right angles, from the first axis towards the second.

    Args:
        m: an array of at least two dimensions.
        k: how often.
        axes: the plane.

    Returns:
        An array.

    Raises:
        TypeError: `m` is no array, `k` no integer.
        ValueError: the axes are no two different ones, or out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.rot90(tangrad.numpy.array([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    x = array_operand("rot90", m)
    if len(axes) != 2:
        raise ValueError(f"rot90: axes must be two, got {axes}")
    first, second = canonical_axes("rot90", tuple(axes), x.ndim, "axes")
    turns = index_argument("rot90", k, "k") % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(x, (first, second))
    if turns == 1:
        return swapaxes(flip(x, second), first, second)
    return flip(swapaxes(x, first, second), second)


# --- rolled ---


def roll(a: ArrayLike, shift: ArrayLike | Sequence[int], axis: Axis = None) -> Array:
    """Shift the elements along axes; what leaves at one end comes in at the other.

    Args:
        a: an array or number.
        shift: by how much: an integer, or one for each axis. It may be traced.
        axis: an axis or a sequence of axes; None: of the array as one dimension, by all shifts together.

    Returns:
        An array of the shape of `a`.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, or `shift` does not fit.

    >>> import tangrad
    >>> tangrad.numpy.roll(tangrad.numpy.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    x = array_operand("roll", a)
    if axis is None:
        shifts = _shifts(shift, 1)
        return reshaped(_rolled(ravel(x), shifts, (0,) * len(shifts)), x.aval.shape)
    given = tuple(axis) if is_sequence(axis) else (axis,)
    axes = tuple([canonical_axis("roll", item, x.ndim) for item in given])
    shifts = _shifts(shift, len(axes))
    if len(axes) == 1 and len(shifts) > 1:
        axes = axes * len(shifts)
    if len(axes) != len(shifts):
        raise ValueError(f"roll: shift {shift} and axis {axis} must have one length")
    return _rolled(x, shifts, axes)


def _shifts(shift: Any, count: int) -> list[Any]:
    if isinstance(shift, (tuple, list)):
        return list(shift)
    if not is_array_like(shift):
        raise TypeError(not_array_like("roll", shift, 1))
    shape = shape_of(shift)
    return [shift] * count if not shape else [shift[i] for i in range(shape[0])]


def _rolled(x: Array, shifts: Sequence[Any], axes: Sequence[int]) -> Array:
    for shift, axis in zip(shifts, axes):
        size = x.aval.shape[axis]
        if not size:
            continue
        if is_symbolic(size) or is_symbolic(shift):
            x = _rolled_by_traced(x, convert(operand("roll", shift), INT32), axis)
        elif is_concrete(shift) and is_eager(x) and size < 1 << 31:
            by = int(np.asarray(concrete_or_error(shift))) % size
            x = _rolled_whole(x, literal(size - by, INT32), axis=axis) if by else x
        elif is_concrete(shift):
            by = int(np.asarray(concrete_or_error(shift))) % size
            parts = _from(x, axis, size - by, size), _from(x, axis, 0, size - by)
            x = concatenate_p.bind(*parts, dimension=axis) if by else x
        else:
            x = _rolled_by_traced(x, shift, axis)
    return x


def _from(x: Value, axis: int, start: int, stop: int) -> Value:
    starts, limits = [0] * x.ndim, list(x.aval.shape)
    starts[axis], limits[axis] = start, stop
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def _rolled_by_traced(x: Value, shift: Value, axis: int) -> Array:
    size = x.aval.shape[axis]
    return _doubled_from(x, (size - shift % size).astype(INT32), axis=axis)


def _doubled_from(x: Value, start: Value, *, axis: int) -> Array:
    starts: list[Value] = [literal(0, INT32)] * x.ndim
    starts[axis] = start
    return dynamic_slice_p.bind(concatenate_p.bind(x, x, dimension=axis), *starts, slice_sizes=x.aval.shape)


# Outside of programs the shift is an operand: one program serves all.
_rolled_whole = Fused("roll", _doubled_from)


def resize(a: ArrayLike, new_shape: Shape) -> Array:
    """Give an array another shape, repeating its elements or leaving some out.

    Args:
        a: an array or number.
        new_shape: an integer or a sequence of integers.

    Returns:
        An array of that shape.

    Raises:
        TypeError: `a` is no array, `new_shape` no integers.
        ValueError: a size is negative.

    >>> import tangrad
    >>> tangrad.numpy.resize(tangrad.numpy.arange(3), (2, 2))
    Array([[0, 1],
           [2, 0]], dtype=int32)
    """
    x = ravel(array_operand("resize", a))
    given = new_shape if is_sequence(new_shape) else (new_shape,)
    shape = tuple([index_argument("resize", size, "new_shape") for size in given])
    if any([size < 0 for size in shape]):
        raise ValueError(f"resize: new_shape must not have negative sizes, got {shape}")
    total, size = product(shape), x.aval.shape[0]
    if not is_symbolic(size) and size == 0 and total:
        return broadcast_in_dim_p.bind(literal(0, x.aval.dtype), shape=shape, broadcast_dimensions=())
    unknown = is_symbolic(total) or is_symbolic(size)
    repeated = tile(x, -(-total // size)) if unknown or total > size else x
    return reshaped(getitem(repeated, slice(0, total)), shape)


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: Axis = None) -> Array:
    """Leave out the zeros at the ends of an array, whose contents must be known.

    Args:
        filt: an array, or a sequence of numbers.
        trim: "f": at the front; "b": at the back; "fb": at both.
        axis: along which axes what is zero throughout is left out: an integer, a sequence of them, or None for all.

    Returns:
        An array.

    Raises:
        TypeError: ConcretizationTypeError where it is traced.
        ValueError: an axis is out of bounds, or `trim` is unknown.

    >>> import tangrad
    >>> tangrad.numpy.trim_zeros(tangrad.numpy.array([0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    x = array_operand("trim_zeros", np.asarray(filt) if isinstance(filt, (list, tuple)) else filt)
    ends = trim.lower()
    if not set(ends) <= {"f", "b"}:
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    trimmed = canonical_axes("trim_zeros", axis, x.ndim)
    contents = np.asarray(concrete_or_error(x, "the number of results of trim_zeros"))
    kept = [slice(None)] * x.ndim
    for dimension, places in enumerate(np.nonzero(contents) if x.ndim else ()):
        if dimension in trimmed:
            kept[dimension] = _between(places, contents.shape[dimension], ends)
    return getitem(x, tuple(kept))


def _between(places: np.ndarray, size: int, ends: str) -> slice:
    """From the first to the last of the places, where the ends are to be trimmed; without places nothing."""
    start = (int(places.min()) if len(places) else size) if "f" in ends else 0
    stop = (int(places.max()) + 1 if len(places) else start) if "b" in ends else size
    return slice(start, stop)
