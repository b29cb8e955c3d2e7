"""LU with rows exchanged.

Without SciPy: the right-looking algorithm by blocks of columns (Golub and Van Loan, Matrix Computations, 3.2.11, 3.4),
over all matrices of a batch at once.
"""

from __future__ import annotations

from math import prod

import numpy as np

from tangrad._backend_numpy import linear_algebra
from tangrad._backend_numpy.decompositions import lapack

Array = np.ndarray

BLOCK = 32


def lu(x: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the pivots, and the permutation."""
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    if x.size == 0:
        pivots = np.zeros((*x.shape[:-2], least), np.int32)
        return x.copy(), pivots, permutation(pivots, rows)
    getrf = lapack.function("getrf", x.dtype)
    if getrf is None:
        factors, pivots = factored(x)
    else:
        factors, pivots = lapack.each(x, lambda matrix: getrf(matrix)[:2], ((rows, columns), (least,)))
    return factors, pivots, permutation(pivots, rows)


def factored(x: Array) -> tuple[Array, Array]:
    """L and U in one matrix, and the pivots, by NumPy alone."""
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    work = x.reshape(-1, rows, columns).copy()
    pivots = np.zeros((len(work), least), np.int32)
    for start in range(0, least, BLOCK):
        stop = min(start + BLOCK, least)
        _factor_columns(work, pivots, start, stop)
        if stop < columns:
            block = work[:, start:stop, start:stop]
            above = work[:, start:stop, stop:]
            work[:, start:stop, stop:] = linear_algebra.triangular_solve(block, above, True, True, False, False, True)
            work[:, stop:, stop:] -= work[:, stop:, start:stop] @ work[:, start:stop, stop:]
    return work.reshape(x.shape), pivots.reshape(*x.shape[:-2], least)


def _factor_columns(work: Array, pivots: Array, start: int, stop: int) -> None:
    """Some columns, with their rows exchanged in all columns."""
    every = np.arange(len(work))
    for k in range(start, stop):
        # NaN counts as the greatest, as any comparison with it would fail.
        chosen = k + np.argmax(np.nan_to_num(_sizes(work[:, k:, k]), nan=np.inf), axis=-1)
        pivots[:, k] = chosen
        moved = work[every, chosen].copy()
        work[every, chosen] = work[:, k]
        work[:, k] = moved
        pivot = work[:, k, k, None]
        below = work[:, k + 1 :, k]
        # A column of zeros needs no elimination.
        work[:, k + 1 :, k] = np.where(pivot == 0, below, below / np.where(pivot == 0, 1, pivot))
        work[:, k + 1 :, k + 1 : stop] -= work[:, k + 1 :, k, None] * work[:, k, None, k + 1 : stop]


def _sizes(x: Array) -> Array:
    """What LAPACK compares to choose a pivot: of complex numbers the sum of the sizes of both parts."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def permutation(pivots: Array, size: int) -> Array:
    """The permutation that exchanging row i with row pivots[i], in the order of i, makes; not with rows beyond."""
    count = prod(pivots.shape[:-1])
    flat = pivots.reshape(count, pivots.shape[-1])
    order = np.tile(np.arange(size, dtype=pivots.dtype), (count, 1))
    every = np.arange(count)
    for k in range(pivots.shape[-1]):
        chosen = np.where((flat[:, k] >= 0) & (flat[:, k] < size), flat[:, k], k)
        moved = order[every, chosen].copy()
        order[every, chosen] = order[:, k]
        order[:, k] = moved
    return order.reshape(*pivots.shape[:-1], size)
