"""Arrays taken apart: `tangrad.numpy.split`, `array_split`, `hsplit`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._numpy.index_parsing import slice_bounds
from tangrad._numpy.indexing import getitem
from tangrad._numpy.operands import array_operand, canonical_axis, index_argument, shape_of
from tangrad.core import EVAL_TRACE, Array, thread
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import slice_p, split_p
from tangrad.typing import ArrayLike


def _boundaries(name: str, size: Any, given: Any, exact: bool) -> list[tuple[int, int]]:
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


def _split(name: str, ary: Any, given: Any, axis: int, exact: bool) -> list[Array]:
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


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
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


def _of_rank(name: str, value: Any, rank: int) -> Array:
    x = array_operand(name, value)
    if x.ndim < rank:
        raise ValueError(f"{name} requires an array of at least {rank} dimensions, got shape {x.shape}")
    return x
