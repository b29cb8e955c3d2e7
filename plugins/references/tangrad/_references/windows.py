"""Parts of a size that is known, which start where the program says: `Slice`, as kernels use them."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from tangrad.core import class_boundary, get_aval
from tangrad.extend.lax import dynamic_slice, dynamic_update_slice, pad_p


@class_boundary
class Slice:
    """`size` elements from `start` on, `stride` apart: an index of references, beside those that arrays take.

    Args:
        start: an integer, or an integer scalar that the program computes.
        size: how many elements.
        stride: their distance.

    Raises TypeError for a size or stride that is no integer, ValueError for a negative size or a stride below one.

    >>> import tangrad, tangrad.numpy as np
    >>> from tangrad.experimental import pallas as pl
    >>> ref = tangrad.new_ref(np.arange(6))
    >>> ref[pl.Slice(1, 2, stride=3)]
    Array([1, 4], dtype=int32)
    """

    __slots__ = ("size", "start", "stride")

    def __init__(self, start: Any, size: int, stride: int = 1) -> None:
        try:
            self.size, self.stride = operator.index(size), operator.index(stride)
        except TypeError:
            raise TypeError(
                f"Slice: size and stride must be integers that are known when the program is traced, got {size!r} and "
                f"{stride!r}; only start may be computed by the program"
            ) from None
        if self.size < 0 or self.stride < 1:
            raise ValueError(
                f"Slice: size must not be negative and stride at least 1, got size {size} and stride {stride}"
            )
        self.start = operator.index(start) if hasattr(type(start), "__index__") and not _is_array(start) else start
        if _is_array(self.start):
            aval = get_aval(self.start)
            if aval.shape or aval.dtype.kind not in "iu":
                raise TypeError(f"Slice: start must be an integer scalar, got {aval.str_short()}")

    @property
    def is_dynamic_start(self) -> bool:
        """Whether the start is computed by the program."""
        return type(self.start) is not int

    @property
    def span(self) -> int:
        """How many elements there are from the first to the last one."""
        return (self.size - 1) * self.stride + 1 if self.size else 0

    def __repr__(self) -> str:
        return f"Slice({self.start!r}, {self.size}, stride={self.stride})"


def _is_array(value: Any) -> bool:
    return hasattr(value, "aval")


class Window(NamedTuple):
    """The part of an array from the first to the last element that slices mean, and what remains to be taken of it."""

    starts: tuple[Any, ...]
    sizes: tuple[int, ...]
    rest: tuple[Any, ...]

    def taken(self, value: Any) -> Any:
        return dynamic_slice(value, self.starts, self.sizes)

    def put(self, value: Any, part: Any) -> Any:
        return dynamic_update_slice(value, part, self.starts)


def window(value: Any, index: Any) -> Window | None:
    """The window of an index that has slices, None for any other.

    Raises IndexError for too many indices, and for slices with known ends that leave the array.
    """
    entries = index if isinstance(index, tuple) else (index,)
    if not any([type(entry) is Slice for entry in entries]):
        return None
    shape = value.aval.shape
    starts, sizes, rest = [0 for _ in shape], list(shape), []
    for dimension, entry in _by_dimension(entries, len(shape)):
        if type(entry) is Slice:
            _check_within(entry, dimension, shape[dimension])
            starts[dimension], sizes[dimension] = entry.start, entry.span
            entry = slice(None, None, None if entry.stride == 1 else entry.stride)
        rest.append(entry)
    return Window(tuple(starts), tuple(sizes), tuple(rest))


def _by_dimension(entries: tuple[Any, ...], count: int) -> list[tuple[int, Any]]:
    """Each entry with the dimension it is for; those that are for none, or for several, with that of the next one."""
    used = sum([entry is not None and entry is not Ellipsis for entry in entries])
    if used > count:
        raise IndexError(f"a reference of {count} dimensions is indexed by {used} entries: {entries!r}")
    found, dimension = [], 0
    for entry in entries:
        found.append((dimension, entry))
        dimension += count - used if entry is Ellipsis else entry is not None
    return found


def _check_within(entry: Slice, dimension: int, size: Any) -> None:
    if entry.span > size or (not entry.is_dynamic_start and not 0 <= entry.start <= size - entry.span):
        raise IndexError(
            f"{entry!r} leaves dimension {dimension}, which has {size} elements; for what overhangs load and store "
            "with a mask"
        )


def beyond(value: Any, index: Any, fill: Any) -> Any:
    """The array with as much of `fill` after each dimension that slices are for as they could overhang."""
    entries = index if isinstance(index, tuple) else (index,)
    high = [0 for _ in value.aval.shape]
    for dimension, entry in _by_dimension(entries, len(high)):
        if type(entry) is Slice:
            high[dimension] = entry.span
    if not any(high):
        return value
    return pad_p.bind(value, fill, padding_config=tuple([(0, more, 0) for more in high]))
