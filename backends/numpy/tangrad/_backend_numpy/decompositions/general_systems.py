"""Systems of equations: NumPy's solver; by factors, with infinities and NaN, where a matrix is singular."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.decompositions.triangular_factors import lu
from tangrad._backend_numpy.linear_algebra import triangular_solve

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
