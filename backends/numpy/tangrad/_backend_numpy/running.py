"""Running totals that keep their digits, where NumPy's `accumulate` adds one element after another.

A million of 0.1 in float32 would end 1 % off. Here sums of 2, 4, 8, … neighbours are made of each other, for all
elements at once (W. D. Hillis and G. L. Steele, Data parallel algorithms, 1986): no sum has more roundings than it has
such steps, and 16 additions of whole arrays take less time than a chain of single ones. Long arrays are taken in pieces
that stay in the cache. Logarithms of sums are made of such sums of exponentials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from tangrad._backend_numpy import threads
from tangrad._backend_numpy.totals import HAS_ROW_PRODUCTS
from tangrad.core import dtypes

# By name: bfloat16 is there only where ml_dtypes is installed.
_WIDER = {"float32": "float64", "complex64": "complex128", "float16": "float64", "bfloat16": "float64"}
_WIDE = {narrow: dtypes.as_dtype(wide) for narrow, wide in _WIDER.items()}


def wider(dtype: np.dtype, otherwise: np.dtype | None = None) -> np.dtype | None:
    """The wider dtype for sums of numbers of a dtype, or what is given where there is none, or sums are exact."""
    return _WIDE.get(dtypes.dtype_name(dtype), otherwise)


SHORT = 1024  # of so few elements `accumulate` loses nothing that counts
SHORT_OF_LOGARITHMS = 64
FEW = 16384  # elements, for which so many calls are not worth it
PIECE = 1 << 19  # bytes
# Elements whose running sums are a product with a triangle of ones; so many rows, or columns, are in one product.
ROWS, TOGETHER, COLUMNS = 32, 16, 256
TRIANGLES = {np.dtype(name): np.tri(ROWS, dtype=name) for name in ("float32", "float64")}
RANGE = 600.0  # numbers between which exponentials in double precision keep all digits


def running_totals(ufunc: np.ufunc, x: np.ndarray, axis: int, dtype: np.dtype) -> np.ndarray:
    """`ufunc.accumulate(x, axis, dtype)` of addition or of `logaddexp`, in floating or complex numbers."""
    size, logarithms = x.shape[axis], ufunc is np.logaddexp
    inner = math.prod(x.shape[axis + 1 :])
    by_products = size >= ROWS and inner >= ROWS and x.size > FEW and x.dtype == dtype and dtype in TRIANGLES
    if size <= (SHORT_OF_LOGARITHMS if logarithms else 0 if by_products else SHORT) or not x.size:
        return ufunc.accumulate(x, axis, dtype)
    if x.size <= FEW and not logarithms:
        return ufunc.accumulate(x, axis, wider(dtype, dtype)).astype(dtype, copy=False)
    out = np.empty(x.shape, dtype)
    elements, totals = x.reshape(-1, size, inner), out.reshape(-1, size, inner)
    columns = PIECE // (8 * dtype.itemsize)
    height = max(PIECE // (size * inner * dtype.itemsize), 1)

    def run(starts: Iterable[int]) -> None:
        for start in starts:
            rows = slice(start, start + height)
            # The elements first, so that neighbours are at one distance in memory.
            of, into = elements[rows].swapaxes(0, 1), totals[rows].swapaxes(0, 1)
            for first in range(0, inner, columns):  # of more a piece would have too few rows, down to one
                part = (..., slice(first, first + columns))
                (_running_log_sums if logarithms else _running_sums)(of[part], into[part])

    threads.share(run, range(0, len(elements), height))
    return out


def _length(x: np.ndarray, dtype: np.dtype) -> int:
    """Of the pieces along the first axis."""
    return min(max(PIECE // (math.prod(x.shape[1:]) * dtype.itemsize), 1), len(x))


def _running_sums(x: np.ndarray, out: np.ndarray) -> None:
    dtype, length = out.dtype, _length(x, out.dtype)
    by_products = x.size == len(x) or len(x) <= SHORT  # of more rows the other way keeps a digit more

    def run(starts: Iterable[int]) -> None:
        buffers = np.empty((3, length, *x.shape[1:]), dtype)
        for start in starts:
            piece = x[start : start + length]
            contiguous = piece if piece.flags.c_contiguous else _copied(piece, buffers[2])
            into = out[start : start + length]
            sums = _sums(contiguous, buffers, into if into.flags.c_contiguous else None, by_products)
            if sums is not into:
                into[...] = sums

    def add(starts: Iterable[int]) -> None:
        for start in starts:
            piece = out[start : start + length]
            np.add(piece, before[start // length - 1], piece)

    threads.share(run, range(0, len(x), length))
    if length < len(x):
        lasts = out[length - 1 : -1 : length].astype(wider(dtype, dtype))
        before = np.add.accumulate(lasts, 0).astype(dtype)
        threads.share(add, range(length, len(x), length))


def _copied(x: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    buffer[: len(x)] = x
    return buffer[: len(x)]


def _sums(x: np.ndarray, buffers: np.ndarray, out: np.ndarray | None = None, by_products: bool = False) -> np.ndarray:
    """The running sums of one piece, in one of the first two buffers or, if there are several, in `out`."""
    if by_products and x.dtype in TRIANGLES and len(x) >= (ROWS * TOGETHER if x.size == len(x) else ROWS):
        into = buffers[0][: len(x)] if out is None else out
        if _sums_by_products(x.reshape(len(x), -1), into.reshape(len(x), -1)):
            return into
    row = x.reshape(-1)
    size, step = len(row), len(row) // len(x)
    first, second = [buffer.reshape(-1)[:size] for buffer in buffers[:2]]
    while step < size:
        if out is not None and 2 * step >= size:
            second = out.reshape(-1)
        second[:step] = row[:step]
        np.add(row[step:], row[:-step], second[step:])
        row, first, second = second, second, first
        step *= 2
    return out if out is not None and len(x) > 1 else row.reshape(x.shape)


def _sums_by_products(x: np.ndarray, out: np.ndarray) -> bool:
    """The running sums along the first of two axes into `out`; False where an infinity or NaN would spread.

    Those of 32 elements are a product with a triangle of ones: BLAS makes it in a fifth of the time. Products are so
    small that BLAS makes each in one thread, so that results are the same in any number of them.
    """
    width, triangle = x.shape[1], TRIANGLES[x.dtype]
    count = len(x) - len(x) % (ROWS * TOGETHER if width == 1 else ROWS)
    if width == 1:
        np.matmul(x[:count].reshape(-1, TOGETHER, ROWS), triangle.T.copy(), out[:count].reshape(-1, TOGETHER, ROWS))
    else:
        blocks, into = x[:count].reshape(-1, ROWS, width), out[:count].reshape(-1, ROWS, width)
        for start in range(0, width, COLUMNS):
            part = (..., slice(start, start + COLUMNS))
            np.matmul(triangle, blocks[part], into[part])
    sums = out[:count].reshape(-1, ROWS, width)
    totals = sums[:, -1]
    if width == 1 and HAS_ROW_PRODUCTS:  # of fewer roundings than the last of running sums
        totals = np.vecdot(x[:count].reshape(-1, ROWS), triangle[-1])[:, None]
    wide = wider(x.dtype)
    if wide is None:  # a chain of additions would round as often as there are totals
        before = _sums(np.ascontiguousarray(totals), np.empty((2, *totals.shape), x.dtype))
    else:
        before = np.add.accumulate(totals, 0, wide).astype(x.dtype)
    if not np.isfinite(before).all():
        return False
    np.add(sums[1:], before[:-1, None], sums[1:])
    if count < len(x):
        np.add.accumulate(x[count:], 0, None, out[count:])
        np.add(out[count:], before[-1], out[count:])
    return True


def _running_log_sums(x: np.ndarray, out: np.ndarray) -> None:
    """Likewise log(Σ exp(x)): by sums of exponentials, as long as these are all in range."""
    length = _length(x, np.dtype("float64"))
    buffers = np.empty((3, length, *x.shape[1:]))
    before = np.full(x.shape[1:], -np.inf)
    for place in [slice(start, start + length) for start in range(0, len(x), length)]:
        totals = buffers[2][: len(x[place])]
        _log_sums(x[place], before, buffers, totals)
        before = totals[-1].copy()
        out[place] = totals


def _log_sums(x: np.ndarray, before: np.ndarray, buffers: np.ndarray, totals: np.ndarray) -> None:
    greatest, least = _both(max, x.max(), before.max()), x.min()
    if before.max() > -np.inf:
        least = _both(min, least, before.min())
    if not greatest - least <= RANGE:
        np.logaddexp.accumulate(x, 0, totals.dtype, totals)
        np.logaddexp(totals, before, totals)
        return
    np.subtract(x, greatest, totals, dtype=totals.dtype)
    sums = _sums(np.exp(totals, totals), buffers)
    np.add(sums, np.exp(before - greatest), totals)
    np.log(totals, totals)
    np.add(totals, greatest, totals)


def _both(choose: Callable[[float, float], float], x: float, y: float) -> float:
    """The extremum of two numbers, or NaN where one is."""
    return x + y if x != x or y != y else choose(float(x), float(y))
