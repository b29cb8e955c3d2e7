"""Singular values and eigenvalues: NumPy's functions of LAPACK; NaN for the matrices that they fail with."""

from __future__ import annotations

from functools import partial

import numpy as np

from tangrad._backend_numpy.decompositions.lapack import nan_like, or_nan

Array = np.ndarray


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


def eig(x: Array, left: bool, right: bool) -> tuple[Array, ...]:
    """The values, the left vectors and the right ones."""
    return or_nan(x, partial(_eig, left=left, right=right))


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
