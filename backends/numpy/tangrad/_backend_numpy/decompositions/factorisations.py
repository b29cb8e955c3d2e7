"""Factorisations and triangular systems, with NumPy alone, or with functions of LAPACK where they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from math import prod
from typing import Any, TypeVar

import numpy as np

from tangrad._backend_numpy import threads

# --- QR, and what is made of reflections ---
# Without SciPy, column pivoting is Businger and Golub's (Golub and Van Loan, Matrix Computations, 5.4.2).

# --- LU with rows exchanged ---
# Without SciPy: the right-looking algorithm by blocks of columns (Golub and Van Loan, Matrix Computations, 3.2.11,
# 3.4), over all matrices of a batch at once.

# --- Cholesky and triangular systems ---
# Without LAPACK's own, every system is turned into an upper triangular one with the matrix on the left, which is its
# own factor; blocks on the diagonal are solved, all else is matrix products.

Array = np.ndarray
Outs = TypeVar("Outs", bound=Sequence[np.ndarray])
SOLVED = 64  # rows of a triangular system that are solved at once
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
    """The X with a X = b; None where LAPACK is not found, or there is a zero on a diagonal."""
    own = own_lapack("trtrs", a.dtype)
    solve = lapack_function("trtrs", a.dtype) if own is None else partial(_trtrs, own)
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


def _trtrs(routine: Any, a: Array, b: Array, lower: bool, trans: int, unitdiag: bool) -> tuple[Array, int]:
    """As SciPy has it."""
    x, size = np.array(b, order="F"), len(a)
    kind = b"UL"[lower : lower + 1], b"NT"[trans : trans + 1], b"NU"[unitdiag : unitdiag + 1]
    return x, _run(routine, *kind, size, b.shape[1], np.asfortranarray(a), size, x, size)


def _solve_upper(a: Array, b: Array, unit_diagonal: bool) -> Array:
    """Back substitution by blocks of rows, the last one first."""
    size = a.shape[-1]
    if 0 in b.shape:
        return b.copy()
    if size <= SOLVED:
        return _solve_block(a, b, unit_diagonal)
    x = np.empty(b.shape, b.dtype)
    for start in range((size - 1) // SOLVED * SOLVED, -1, -SOLVED):
        stop = min(start + SOLVED, size)
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
    if a.dtype.kind == "f" and a.shape[-1] >= LARGE and (found := _cholesky_by_lapack(a)) is not None:
        return found
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


def _cholesky_by_lapack(a: Array) -> Array | None:
    """The lower factors; None where LAPACK is not found, or a matrix has none.

    In the matrices' precision, as all that solves with the factors: for float32 NumPy takes float64, and longer.
    """
    size, own = a.shape[-1], own_lapack("potrf", a.dtype)
    if own is not None:  # the lower half of rows is the upper one of columns
        factors = a.copy()
        failures = [_run(own, b"U", size, matrix, size) for matrix in factors.reshape(-1, size, size)]
        return None if any(failures) else np.tril(factors)
    potrf = lapack_function("potrf", a.dtype)
    if potrf is None:
        return None
    factors = np.empty(a.shape, a.dtype)
    for matrix, out in zip(a.reshape(-1, size, size), factors.reshape(-1, size, size)):
        # LAPACK reads columns: of rows it sees the transpose, whose upper factor is the transpose of the lower one.
        factor, failed = potrf(matrix.T, lower=False, clean=True)
        if failed:
            return None
        out[...] = factor.T
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


_PREFIXES = {"f": "s", "d": "d", "F": "c", "D": "z"}


@cache
def lapack_function(name: str, dtype: np.dtype) -> Callable[..., Any] | None:
    """A function of LAPACK for a dtype; None where SciPy is not installed."""
    try:
        from scipy.linalg import lapack
    except ImportError:
        return None
    return getattr(lapack, _PREFIXES[dtype.char] + name)


@cache
def own_lapack(name: str, dtype: np.dtype) -> Any:
    """A function of the LAPACK that NumPy's wheels contain, with integers of 64 bits; None where NumPy has another."""
    try:
        import ctypes  # not with the backend: it takes milliseconds

        from numpy.linalg import _umath_linalg

        library, symbol = ctypes.CDLL(_umath_linalg.__file__), f"{_PREFIXES[dtype.char]}{name}_64_"
        return getattr(library, f"scipy_{symbol}", None) or getattr(library, symbol)
    except (ImportError, OSError, AttributeError):
        return None


def _run(routine: Any, *arguments: bytes | int | Array) -> int:
    """Call what `own_lapack` found; arrays are in the order of columns. Returns `info`."""
    import ctypes

    integers = np.array([x if type(x) is int else 0 for x in (*arguments, 0)], np.int64)
    first = integers.ctypes.data
    given = [
        x if type(x) is bytes else ctypes.c_void_p(x.ctypes.data if isinstance(x, np.ndarray) else first + 8 * place)
        for place, x in enumerate((*arguments, 0))
    ]
    # The lengths of texts are behind all else.
    routine(*given, *[ctypes.c_size_t(1) for x in arguments if type(x) is bytes])
    return int(integers[-1])


def each(x: Array, function: Callable[[Array], Outs], shapes: Sequence[tuple[int, ...]]) -> Outs:
    """The results of a function of one matrix for each of a batch; shapes are those of the results for one."""
    batch = x.shape[:-2]
    found = [function(matrix) for matrix in x.reshape(-1, *x.shape[-2:])]
    stacked: Any = tuple(
        [np.stack([outs[position] for outs in found]).reshape(*batch, *shape) for position, shape in enumerate(shapes)]
    )
    return stacked


def nan_like(dtype: np.dtype) -> np.ndarray:
    """NaN of a dtype; in both parts where it is complex."""
    return dtype.type(complex(np.nan, np.nan) if dtype.kind == "c" else np.nan)


def or_nan(x: Array, function: Callable[[Array], Any]) -> tuple[np.ndarray, ...]:
    """`function(x)` of a batch of matrices; where it fails for one, NaN for that one alone.

    NumPy reports failures for the whole batch.
    """
    try:
        return function(x)
    except np.linalg.LinAlgError:
        pass
    batch = x.shape[:-2]
    matrices = x.reshape(-1, *x.shape[-2:])
    found = [_one_or_nan(matrix, function) for matrix in matrices]
    return tuple([np.stack(parts).reshape(*batch, *parts[0].shape) for parts in zip(*found)])


def _one_or_nan(matrix: Array, function: Callable[[Array], Any]) -> tuple[np.ndarray, ...]:
    try:
        return function(matrix)
    except np.linalg.LinAlgError:
        blank = function(np.eye(*matrix.shape, dtype=matrix.dtype))
        return tuple([np.full(part.shape, nan_like(part.dtype), part.dtype) for part in blank])


BLOCK = 32
TOGETHER = 1 << 17  # elements of matrices that are factored together
TINY, FEW = 80, 1 << 10  # elements of a matrix, and of all


def lu(x: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the pivots, and the permutation."""
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    if x.size == 0:
        pivots = np.zeros((*x.shape[:-2], least), np.int32)
        return x.copy(), pivots, permutation(pivots, rows)
    # The library's own does not choose NaN as a pivot, and for many small matrices calls take longer.
    own = own_lapack("getrf", x.dtype) if rows * columns > TINY or x.size < FEW else None
    getrf = None if own is not None else lapack_function("getrf", x.dtype)
    if own is not None and np.isfinite(x.sum()):
        factors, pivots = _factored_by(own, x)
    elif getrf is None:
        factors, pivots = factored(x)
    else:
        factors, pivots = each(x, lambda matrix: getrf(matrix)[:2], ((rows, columns), (least,)))
    return factors, pivots, permutation(pivots, rows)


def _factored_by(routine: Any, x: Array) -> tuple[Array, Array]:
    from ctypes import c_void_p as address

    rows, columns = x.shape[-2:]
    work = np.array(x.swapaxes(-1, -2), order="C")
    count, least = prod(x.shape[:-2]), min(rows, columns)
    pivots, infos = np.empty((*x.shape[:-2], least), np.int64), np.empty(count, np.int64)
    sizes = np.array([rows, columns], np.int64)
    m, matrix, order, info = [array.ctypes.data for array in (sizes, work, pivots, infos)]
    step = rows * columns * x.itemsize

    def factor(starts: Iterable[int]) -> None:
        n, lda = address(m + 8), address(m)
        for start in starts:
            for at in range(start, min(start + height, count)):
                place = address(matrix + at * step), lda, address(order + 8 * at * least), address(info + 8 * at)
                routine(lda, n, *place)

    height = max(TOGETHER // (8 * rows * columns), 1)
    starts = range(0, count, height)
    # For large ones the library has threads of its own.
    factor(starts) if height == 1 else threads.share(factor, starts)
    return np.ascontiguousarray(work.swapaxes(-1, -2)), (pivots - 1).astype(np.int32)


def factored(x: Array) -> tuple[Array, Array]:
    """L and U in one matrix, and the pivots, by NumPy alone."""
    rows, columns = x.shape[-2:]
    least = min(rows, columns)
    work = x.reshape(-1, rows, columns).copy()
    pivots = np.zeros((len(work), least), np.int32)
    count = max(TOGETHER // (rows * columns), 1)

    def factor(starts: Iterable[int]) -> None:
        for start in starts:
            _factor(work[start : start + count], pivots[start : start + count])

    threads.share(factor, range(0, len(work), count))
    return work.reshape(x.shape), pivots.reshape(*x.shape[:-2], least)


def _factor(work: Array, pivots: Array) -> None:
    columns, least = work.shape[-1], pivots.shape[-1]
    for start in range(0, least, BLOCK):
        stop = min(start + BLOCK, least)
        _factor_columns(work, pivots, start, stop)
        if stop < columns:
            block = work[:, start:stop, start:stop]
            above = work[:, start:stop, stop:]
            work[:, start:stop, stop:] = triangular_solve(block, above, True, True, False, False, True)
            work[:, stop:, stop:] -= work[:, stop:, start:stop] @ work[:, start:stop, stop:]


def _factor_columns(work: Array, pivots: Array, start: int, stop: int) -> None:
    """Some columns, with their rows exchanged in all columns.

    What earlier ones of them take from a column and a row comes at once, as products with a vector (Crout's order).
    """
    every = np.arange(len(work))
    for k in range(start, stop):
        column = work[:, k:, k]
        column -= (work[:, k:, start:k] @ work[:, start:k, k, None])[..., 0]
        # NaN counts as the greatest, as any comparison with it would fail.
        chosen = k + np.argmax(_sizes(column), axis=-1)
        pivots[:, k] = chosen
        moved = work[every, chosen]
        work[every, chosen] = work[:, k]
        work[:, k] = moved
        work[:, k, k + 1 : stop] -= (work[:, k, None, start:k] @ work[:, start:k, k + 1 : stop])[:, 0]
        pivot = work[:, k, k, None]
        # A column of zeros needs no elimination.
        work[:, k + 1 :, k] /= np.where(pivot == 0, 1, pivot)


def _sizes(x: Array) -> Array:
    """What LAPACK compares to choose a pivot: of complex numbers the sum of the sizes of both parts."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def permutation(pivots: Array, size: int) -> Array:
    """The permutation that exchanging row i with row pivots[i], in the order of i, makes; not with rows beyond."""
    count = prod(pivots.shape[:-1])
    flat = pivots.reshape(count, pivots.shape[-1])
    order = np.tile(np.arange(size, dtype=pivots.dtype), (count, 1))
    every = np.arange(count)
    rows = np.where((flat >= 0) & (flat < size), flat, np.arange(pivots.shape[-1]))
    for k in range(pivots.shape[-1]):
        chosen = rows[:, k]
        moved = order[every, chosen].copy()
        order[every, chosen] = order[:, k]
        order[:, k] = moved
    return order.reshape(*pivots.shape[:-1], size)


def qr(x: Array, pivoting: bool, full_matrices: bool) -> tuple[Array, ...]:
    """Q and R, and the order of the columns."""
    if not pivoting:
        q, r = np.linalg.qr(x, "complete" if full_matrices else "reduced")
        return q, r
    rows, columns = x.shape[-2:]
    inner = rows if full_matrices else min(rows, columns)
    packed, taus, order = geqp3(x)
    vectors = np.zeros((*x.shape[:-2], rows, inner), x.dtype)
    kept = min(inner, columns)
    vectors[..., :kept] = packed[..., :kept]
    return householder_product(vectors, taus), np.triu(packed[..., :inner, :]), order


def geqrf(a: Array) -> tuple[Array, Array]:
    """R with the vectors below it, and the factors of the reflections."""
    least = min(a.shape[-2:])
    if a.size == 0:
        return a.copy(), np.zeros((*a.shape[:-2], least), a.dtype)
    packed, taus = np.linalg.qr(a, "raw")
    return np.ascontiguousarray(packed.swapaxes(-1, -2)), taus


def geqp3(a: Array) -> tuple[Array, Array, Array]:
    """As geqrf, with the columns in an order in which the diagonal of R falls."""
    rows, columns = a.shape[-2:]
    least = min(rows, columns)
    if a.size == 0:
        order = np.broadcast_to(np.arange(columns, dtype=np.int32), (*a.shape[:-2], columns)).copy()
        return a.copy(), np.zeros((*a.shape[:-2], least), a.dtype), order
    geqp3 = lapack_function("geqp3", a.dtype)
    shapes = ((rows, columns), (least,), (columns,))
    if geqp3 is None:
        return each(a, pivoted, shapes)

    def one(matrix: Array) -> tuple[Array, Array, Array]:
        packed, order, taus, *_ = geqp3(matrix)
        return packed, taus, (order - 1).astype(np.int32)

    return each(a, one, shapes)


def pivoted(matrix: Array) -> tuple[Array, Array, Array]:
    """geqp3 of one matrix, by NumPy alone."""
    work = matrix.copy()
    rows, columns = work.shape
    least = min(rows, columns)
    taus = np.zeros(least, work.dtype)
    order = np.arange(columns, dtype=np.int32)
    for k in range(least):
        chosen = k + int(np.argmax(np.sum(np.abs(work[k:, k:]) ** 2, axis=0)))
        work[:, [k, chosen]] = work[:, [chosen, k]]
        order[[k, chosen]] = order[[chosen, k]]
        beta, vector, taus[k] = reflector(work[k:, k])
        work[k:, k + 1 :] -= np.conj(taus[k]) * np.outer(vector, vector.conj() @ work[k:, k + 1 :])
        work[k, k], work[k + 1 :, k] = beta, vector[1:]
    return work, taus, order


def reflector(x: Array) -> tuple[Any, Array, Any]:
    """The β, v and τ with (I - τ v vᴴ)ᴴ x = (β, 0, …), v beginning with 1 and β real: LAPACK's larfg."""
    alpha, rest = x[0], np.linalg.norm(x[1:])
    vector = x.copy()
    vector[0] = 1
    if rest == 0 and np.imag(alpha) == 0:
        vector[1:] = 0
        return alpha, vector, x.dtype.type(0)
    real = np.real(alpha)
    beta = -np.copysign(np.hypot(np.abs(alpha), rest), real)
    vector[1:] /= alpha - beta
    return beta, vector, (beta - alpha) / beta


def householder_product(a: Array, taus: Array) -> Array:
    """I - V (I + D S)⁻¹ D Vᴴ, where D has the factors on its diagonal, and S the products of the vectors above it.

    Joffrain, Low, Quintana-Ortí, van de Geijn, Van Zee, Accumulating Householder transformations, revisited, ACM
    TOMS 32, 2006, without the reciprocals of factors, which may be 0.
    """
    columns, count = a.shape[-1], taus.shape[-1]
    identity = np.broadcast_to(np.eye(*a.shape[-2:], dtype=a.dtype), a.shape)
    if a.size == 0 or count == 0:
        return identity.copy()
    vectors = np.tril(a[..., :count], -1)
    diagonal = np.arange(count)
    vectors[..., diagonal, diagonal] = 1
    adjoint = vectors.conj().swapaxes(-1, -2)
    factors = taus[..., None]
    mixing = factors * np.triu(adjoint @ vectors, 1)
    mixing[..., diagonal, diagonal] = 1
    return identity - vectors @ np.linalg.solve(mixing, factors * adjoint[..., :columns])


def svd(x: Array, full_matrices: bool, compute_uv: bool) -> tuple[Array, ...]:
    """U, the values, and Vᴴ; or the values alone."""
    return or_nan(x, partial(_svd, full_matrices=full_matrices, compute_uv=compute_uv))


def _svd(x: Array, full_matrices: bool, compute_uv: bool) -> tuple[Array, ...]:
    if compute_uv:
        return tuple(np.linalg.svd(x, full_matrices))
    return (np.linalg.svd(x, compute_uv=False),)


def eigh(x: Array, lower: bool) -> tuple[Array, ...]:
    """The vectors and the values."""
    return or_nan(x, partial(_eigh, lower=lower))


def _eigh(x: Array, lower: bool) -> tuple[Array, Array]:
    values, vectors = np.linalg.eigh(x, "L" if lower else "U")
    bad = np.isnan(values).any(-1)
    if bad.any():  # some versions of LAPACK leave a part of them
        values = np.where(bad[..., None], nan_like(values.dtype), values)
        vectors = np.where(bad[..., None, None], nan_like(vectors.dtype), vectors)
    return vectors, values
