"""How arrays are reduced: NumPy's `ufunc.reduce`, and what is faster where its innermost loop would be short.

That is so over a last axis of a few elements, and over the axes before one. There the array is turned, or read with
longer rows, first; both where they were measured to win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad.backends.numpy.functions import _HAS_ELLIPSIS_OUT, FRESH, Function, Opaque, Reduction
from tangrad.backends.numpy.size_text import has_symbolic
from tangrad.core import dtypes

# A last axis of up to 16 elements (extrema: 32) is better turned, from some 64 rows on: 12 to 3 µs for 256 x 10, 170 to
# 15 for 4096 x 8. Rows of fewer than 128 elements are better read as rows of up to 1,024: 1025 to 140 µs for
# 50,176 x 16.
TURNED_ROWS = 64
TURNED_SIZE = 32
TURNED_SIZE_OF_SUMS = 16
SHORT_ROW = 128
LONG_ROW = 1024
WIDENED_ELEMENTS = 4096


FLOAT32 = np.dtype("float32")


def wide_dtype(dtype: Any) -> Any:
    """The dtype in which elements are combined: float32 for narrower floats, bytes for narrower integers."""
    bits = dtypes.bit_width(dtype)
    if dtypes.issubdtype(dtype, np.floating):
        return FLOAT32 if bits <= 16 else dtype
    if bits < 8 and dtypes.issubdtype(dtype, np.integer):  # NumPy knows no order of them
        return dtypes.as_dtype("uint8" if dtypes.issubdtype(dtype, np.unsignedinteger) else "int8")
    return dtype


class _Plain(Reduction):
    """A reduction over one axis or all: NumPy is a little faster if it is told so without a tuple."""

    __slots__ = ()

    def __init__(self, ufunc: Any, axes: Sequence[int], rank: int) -> None:
        super().__init__(ufunc, axes)
        if len(axes) == rank:
            self.axes = None  # type: ignore[assignment]
        elif len(axes) == 1:
            (self.axes,) = axes  # type: ignore[assignment]

    def direct(self, scalar: bool) -> Callable[..., Any]:
        if scalar and _HAS_ELLIPSIS_OUT:
            reduce, axes = self.ufunc.reduce, self.axes
            return lambda x: reduce(x, axes, x.dtype, out=...)
        return super().direct(scalar)


def reduction(ufunc: Any, shape: Sequence[int], axes: tuple[int, ...]) -> Function:
    """The function that reduces arrays of one shape over `axes` (in order, at least one), in their dtype."""
    first, last = axes[0], axes[-1]
    if has_symbolic(shape):
        return _Plain(ufunc, axes, len(shape))
    if len(axes) < len(shape) and last - first + 1 == len(axes):
        outer, size, row = math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
        kept = (*shape[:first], *shape[last + 1 :])
        limit = TURNED_SIZE_OF_SUMS if ufunc in (np.add, np.multiply) else TURNED_SIZE
        if row == 1 and outer >= TURNED_ROWS and 1 < size <= limit:
            return Opaque(_turned(ufunc, outer, size, kept), FRESH, ("turned", ufunc, outer, size, kept))
        if 1 < row < SHORT_ROW and size * row >= WIDENED_ELEMENTS:
            factor = max([n for n in range(1, LONG_ROW // row + 1) if size % n == 0])
            if factor > 1:
                sizes = outer, size // factor, factor, row
                return Opaque(_widened(ufunc, sizes, kept, axes), FRESH, ("widened", ufunc, sizes, kept, axes))
    return _Plain(ufunc, axes, len(shape))


def _turned(ufunc: Any, outer: int, size: int, kept: tuple[int, ...]) -> Callable[[Any], Any]:
    reduce, copy = ufunc.reduce, np.ascontiguousarray

    def turned_reduce(x: Any) -> Any:
        return reduce(copy(x.reshape(outer, size).T), 0, x.dtype).reshape(kept)

    return turned_reduce


def _widened(
    ufunc: Any, sizes: tuple[int, int, int, int], kept: tuple[int, ...], axes: tuple[int, ...]
) -> Callable[[Any], Any]:
    outer, count, factor, row = sizes
    reduce = ufunc.reduce

    def widened_reduce(x: Any) -> Any:
        if not x.flags.c_contiguous:  # it would have to be copied first
            return reduce(x, axes, x.dtype)
        long_rows = reduce(x.reshape(outer, count, factor * row), 1, x.dtype)
        return reduce(long_rows.reshape(outer, factor, row), 1, x.dtype).reshape(kept)

    return widened_reduce
