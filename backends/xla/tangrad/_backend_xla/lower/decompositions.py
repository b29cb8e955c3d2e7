"""How decompositions become StableHLO on every platform: what needs no library."""

from __future__ import annotations

from typing import Any

from tangrad._backend_xla.pivots import permutation_of_pivots
from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions import systems as q
from tangrad.core import RuleSet

NEEDS_LAPACK = "it is computed by LAPACK, on CPUs alone"

lower = RuleSet("lower.xla", api=1)
systems = RuleSet("lower.xla", api=1)


@lower.rule(p.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(ctx: Any, pivots: Any, *, permutation_size: int) -> Any:
    return permutation_of_pivots(ctx, pivots, ctx.in_avals[0], permutation_size)


lower.not_applicable(
    NEEDS_LAPACK,
    p.lu_p,
    p.geqrf_p,
    p.geqp3_p,
    p.svd_p,
    p.eigh_p,
    p.eig_p,
    p.schur_p,
    p.hessenberg_p,
    p.tridiagonal_p,
)
systems.not_applicable(NEEDS_LAPACK, q.tridiagonal_solve_p)
