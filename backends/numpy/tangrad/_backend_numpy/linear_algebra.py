"""Factorisations and triangular systems, with NumPy alone; large systems by LAPACK's own solver where SciPy is.

Of solvers, NumPy has LAPACK's for general systems only. Of an upper triangular matrix it is the back substitution that
is wanted: the matrix is its own factor, and no rows are exchanged. So every system is turned into an upper triangular
one with the matrix on the left, by transposing, and by reversing rows and columns; blocks on the diagonal are solved,
all else is matrix products.
"""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.decompositions import lapack

Array = np.ndarray

BLOCK = 64
LARGE = 128  # rows from which on SciPy is asked for


def triangular_solve(
    a: Array, b: Array, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Array:
    """The X with op(a) X = b, or X op(a) = b; division by zero gives infinities and NaN."""
    if transpose_a == left_side:  # either the matrix is transposed, or the system is, to have it on the left
        a, lower = a.swapaxes(-1, -2), not lower
    if conjugate_a:
        a = a.conj()
    if not left_side:
        b = b.swapaxes(-1, -2)
    x = _by_lapack(a, b, lower, unit_diagonal) if a.shape[-1] >= LARGE and b.size else None
    if x is None:
        if lower:
            a, b = a[..., ::-1, ::-1], b[..., ::-1, :]
        x = _solve_upper(a, b, unit_diagonal)
        if lower:
            x = x[..., ::-1, :]
    return np.ascontiguousarray(x if left_side else x.swapaxes(-1, -2))


def _by_lapack(a: Array, b: Array, lower: bool, unit_diagonal: bool) -> Array | None:
    """The X with a X = b; None where SciPy is not installed, or there is a zero on a diagonal."""
    solve = lapack.function("trtrs", a.dtype)
    if solve is None:
        return None
    size = a.shape[-1]
    x = np.empty(b.shape, b.dtype)
    for matrix, right, out in zip(
        a.reshape(-1, size, size), b.reshape(-1, *b.shape[-2:]), x.reshape(-1, *b.shape[-2:])
    ):
        by_rows = matrix.flags.c_contiguous  # LAPACK reads columns: then it is the transpose that it sees
        given = matrix.T if by_rows else matrix
        found, failed = solve(given, right, lower=lower != by_rows, trans=int(by_rows), unitdiag=unit_diagonal)
        if failed:
            return None
        out[...] = found
    return x


def _solve_upper(a: Array, b: Array, unit_diagonal: bool) -> Array:
    """Back substitution by blocks of rows, the last one first."""
    size = a.shape[-1]
    if 0 in b.shape:
        return b.copy()
    if size <= BLOCK:
        return _solve_block(a, b, unit_diagonal)
    x = np.empty(b.shape, b.dtype)
    for start in range((size - 1) // BLOCK * BLOCK, -1, -BLOCK):
        stop = min(start + BLOCK, size)
        rows = b[..., start:stop, :]
        if stop < size:
            rows = rows - np.matmul(a[..., start:stop, stop:], x[..., stop:, :])
        x[..., start:stop, :] = _solve_block(a[..., start:stop, start:stop], rows, unit_diagonal)
    return x


def _solve_block(a: Array, b: Array, unit_diagonal: bool) -> Array:
    if unit_diagonal:
        a = np.triu(a, 1)
        diagonal = np.arange(a.shape[-1])
        a[..., diagonal, diagonal] = 1
    else:
        a = np.triu(a)
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return _substitute(a, b)


def _substitute(a: Array, b: Array) -> Array:
    """Row by row, which shows where the zeros on the diagonal are."""
    x = b.copy()
    for row in range(a.shape[-1] - 1, -1, -1):
        x[..., row, :] /= a[..., row, row, None]
        x[..., :row, :] -= a[..., :row, row, None] * x[..., row, None, :]
    return x


def cholesky(a: Array) -> Array:
    """The lower factors of a batch of matrices; NaN on and below the diagonal of those that have none."""
    try:
        return np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        pass
    factors = np.zeros(a.shape, a.dtype)
    size = a.shape[-1]
    nan = np.tril(np.full((size, size), complex(np.nan, np.nan) if a.dtype.kind == "c" else np.nan, a.dtype))
    matrices, outs = a.reshape(-1, size, size), factors.reshape(-1, size, size)
    for matrix, out in zip(matrices, outs):
        try:
            out[...] = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            out[...] = nan
    return factors


def cholesky_update(matrix: Array, vector: Array) -> Array:
    """The factor of RᵀR + wwᵀ from that of RᵀR: each row is rotated so that an element of the vector vanishes."""
    out, rest = matrix.copy(), vector.copy()
    for k in range(matrix.shape[-1]):
        row = out[..., k, :].copy()
        cosine, sine = _rotation(row[..., k, None], rest[..., k, None])
        out[..., k, :] = cosine * row - sine * rest
        rest = cosine * rest + sine * row
    return out


def _rotation(x: Array, y: Array) -> tuple[Array, Array]:
    """The cosine and sine that turn (x, y) into (r, 0), scaled so that squares do not overflow."""
    scale = np.maximum(np.abs(x), np.abs(y))
    x, y_scaled = x / scale, y / scale
    length = 1 / np.sqrt(x * x + y_scaled * y_scaled)
    rests = y == 0
    return np.where(rests, y.dtype.type(1), x * length), np.where(rests, y.dtype.type(0), -y_scaled * length)
