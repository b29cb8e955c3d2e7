"""How factorisations, solutions and decompositions become StableHLO: by operations of its own, without libraries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._backend_xla import matrices as d
from tangrad._backend_xla.helpers import custom_call, full, iota
from tangrad._backend_xla.matrices import cholesky_update, lower_triangle, permutation_of_pivots, triangular_solve
from tangrad.core import RuleSet
from tangrad.extend import lax
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


# --- Decompositions on TPUs: what their compiler has of its own ---

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


on_tpu = RuleSet("lower.xla.tpu", api=1)
systems_on_tpu = RuleSet("lower.xla.tpu", api=1)

# Of the method of Jacobi: whether to sort the values, how many sweeps there are at most, and when to stop.
EIGH = "{lower},1,100,1e-6"


def _own(
    ctx: FunctionContext, target: str, operands: Sequence[IrValue], config: str = "", api_version: int = 1
) -> tuple[IrValue, ...]:
    """A call that the compiler itself replaces, by what it makes of it."""
    more = {"backend_config": ctx.vocabulary.string(config)}
    return tuple(custom_call(ctx, target, ctx.out_avals, operands, api_version=api_version, more=more))


@on_tpu.rule(lax.lu_p)
def _lu(ctx: FunctionContext, x: IrValue) -> tuple[IrValue, ...]:
    if d.is_empty(ctx):
        _, pivots, order = ctx.out_avals
        return x, full(ctx, 0, pivots), iota(ctx, order, order.ndim - 1)
    return _own(ctx, "LuDecomposition", [x], api_version=2)


@on_tpu.rule(lax.geqrf_p)
def _geqrf(ctx: FunctionContext, a: IrValue) -> tuple[IrValue, ...]:
    return (a, full(ctx, 0, ctx.out_avals[1])) if d.is_empty(ctx) else _own(ctx, "Qr", [a])


@on_tpu.rule(lax.householder_product_p)
def _householder_product(ctx: FunctionContext, a: IrValue, taus: IrValue) -> IrValue:
    if d.is_empty(ctx):
        return a
    if ctx.in_avals[1].shape[-1] == 0:
        return d.identity(ctx, ctx.out_aval)
    return _own(ctx, "ProductOfElementaryHouseholderReflectors", [a, taus])[0]


@on_tpu.rule(lax.eigh_p)
def _eigh(ctx: FunctionContext, x: IrValue, *, lower: bool) -> tuple[IrValue, ...]:
    return d.identities(ctx) if d.is_empty(ctx) else _own(ctx, "Eigh", [x], EIGH.format(lower=int(lower)))


_NO_FUNCTION = "XLA has none on TPUs: LAPACK has it, on CPUs"
on_tpu.not_applicable(_NO_FUNCTION, lax.geqp3_p, lax.svd_p, lax.eig_p, lax.schur_p, lax.hessenberg_p, lax.tridiagonal_p)
systems_on_tpu.not_applicable(_NO_FUNCTION, lax.tridiagonal_solve_p)
