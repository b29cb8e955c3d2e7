"""How factorisations, solutions and decompositions become StableHLO: by operations of its own, without libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.matrices import cholesky_update, lower_triangle, permutation_of_pivots, triangular_solve
from tangrad.core import RuleSet
from tangrad.extend import lax
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(p.cholesky_p)
def _cholesky(ctx: FunctionContext, x: IrValue) -> IrValue:
    factor = ctx.op("stablehlo.cholesky", ctx.out_type, (x,), {"lower": ctx.vocabulary.true})
    return lower_triangle(ctx, factor, ctx.out_aval)


lower.table({p.triangular_solve_p: triangular_solve, p.cholesky_update_p: cholesky_update})


NEEDS_LAPACK = "it is computed by LAPACK, on CPUs alone"

decompositions = RuleSet("lower.xla", api=1)
systems = RuleSet("lower.xla", api=1)


@decompositions.rule(lax.lu_pivots_to_permutation_p)
def _lu_pivots_to_permutation(ctx: FunctionContext, pivots: IrValue, *, permutation_size: int) -> IrValue:
    return permutation_of_pivots(ctx, pivots, ctx.in_avals[0], permutation_size)


decompositions.not_applicable(
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
