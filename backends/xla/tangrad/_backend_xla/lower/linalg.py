"""How factorisations and solutions become StableHLO: by operations of its own, on platforms without better ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.matrices import cholesky_update, lower_triangle, triangular_solve
from tangrad.core import RuleSet
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
