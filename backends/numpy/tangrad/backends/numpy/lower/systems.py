"""How linear systems and determinants become NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.backends.numpy.decompositions.general_systems import solve
from tangrad.backends.numpy.decompositions.tridiagonal_systems import tridiagonal_solve
from tangrad.backends.numpy.functions import FRESH
from tangrad.backends.numpy.kernels import kernel
from tangrad.core import RuleSet
from tangrad.linalg import systems as q

lower = RuleSet("lower.numpy", api=1)


@kernel(lower, q.solve_p, nature=FRESH)
def _solve(ctx: Any) -> Any:
    return solve


@kernel(lower, q.determinant_p, nature=FRESH)
def _determinant(ctx: Any) -> Any:
    return np.linalg.det


@kernel(lower, q.tridiagonal_solve_p, nature=FRESH)
def _tridiagonal_solve(ctx: Any) -> Any:
    return tridiagonal_solve
