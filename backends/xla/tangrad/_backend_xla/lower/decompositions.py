"""How decompositions become StableHLO on every platform: what needs no library."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.pivots import permutation_of_pivots
from tangrad.core import RuleSet
from tangrad.extend import lax

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


NEEDS_LAPACK = "it is computed by LAPACK, on CPUs alone"

lower = RuleSet("lower.xla", api=1)
systems = RuleSet("lower.xla", api=1)


@lower.rule(lax.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(ctx: FunctionContext, pivots: IrValue, *, permutation_size: int) -> IrValue:
    return permutation_of_pivots(ctx, pivots, ctx.in_avals[0], permutation_size)


lower.not_applicable(
    NEEDS_LAPACK,
    lax.lu_p,
    lax.geqrf_p,
    lax.geqp3_p,
    lax.svd_p,
    lax.eigh_p,
    lax.eig_p,
    lax.schur_p,
    lax.hessenberg_p,
    lax.tridiagonal_p,
)
systems.not_applicable(NEEDS_LAPACK, lax.tridiagonal_solve_p)
