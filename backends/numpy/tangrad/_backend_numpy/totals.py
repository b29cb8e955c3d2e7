"""How arrays are reduced: NumPy's `ufunc.reduce`, and what is faster where its innermost loop would be short.

That is so over a last axis of a few elements, and over the axes before one. There the array is turned, or read with
longer rows, first; both where they were measured to win.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import _HAS_ELLIPSIS_OUT, FRESH, Function, Opaque, Reduction
from tangrad._backend_numpy.size_text import has_symbolic
from tangrad.core import dtypes

if TYPE_CHECKING:
    from tangrad._backend_numpy.program import Step

# A last axis of up to 16 elements (extrema: 32) is better turned, from some 64 rows on: 12 to 3 µs for 256 x 10, 170 to
# 15 for 4096 x 8. Rows of fewer than 128 elements are better read as rows of up to 1,024: 1025 to 140 µs for
# 50,176 x 16.
TURNED_ROWS = 64
TURNED_SIZE = 32
TURNED_SIZE_OF_SUMS = 16
SHORT_ROW = 128
LONG_ROW = 1024
WIDENED_ELEMENTS = 4096
# Of so many roundings in a row a sum of floats may be made.
CHAIN = 256
LONG = 1024  # of fewer elements NumPy's own sum will do


# Rows of so many elements BLAS sums, and products of two rows, in half the time of NumPy's functions or less, with sums
# of as many roundings (where NumPy has no BLAS, of one per element). NumPy 1 has no function for that.
BLAS_ROWS = range(32, 8193)
BLAS_DTYPES = (np.dtype("float32"), np.dtype("float64"))
HAS_ROW_PRODUCTS = hasattr(np, "vecdot")
ROW_PRODUCTS = "row products"
SUMS = ("summed", ROW_PRODUCTS)  # what keys of functions begin with that sum over the axes that come next

FLOAT32 = np.dtype("float32")


def wide_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which elements are combined: float32 for narrower floats, bytes for narrower integers."""
    bits = dtypes.bit_width(dtype)
    if dtypes.issubdtype(dtype, np.floating):
        return FLOAT32 if bits <= 16 else dtype
    if bits < 8 and dtypes.issubdtype(dtype, np.integer):  # NumPy knows no order of them
        return dtypes.as_dtype("uint8" if dtypes.issubdtype(dtype, np.unsignedinteger) else "int8")
    return dtype


class _Plain(Reduction):
    """A reduction over one axis or all: NumPy is a little faster if given an integer, not a tuple."""

    __slots__ = ()

    def __init__(self, ufunc: np.ufunc, axes: Sequence[int], rank: int) -> None:
        super().__init__(ufunc, axes)
        if len(axes) == rank:
            self.axes = None
        elif len(axes) == 1:
            (self.axes,) = axes

    def direct(self, scalar: bool) -> Callable[..., np.ndarray]:
        if scalar and _HAS_ELLIPSIS_OUT:
            reduce, axes = self.ufunc.reduce, self.axes
            return lambda x: reduce(x, axes, x.dtype, out=...)
        return super().direct(scalar)


def reduction(ufunc: np.ufunc, shape: Sequence[int], axes: tuple[int, ...], rounds: bool = False) -> Function:
    """The function that reduces arrays of one shape over `axes` (in order, at least one), in their dtype.

    `rounds`: whether it is a sum of floats, of which long ones are made of shorter ones.
    """
    first, last = axes[0], axes[-1]
    if has_symbolic(shape):
        return _Plain(ufunc, axes, len(shape))
    reduce = sum_in_parts if rounds and math.prod([shape[axis] for axis in axes]) > LONG else ufunc.reduce
    if len(axes) < len(shape) and last - first + 1 == len(axes):
        outer, size, row = math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])
        kept = (*shape[:first], *shape[last + 1 :])
        limit = TURNED_SIZE_OF_SUMS if ufunc in (np.add, np.multiply) else TURNED_SIZE
        if row == 1 and outer >= TURNED_ROWS and 1 < size <= limit:
            return Opaque(_turned(ufunc, outer, size, kept), FRESH, ("turned", ufunc, outer, size, kept))
        is_wide = size * row >= WIDENED_ELEMENTS
        if (
            1 < row < SHORT_ROW
            and ufunc is np.add
            and size <= LONG
            and not is_wide
            and outer * size >= WIDENED_ELEMENTS
        ):
            return Opaque(_by_product((outer, size, row), kept, axes), FRESH, ("by product", outer, size, row, kept))
        if 1 < row < SHORT_ROW and is_wide:
            factor = max([n for n in range(1, LONG_ROW // row + 1) if size % n == 0])
            if factor > 1:
                sizes = outer, size // factor, factor, row
                return Opaque(_widened(reduce, sizes, kept, axes), FRESH, ("widened", reduce, sizes, kept, axes))
    if reduce is sum_in_parts:
        return Opaque(partial(_summed, axes=axes), FRESH, ("summed", axes))
    return _Plain(ufunc, axes, len(shape))


def _summed(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(sum_in_parts(x, axes, x.dtype))


def sum_in_parts(x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The sum over axes, with no long chain of roundings: it costs what NumPy's sum does.

    NumPy sums along the axis that is innermost in memory by pairs, but over the others adds one row after another. The
    outermost of those is cut, so that at most `CHAIN` rows make a partial sum; these are then summed likewise.
    """
    reduce = np.add.reduce
    whole = len(axes) == x.ndim or axes == tuple(range(x.ndim - len(axes), x.ndim))
    if whole and x.flags.c_contiguous:
        return reduce(x, axes, dtype)
    strides = [abs(step) if size > 1 else math.inf for step, size in zip(x.strides, x.shape, strict=True)]
    innermost = min(reversed(range(x.ndim)), key=strides.__getitem__)  # of equal ones the last
    outer = [axis for axis in axes if axis != innermost and x.shape[axis] > 1]
    if math.prod([x.shape[axis] for axis in outer]) <= CHAIN:
        return reduce(x, axes, dtype)
    cut = max(outer, key=strides.__getitem__)
    others = math.prod([x.shape[axis] for axis in outer if axis != cut])
    return _cut_sum(x, axes, dtype, cut, max(CHAIN // others, 1))


# --- what steps sum ---


def reduced_by(step: Step) -> tuple[np.ufunc, bool] | None:
    """The ufunc by which a step reduces over some axes, and whether long sums are made of shorter ones."""
    if isinstance(step.function, Reduction):
        return step.function.ufunc, False
    return (np.add, True) if type(key := step.function.key) is tuple and key[0] in SUMS else None


def reduced_axes(step: Step) -> tuple[int, ...]:
    function, rank = step.function, len(step.inputs[0].shape)
    axes: Any = function.axes if isinstance(function, Reduction) else function.key[1]
    return tuple(range(rank)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)


def is_of_blas(dtype: np.dtype, size: int) -> bool:
    """Whether sums of rows with so many elements are left to BLAS."""
    return HAS_ROW_PRODUCTS and dtype in BLAS_DTYPES and size in BLAS_ROWS


def row_products(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Into `out` (rows, 1) the sums of products of rows."""
    np.vecdot(x, y, out[:, 0])


def row_sums(x: np.ndarray, ones: np.ndarray, out: np.ndarray) -> None:
    """Into `out` (rows, 1) the sums of rows, which may be in any order in memory: products with rows of ones."""
    out[:, 0] = np.vecdot(x, ones) if x.flags.c_contiguous else sum_in_parts(x, (1,), x.dtype)


def products_of_rows(axes: tuple[int, ...], shape: Sequence[int], out: tuple[int, ...]) -> Function:
    """The sums, of shape `out`, over the last axes of the product of two arrays of one shape."""
    kept = (*shape[: axes[0]], math.prod(shape[axes[0] :]))

    def products(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.vecdot(x.reshape(kept), y.reshape(kept)).reshape(out)

    return Opaque(products, FRESH, (ROW_PRODUCTS, axes, kept, out))


def empty_block(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that begins with a line of the cache; elsewhere the widest stores take two lines, and twice the time."""
    memory = np.empty(math.prod(shape) * dtype.itemsize + 64, np.uint8)
    return np.ndarray(shape, dtype, memory, -memory.__array_interface__["data"][0] % 64)


def _cut_sum(x: np.ndarray, axes: tuple[int, ...], dtype: np.dtype, cut: int, length: int) -> np.ndarray:
    """The sum with the axis `cut` in parts of that length."""
    count, rest = divmod(x.shape[cut], length)
    before = (slice(None),) * cut
    main = x[(*before, slice(count * length))].reshape((*x.shape[:cut], count, length, *x.shape[cut + 1 :]))
    inner = tuple([axis + (axis >= cut) for axis in axes])  # the axis of the parts themselves, `cut`, stays
    partial_sums = sum_in_parts(main, inner, dtype)
    place = cut - sum([axis < cut for axis in axes])
    total = sum_in_parts(partial_sums, (place,), dtype)
    return total + sum_in_parts(x[(*before, slice(count * length, None))], axes, dtype) if rest else total


def _turned(ufunc: np.ufunc, outer: int, size: int, kept: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    reduce, copy = ufunc.reduce, np.ascontiguousarray

    def turned_reduce(x: np.ndarray) -> np.ndarray:
        return reduce(copy(x.reshape(outer, size).T), 0, x.dtype).reshape(kept)

    return turned_reduce


def _widened(
    reduce: Callable[..., np.ndarray], sizes: tuple[int, int, int, int], kept: tuple[int, ...], axes: tuple[int, ...]
) -> Callable[[np.ndarray], np.ndarray]:
    outer, count, factor, row = sizes

    def widened_reduce(x: np.ndarray) -> np.ndarray:
        if not x.flags.c_contiguous:  # it would have to be copied first
            return reduce(x, axes, x.dtype)
        long_rows = reduce(x.reshape(outer, count, factor * row), (1,), x.dtype)
        return reduce(long_rows.reshape(outer, factor, row), (1,), x.dtype).reshape(kept)

    return widened_reduce


def _by_product(
    sizes: tuple[int, int, int], kept: tuple[int, ...], axes: tuple[int, ...]
) -> Callable[[np.ndarray], np.ndarray]:
    """Sums over a middle axis of short rows: as a product with ones, BLAS makes them in a tenth of the time."""
    ones = {dtype: np.ones((1, sizes[1]), dtype) for dtype in BLAS_DTYPES}

    def sum_by_product(x: np.ndarray) -> np.ndarray:
        if x.dtype not in ones or not x.flags.c_contiguous:
            return np.add.reduce(x, axes, x.dtype)
        return np.matmul(ones[x.dtype], x.reshape(sizes)).reshape(kept)

    return sum_by_product
