"""Linear algebra of padded arrays of matrices: each matrix by itself; its own size must not be masked."""

from __future__ import annotations

from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad.core import RuleSet
from tangrad.extend.masking import stacked

mask = RuleSet("mask", api=1)
stacked(mask, {cholesky_p: 2, cholesky_update_p: (2, 1), triangular_solve_p: 2})
