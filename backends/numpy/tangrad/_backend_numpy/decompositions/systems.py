"""Systems of equations: general ones by NumPy's solver, tridiagonal ones by elimination with rows exchanged."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.decompositions.factorisations import lu, nan_like, triangular_solve

Array = np.ndarray


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


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array) -> Array:
    """The solutions; NaN where a matrix is singular."""
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
    for k in range(size - 1, -1, -1):
        if k + 1 < size:
            right[..., k, :] -= above[..., k, None] * right[..., k + 1, :]
        if k + 2 < size:
            right[..., k, :] -= second[..., k, None] * right[..., k + 2, :]
        right[..., k, :] /= diagonal[..., k, None]
    singular = (diagonal == 0).any(-1)
    return np.where(singular[..., None, None], nan_like(right.dtype), right) if singular.any() else right
