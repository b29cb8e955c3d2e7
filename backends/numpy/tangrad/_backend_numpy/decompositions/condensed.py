"""Hessenberg and tridiagonal forms, by reflections (Golub and Van Loan, Matrix Computations, 7.4.2 and 8.3.1), kept as
LAPACK keeps them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._backend_numpy.decompositions import lapack
from tangrad._backend_numpy.decompositions.orthogonal_factors import reflector

Array = np.ndarray


def hessenberg(a: Array) -> tuple[Array, Array]:
    """The form with the vectors below it, and the factors."""
    size = a.shape[-1]
    taus = (*a.shape[:-2], max(size - 1, 0))
    if size < 2 or a.size == 0:
        return a.copy(), np.zeros(taus, a.dtype)
    gehrd = lapack.function("gehrd", a.dtype)
    one = _hessenberg if gehrd is None else lambda matrix: gehrd(matrix)[:2]
    return lapack.each(a, one, ((size, size), (size - 1,)))  # type: ignore[return-value]


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
    found = lapack.each(a, _tridiagonal_below if lower else _tridiagonal_above, shapes)
    return found  # type: ignore[return-value]


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
