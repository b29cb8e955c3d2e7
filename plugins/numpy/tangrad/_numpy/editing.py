"""Arrays taken apart, slices left out and put in: `tangrad.numpy.split`, `delete`, `insert`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.conversion import asarray
from tangrad._numpy.index_parsing import from_front, slice_bounds
from tangrad._numpy.indexing import getitem
from tangrad._numpy.joining import concatenate
from tangrad._numpy.operands import INT32, array_operand, broadcast_to_shape, canonical_axis, index_argument, shape_of
from tangrad._numpy.shapes import expand_dims, ravel
from tangrad._numpy.taking import integer_operand
from tangrad.core import EVAL_TRACE, Array, concrete_or_error, is_concrete, thread
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import iota_p, slice_p, split_p
from tangrad.typing import ArrayLike, Value

# --- Arrays taken apart: `tangrad.numpy.split`, `array_split`, `hsplit`, … ---


def _boundaries(name: str, size: int, given: Any, exact: bool) -> list[tuple[int, int]]:
    """Where each part starts and ends."""
    if isinstance(given, (list, tuple)) or len(shape_of(given)) == 1:
        points = [index_argument(name, point, "indices_or_sections") for point in given]
        starts, stops = [0, *points], [*points, size]
        bounds = slice_bounds if is_symbolic(size) else slice.indices
        return [bounds(slice(start, stop), size)[:2] for start, stop in zip(starts, stops)]
    count = index_argument(name, given, "indices_or_sections")
    if count <= 0:
        raise ValueError(f"{name}: the number of parts must be positive, got {count}")
    if (exact or is_symbolic(size)) and size % count:
        raise ValueError(f"{name}: a dimension of size {size} does not split into {count} equal parts")
    if is_symbolic(size):  # of which a whole number of parts was asked above
        return [(part * (size // count), (part + 1) * (size // count)) for part in range(count)]
    share, more = divmod(size, count)
    sizes = [share + 1] * more + [share] * (count - more)
    stops = list(np.cumsum(sizes))
    return [(int(stop) - length, int(stop)) for stop, length in zip(stops, sizes)]


def _split(name: str, ary: object, given: object, axis: int, exact: bool) -> list[Array]:
    x = array_operand(name, ary)
    dimension = canonical_axis(name, axis, x.aval.ndim)
    size = x.aval.shape[dimension]
    parts = _boundaries(name, size, given, exact)
    if thread.trace is EVAL_TRACE and not isinstance(given, int):  # where is a value: no program is made for it
        before = (slice(None),) * dimension
        return [getitem(x, (*before, slice(start, max(start, stop)))) for start, stop in parts]
    stops = [stop for _, stop in parts]
    if all(a <= b for a, b in parts) and [a for a, _ in parts] == [0, *stops[:-1]] and stops[-1] == size:
        return list(split_p.bind(x, sizes=tuple([b - a for a, b in parts]), axis=dimension))
    return [_part(x, dimension, start, max(start, stop)) for start, stop in parts]


def _part(x: Array, axis: int, start: int, stop: int) -> Array:
    starts, stops = [0] * x.aval.ndim, list(x.aval.shape)
    starts[axis], stops[axis] = start, stop
    return slice_p.bind(x, start_indices=tuple(starts), limit_indices=tuple(stops), strides=None)


def split(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[ArrayLike], axis: int = 0) -> list[Array]:
    """Take an array apart along a dimension.

    Args:
        ary: an array.
        indices_or_sections: the number of equal parts, or the positions at which new parts begin.
        axis: the dimension.

    Returns:
        A list of arrays.

    Raises:
        TypeError: `ary` is no array, or the positions no integers.
        ValueError: the parts would not be equal, or the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.split(tangrad.numpy.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[ArrayLike], axis: int = 0) -> list[Array]:
    """Take an array apart along a dimension, into parts as equal as possible.

    Args:
        ary: an array.
        indices_or_sections: the number of parts, or the positions at which new parts begin.
        axis: the dimension.

    Returns:
        A list of arrays, the longer ones first.

    Raises:
        TypeError: `ary` is no array, or the positions no integers.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.array_split(tangrad.numpy.arange(3), 2)
    [Array([0, 1], dtype=int32), Array([2], dtype=int32)]
    """
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[ArrayLike]) -> list[Array]:
    """Take an array apart along its first dimension.

    Args:
        ary: an array of at least two dimensions.
        indices_or_sections: the number of equal parts, or the positions at which new parts begin.

    Returns:
        A list of arrays.

    Raises:
        TypeError: `ary` is no array, or the positions no integers.
        ValueError: the parts would not be equal, or `ary` has fewer dimensions.

    >>> import tangrad
    >>> [part.shape for part in tangrad.numpy.vsplit(tangrad.numpy.ones((4, 3)), 2)]
    [(2, 3), (2, 3)]
    """
    return _split("vsplit", _of_rank("vsplit", ary, 2), indices_or_sections, 0, True)


def hsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[ArrayLike]) -> list[Array]:
    """Take an array apart along its second dimension, a vector along its only one.

    Args:
        ary: an array of at least one dimension.
        indices_or_sections: the number of equal parts, or the positions at which new parts begin.

    Returns:
        A list of arrays.

    Raises:
        TypeError: `ary` is no array, or the positions no integers.
        ValueError: the parts would not be equal, or `ary` has no dimensions.

    >>> import tangrad
    >>> [part.shape for part in tangrad.numpy.hsplit(tangrad.numpy.ones((4, 2)), 2)]
    [(4, 1), (4, 1)]
    """
    x = _of_rank("hsplit", ary, 1)
    return _split("hsplit", x, indices_or_sections, min(1, x.ndim - 1), True)


def dsplit(ary: ArrayLike, indices_or_sections: ArrayLike | Sequence[ArrayLike]) -> list[Array]:
    """Take an array apart along its third dimension.

    Args:
        ary: an array of at least three dimensions.
        indices_or_sections: the number of equal parts, or the positions at which new parts begin.

    Returns:
        A list of arrays.

    Raises:
        TypeError: `ary` is no array, or the positions no integers.
        ValueError: the parts would not be equal, or `ary` has fewer dimensions.

    >>> import tangrad
    >>> [part.shape for part in tangrad.numpy.dsplit(tangrad.numpy.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", _of_rank("dsplit", ary, 3), indices_or_sections, 2, True)


def _of_rank(name: str, value: object, rank: int) -> Array:
    x = array_operand(name, value)
    if x.ndim < rank:
        raise ValueError(f"{name} requires an array of at least {rank} dimensions, got shape {x.shape}")
    return x


# --- Slices left out and put in: `tangrad.numpy.delete`, `insert` ---


# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["delete", "insert"], True)


def _known_positions(name: str, obj: object, size: int) -> np.ndarray:
    """Positions from a slice, a boolean mask, or integers; all must be known."""
    if type(obj) is int:
        return np.asarray(obj)
    if isinstance(obj, slice):
        return np.arange(size)[obj]
    found = np.asarray(concrete_or_error(obj, f"the argument obj of {name}") if not isinstance(obj, list) else obj)
    if found.dtype == np.bool_:
        if found.shape != (size,):
            raise ValueError(f"{name}: a boolean obj must have shape ({size},), got {found.shape}")
        return np.flatnonzero(found)
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise TypeError(f"{name}: obj must be integers, booleans or a slice, got dtype {found.dtype}")
    return found.astype(np.int64)


def delete(
    arr: ArrayLike,
    obj: slice | ArrayLike | Sequence[int],
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Leave out slices along an axis.

    Args:
        arr: an array.
        obj: which: an integer, a slice, a boolean mask, or integers.
        axis: the axis; None: of the array as one dimension.
        assume_unique_indices: that integers, which may then be traced, do not repeat.

    Returns:
        An array.

    Raises:
        TypeError: `arr` is no array, or `obj` no positions; ConcretizationTypeError where they are traced.
        ValueError: the axis is out of bounds.
        IndexError: a position is.

    >>> import tangrad
    >>> tangrad.numpy.delete(tangrad.numpy.array([10, 20, 30]), 1)
    Array([10, 30], dtype=int32)
    """
    x = array_operand("delete", arr)
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("delete", axis, x.ndim)
    size = x.aval.shape[dimension]
    before = (slice(None),) * dimension
    if not isinstance(obj, (slice, list)) and not is_concrete(obj) and (assume_unique_indices or not shape_of(obj)):
        kept = _kept_positions(ravel(integer_operand("delete", obj)), size)
    else:
        gone = _known_positions("delete", obj, size)
        if type(obj) is int and -size <= obj < size:
            return getitem(x, (*before, _without_one(obj % size, size)))
        if ((gone < -size) | (gone >= size)).any():
            raise IndexError(f"delete: position {obj} is out of bounds for axis {axis} of size {size}")
        stays = np.ones(size, bool)
        stays[gone] = False
        kept = stays.nonzero()[0].astype(np.int32)
    return getitem(x, (*before, kept))


def _without_one(place: int, size: int) -> np.ndarray:
    kept = np.arange(size - 1, dtype=np.int32)
    kept[place:] += 1
    return kept


def _kept_positions(gone: Array, size: int) -> object:
    """The positions that are left, where those that go are traced and differ."""
    numbers = iota_p.bind(dtype=INT32, shape=(size,), dimension=0)
    marks = at(numbers * 0)[from_front(gone, size)].set(1)
    order = (marks * size + numbers).argsort()
    return getitem(order, slice(0, size - gone.aval.size))


def insert(arr: ArrayLike, obj: slice | ArrayLike | Sequence[int], values: ArrayLike, axis: int | None = None) -> Array:
    """Insert slices along an axis.

    Args:
        arr: an array.
        obj: before which: an integer, a slice, a boolean mask, or integers, which may be traced.
        values: what to insert, broadcast.
        axis: the axis; None: of the array as one dimension.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array, or no positions.
        ValueError: the axis is out of bounds, or the values do not fit.

    >>> import tangrad
    >>> tangrad.numpy.insert(tangrad.numpy.array([1, 3]), 1, 2)
    Array([1, 2, 3], dtype=int32)
    """
    x, added = array_operand("insert", arr), asarray(values)
    if axis is None:
        x, axis = ravel(x), 0
    dimension = canonical_axis("insert", axis, x.ndim)
    size = x.aval.shape[dimension]
    traced = not isinstance(obj, (slice, list)) and not is_concrete(obj)
    places: Any = integer_operand("insert", obj) if traced else _known_positions("insert", obj, size)
    single = not places.ndim
    if single:
        added = added if added.ndim < x.ndim else added.swapaxes(0, dimension) if dimension else added
    if traced:
        return _inserted(x, added, ravel(from_front(places, size)), dimension, single, _traced_sources)
    if type(obj) is int and -size <= obj <= size:
        return _inserted(x, added, np.asarray([obj + size if obj < 0 else obj]), dimension, single, _known_sources)
    places = places.reshape(-1)
    if ((places < -size) | (places > size)).any():
        raise ValueError(f"insert: position {obj} is out of bounds for axis {axis} of size {size}")
    places = np.where(places < 0, places + size, places)
    return _inserted(x, added, places, dimension, single, _known_sources)


def _inserted(
    x: Value, added: Value, places: Any, axis: int, single: bool, sources: Callable[[Any, int], object]
) -> Array:
    shape = x.aval.shape
    if single:
        count = added.aval.shape[axis] if added.ndim == len(shape) else 1
        places = places.repeat(count) if count != 1 else places
    wanted = (*shape[:axis], places.size, *shape[axis + 1 :])
    if single and added.ndim == len(shape) - 1 and added.ndim:
        added = expand_dims(added, axis)
    rows = added.astype(x.dtype)
    if rows.aval.shape != wanted:
        rows = broadcast_to_shape(rows, wanted)
    joined = concatenate([x, rows], axis=axis)
    return getitem(joined, (slice(None),) * axis + (sources(places, shape[axis]),))


# Where each slice of the result comes from: the old ones in order, the new ones, which follow them, before theirs.


def _known_sources(places: np.ndarray, size: int) -> np.ndarray:
    count = len(places)
    if not np.all(places[1:] == places[:1]):
        order = np.argsort(places, kind="stable")
        keys = np.concatenate([np.arange(size) + 0.5, places[order].astype(float)])
        return np.concatenate([np.arange(size), size + order])[np.argsort(keys, kind="stable")].astype(np.int32)
    sources = np.arange(size + count, dtype=np.int32)
    if count:  # all before one place
        (first,) = places[:1].tolist()
        sources[first : first + count] = sources[size:].copy()
        sources[first + count :] = np.arange(first, size, dtype=np.int32)
    return sources


def _traced_sources(places: Array, size: int) -> object:
    order = places.argsort()
    numbers = iota_p.bind(dtype=INT32, shape=(size,), dimension=0)
    keys = concatenate([2 * numbers + 1, 2 * places[order].astype(INT32)])
    return concatenate([numbers, size + order.astype(INT32)])[keys.argsort()]
