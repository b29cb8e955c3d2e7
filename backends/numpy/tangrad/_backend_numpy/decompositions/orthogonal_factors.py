"""QR, and what is made of reflections.

Without SciPy, column pivoting is Businger and Golub's (Golub and Van Loan, Matrix Computations, 5.4.2).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._backend_numpy.decompositions import lapack

Array = np.ndarray


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
    function = lapack.function("geqp3", a.dtype)
    shapes = ((rows, columns), (least,), (columns,))
    if function is None:
        return lapack.each(a, pivoted, shapes)  # type: ignore[return-value]

    def one(matrix: Array) -> tuple[Array, Array, Array]:
        packed, order, taus, *_ = function(matrix)
        return packed, taus, (order - 1).astype(np.int32)

    return lapack.each(a, one, shapes)  # type: ignore[return-value]


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
