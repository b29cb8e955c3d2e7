"""How calls of regions become StableHLO: calls of one function, which XLA is asked to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.lower.handed_on import may_hand_on
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.jit import region_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(region_p)
def _region(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str) -> tuple[IrValue, ...]:
    kept = ctx.module.keeps_calls and not may_hand_on(jaxpr)
    return tuple(ctx.call(jaxpr, operands, name, kept=kept))
