"""How a call of a jitted function becomes StableHLO: a call of a function of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.jit import jit_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(jit_p)
def _jit(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str) -> tuple[IrValue, ...]:
    return tuple(ctx.call(jaxpr, operands, name))
