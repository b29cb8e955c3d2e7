"""How linear systems and determinants become NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._backend_numpy.decompositions.general_systems import solve
from tangrad._backend_numpy.decompositions.tridiagonal_systems import tridiagonal_solve
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import kernel
from tangrad.core import RuleSet
from tangrad.extend import lax

lower = RuleSet("lower.numpy", api=1)


@kernel(lower, lax.solve_p, nature=FRESH)
def _solve(ctx: Any) -> Any:
    return solve


@kernel(lower, lax.determinant_p, nature=FRESH)
def _determinant(ctx: Any) -> Any:
    return np.linalg.det


@kernel(lower, lax.tridiagonal_solve_p, nature=FRESH)
def _tridiagonal_solve(ctx: Any) -> Any:
    return tridiagonal_solve
