"""Systems of equations: general ones by NumPy's solver, tridiagonal ones by elimination with rows exchanged."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tangrad._backend_numpy.decompositions import factorisations
from tangrad._backend_numpy.decompositions.factorisations import (
    householder_product,
    lu,
    nan_like,
    reflector,
    triangular_solve,
)


def solve(a: Array, b: Array) -> Array:
    """The X with a X = b."""
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        pass
    factors, _, order = lu(a)
    right = np.take_along_axis(b, order[..., None], -2)
    below = triangular_solve(factors, right, True, True, False, False, True)
    return triangular_solve(factors, below, True, False, False, False, False)


def _away_from_zero(pivot: Array, row: Array, step: Array, tiny: float) -> Array:
    """The pivots, moved by steps that double until no row overflows when it is divided by them."""
    step, largest = np.copysign(step, pivot.real), np.abs(row).max(-1)
    while (low := (pivot == 0) | (largest * tiny > np.abs(pivot))).any():
        pivot, step = np.where(low, pivot + step, pivot), 2 * step
    return pivot


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, *, perturbed: bool) -> Array:
    """The solutions; NaN where a matrix is singular, unless pivots are `perturbed`."""
    size = d.shape[-1]
    if b.size == 0:
        return b.copy()
    diagonal, above, right = d.copy(), du.copy(), b.copy()
    # An exchange of rows moves an element to the second diagonal above the main one.
    second = np.zeros_like(d)
    above[..., -1] = 0
    for k in range(size - 1):
        below = dl[..., k + 1].copy()
        swap = np.abs(below) > np.abs(diagonal[..., k])
        first = diagonal[..., k].copy(), above[..., k].copy(), np.zeros_like(below)
        other = below, diagonal[..., k + 1].copy(), above[..., k + 1].copy()
        upper = [np.where(swap, y, x) for x, y in zip(first, other)]
        lower = [np.where(swap, x, y) for x, y in zip(first, other)]
        factor = lower[0] / upper[0]
        factor = np.where((lower[0] == 0) & (upper[0] == 0), 0, factor)
        diagonal[..., k], above[..., k], second[..., k] = upper
        diagonal[..., k + 1] = lower[1] - factor * upper[1]
        above[..., k + 1] = lower[2] - factor * upper[2]
        x, y = right[..., k, :].copy(), right[..., k + 1, :].copy()
        chosen = swap[..., None]
        right[..., k, :] = np.where(chosen, y, x)
        right[..., k + 1, :] = np.where(chosen, x, y) - factor[..., None] * right[..., k, :]
    if perturbed:
        limits = np.finfo(b.dtype)
        step = np.maximum(limits.eps * np.abs([diagonal, above, second]).max((0, -1)), limits.tiny)
    for k in range(size - 1, -1, -1):
        if k + 1 < size:
            right[..., k, :] -= above[..., k, None] * right[..., k + 1, :]
        if k + 2 < size:
            right[..., k, :] -= second[..., k, None] * right[..., k + 2, :]
        if perturbed:
            diagonal[..., k] = _away_from_zero(diagonal[..., k], right[..., k, :], step, limits.tiny)
        right[..., k, :] /= diagonal[..., k, None]
    singular = (diagonal == 0).any(-1)
    return np.where(singular[..., None, None], nan_like(right.dtype), right) if singular.any() else right


# --- Hessenberg and tridiagonal forms ---
# Hessenberg and tridiagonal forms, by reflections (Golub and Van Loan, Matrix Computations, 7.4.2 and 8.3.1), kept as
# LAPACK keeps them.

# --- The Schur form ---
# Without SciPy: the QR algorithm on the Hessenberg form. Complex matrices by single shifts of Wilkinson's and
# rotations; real ones by Francis's double shift, and blocks of two rows with real eigenvalues are split (Golub and Van
# Loan, Matrix Computations, 7.5).

# --- Hessenberg and tridiagonal forms, by reflections, and the Schur form ---

Array = np.ndarray


def hessenberg(a: Array) -> tuple[Array, Array]:
    """The form with the vectors below it, and the factors."""
    size = a.shape[-1]
    taus = (*a.shape[:-2], max(size - 1, 0))
    if size < 2 or a.size == 0:
        return a.copy(), np.zeros(taus, a.dtype)
    gehrd = factorisations.lapack_function("gehrd", a.dtype)
    one = _hessenberg if gehrd is None else lambda matrix: gehrd(matrix)[:2]
    return factorisations.each(a, one, ((size, size), (size - 1,)))


def _hessenberg(matrix: Array) -> tuple[Array, Array]:
    work = matrix.copy()
    size = len(work)
    taus = np.zeros(size - 1, work.dtype)
    for k in range(size - 1):
        beta, vector, tau = reflector(work[k + 1 :, k])
        adjoint = vector.conj()
        work[:, k + 1 :] -= tau * np.outer(work[:, k + 1 :] @ vector, adjoint)
        work[k + 1 :, k + 1 :] -= np.conj(tau) * np.outer(vector, adjoint @ work[k + 1 :, k + 1 :])
        work[k + 1, k], work[k + 2 :, k], taus[k] = beta, vector[1:], tau
    return work, taus


def tridiagonal(a: Array, lower: bool) -> tuple[Array, Array, Array, Array]:
    """The vectors, the diagonal, the one beside it, and the factors."""
    size = a.shape[-1]
    real = a.real.dtype
    if a.size == 0:
        batch, off = a.shape[:-2], max(size - 1, 0)
        parts = np.zeros((*batch, size), real), np.zeros((*batch, off), real), np.zeros((*batch, off), a.dtype)
        return a.copy(), *parts
    shapes = ((size, size), (size,), (size - 1,), (size - 1,))
    return factorisations.each(a, _tridiagonal_below if lower else _tridiagonal_above, shapes)


def _tridiagonal_below(matrix: Array) -> tuple[Array, Array, Array, Array]:
    """Column by column from the left; what is above the diagonal stays."""
    size = len(matrix)
    work = np.tril(matrix) + np.tril(matrix, -1).conj().T
    np.fill_diagonal(work, work.diagonal().real)
    out, beside, taus = matrix.copy(), np.zeros(size - 1, matrix.real.dtype), np.zeros(size - 1, matrix.dtype)
    for k in range(size - 1):
        beta, vector, tau = reflector(work[k + 1 :, k])
        _reflect(work[k + 1 :, k + 1 :], vector, tau)
        beside[k], taus[k] = beta.real, tau
        out[k + 1, k], out[k + 2 :, k] = beta, vector[1:]
    np.fill_diagonal(out, work.diagonal())
    return out, work.diagonal().real.copy(), beside, taus


def _tridiagonal_above(matrix: Array) -> tuple[Array, Array, Array, Array]:
    """Column by column from the right; what is below the diagonal stays."""
    size = len(matrix)
    work = np.triu(matrix) + np.triu(matrix, 1).conj().T
    np.fill_diagonal(work, work.diagonal().real)
    out, beside, taus = matrix.copy(), np.zeros(size - 1, matrix.real.dtype), np.zeros(size - 1, matrix.dtype)
    for k in range(size - 1, 0, -1):
        beta, vector, tau = reflector(work[k - 1 :: -1, k])
        vector = vector[::-1]
        _reflect(work[:k, :k], vector, tau)
        beside[k - 1], taus[k - 1] = beta.real, tau
        out[k - 1, k], out[: k - 1, k] = beta, vector[:-1]
    np.fill_diagonal(out, work.diagonal())
    return out, work.diagonal().real.copy(), beside, taus


def _reflect(block: Array, vector: Array, tau: Any) -> None:
    """Hᴴ B H, in place."""
    block -= tau * np.outer(block @ vector, vector.conj())
    block -= np.conj(tau) * np.outer(vector, vector.conj() @ block)


SWEEPS = 30  # for each eigenvalue, after which the iteration counts as failed: LAPACK's number


def schur(x: Array, vectors: bool) -> tuple[Array, ...]:
    """T, and Z."""
    size = x.shape[-1]
    if x.size == 0:
        return (x.copy(), x.copy())[: 1 + vectors]
    gees = factorisations.lapack_function("gees", x.dtype)

    def by_lapack(matrix: Array) -> tuple[Array, Array]:
        assert gees is not None
        t, *_, z, _, info = gees(lambda *_: None, matrix)
        return (t, z) if info == 0 else _failed(matrix)

    return factorisations.each(x, _schur if gees is None else by_lapack, ((size, size),) * 2)[: 1 + vectors]


def _failed(matrix: Array) -> tuple[Array, Array]:
    blank = np.full(matrix.shape, factorisations.nan_like(matrix.dtype), matrix.dtype)
    return blank, blank


def _schur(matrix: Array) -> tuple[Array, Array]:
    if not np.isfinite(matrix).all():
        return _failed(matrix)
    size = len(matrix)
    packed, taus = hessenberg(matrix)
    t, z = np.triu(packed, -1), np.eye(size, dtype=matrix.dtype)
    if size > 1:
        z[1:, 1:] = householder_product(packed[1:, :-1], taus)
    step = _complex_step if matrix.dtype.kind == "c" else _real_step
    end, count = size - 1, 0
    while end > 0:
        start = _deflated(t, end)
        if start == end:
            end, count = end - 1, 0
        elif start == end - 1 and matrix.dtype.kind != "c":
            _split(t, z, start)
            end, count = end - 2, 0
        elif count > SWEEPS or not np.isfinite(t).all():  # numbers near the greatest overflow on the way
            return _failed(matrix)
        else:
            count += 1
            step(t, z, start, end, count)
    return (np.triu(t) if matrix.dtype.kind == "c" else np.triu(t, -1)), z


def _deflated(t: Array, end: int) -> int:
    """Where the last block that does not fall apart begins; what is negligible below the diagonal becomes 0."""
    precision = np.finfo(t.dtype).eps
    for k in range(end, 0, -1):
        near = np.abs(t[k, k]) + np.abs(t[k - 1, k - 1])
        if np.abs(t[k, k - 1]) <= precision * (near if near != 0 else np.abs(t).max()):
            t[k, k - 1] = 0
            return k
    return 0


def _rotate(t: Array, z: Array, k: int, rotation: Array) -> None:
    """A unitary change of basis of rows and columns k and k + 1."""
    pair = slice(k, k + 2)
    t[pair] = rotation.conj().T @ t[pair]
    t[:, pair] = t[:, pair] @ rotation
    z[:, pair] = z[:, pair] @ rotation


def _complex_step(t: Array, z: Array, start: int, end: int, count: int) -> None:
    """A sweep of rotations that chase the bulge of one shift: the eigenvalue of the last block nearest its corner."""
    corner = t[end - 1 : end + 1, end - 1 : end + 1]
    shifts = np.linalg.eigvals(corner)
    shift = shifts[np.argmin(np.abs(shifts - corner[1, 1]))]
    if count % 10 == 0:  # an exceptional shift, where the usual ones go in circles
        shift = t[end, end] + np.abs(t[end, end - 1])
    x, y = t[start, start] - shift, t[start + 1, start]
    for k in range(start, end):
        length = np.hypot(np.abs(x), np.abs(y))
        if length != 0:
            _rotate(t, z, k, np.array([[x, -np.conj(y)], [y, np.conj(x)]], t.dtype) / length)
        if k > start:
            t[k + 1, k - 1] = 0
        if k + 2 <= end:
            x, y = t[k + 1, k], t[k + 2, k]


def _real_step(t: Array, z: Array, start: int, end: int, count: int) -> None:
    """Francis's sweep: reflections of three rows chase the bulge of two shifts, which may be conjugates."""
    total = t[end - 1, end - 1] + t[end, end]
    product = t[end - 1, end - 1] * t[end, end] - t[end - 1, end] * t[end, end - 1]
    if count % 10 == 0:
        size = np.abs(t[end, end - 1]) + np.abs(t[end - 1, end - 2])
        total, product = 1.5 * size, size * size
    first = t[start, start]
    x = np.array(
        [
            first * first + t[start, start + 1] * t[start + 1, start] - total * first + product,
            t[start + 1, start] * (first + t[start + 1, start + 1] - total),
            t[start + 1, start] * t[start + 2, start + 1],
        ],
        t.dtype,
    )
    for k in range(start, end):
        last = min(k + 2, end)
        _, vector, tau = reflector(x[: last - k + 1])
        rows = slice(k, last + 1)
        t[rows] -= tau * np.outer(vector, vector @ t[rows])
        t[:, rows] -= tau * np.outer(t[:, rows] @ vector, vector)
        z[:, rows] -= tau * np.outer(z[:, rows] @ vector, vector)
        if k > start:
            t[k + 1 : last + 1, k - 1] = 0
        if k + 1 < end:
            x = t[k + 1 : min(k + 3, end) + 1, k].copy()


def _split(t: Array, z: Array, k: int) -> None:
    """A block of two rows: triangular where its eigenvalues are real, else with equal diagonal elements."""
    (a, b), (c, d) = t[k : k + 2, k : k + 2]
    half = (a - d) / 2
    discriminant = half * half + b * c
    if discriminant >= 0:
        root = half + np.copysign(np.sqrt(discriminant), half)
        # An eigenvector becomes the first of the basis.
        x, y = (root, c) if root != 0 or c != 0 else (1.0, 0.0)
        length = np.hypot(x, y)
        _rotate(t, z, k, np.array([[x, -y], [y, x]], t.dtype) / length)
        t[k + 1, k] = 0
    else:
        angle = np.arctan2(d - a, b + c) / 2
        cosine, sine = np.cos(angle), np.sin(angle)
        _rotate(t, z, k, np.array([[cosine, -sine], [sine, cosine]], t.dtype))


def eig(x: Array, left: bool, right: bool) -> tuple[Array, ...]:
    """The values, the left vectors and the right ones."""
    return factorisations.or_nan(x, partial(_eig, left=left, right=right))


def _eig(x: Array, left: bool, right: bool) -> tuple[Array, ...]:
    kind = np.result_type(x.dtype, np.complex64)
    if x.shape[-1] == 0:
        return (np.zeros(x.shape[:-1], kind), *[np.zeros(x.shape, kind)] * (left + right))
    if not left and not right:
        return (np.linalg.eigvals(x).astype(kind, copy=False),)
    values, vectors = np.linalg.eig(x)
    outs = [values.astype(kind, copy=False)]
    if left:
        outs.append(_left(x, outs[0]))
    return (*outs, vectors.astype(kind, copy=False)) if right else tuple(outs)


def _left(x: Array, values: Array) -> Array:
    """The eigenvectors of the adjoint, in the order of the values: each takes the nearest one that is left.

    NumPy does not return the left vectors that LAPACK computes.
    """
    size = x.shape[-1]
    found, vectors = np.linalg.eig(x.conj().swapaxes(-1, -2))
    gaps = np.abs(values[..., :, None] - found.conj()[..., None, :]).reshape(-1, size, size)
    vectors = vectors.reshape(-1, size, size)
    out = np.empty(vectors.shape, values.dtype)
    for matrix, (distances, candidates) in enumerate(zip(gaps, vectors)):
        for k in range(size):
            nearest = int(np.argmin(distances[k]))
            out[matrix, :, k] = candidates[:, nearest]
            distances[:, nearest] = np.inf
    return out.reshape(x.shape)
