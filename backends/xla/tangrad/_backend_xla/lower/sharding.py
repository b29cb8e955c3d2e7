"""How sharding constraints become StableHLO: an operation of the dialect `sdy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.mesh_words import constrained
from tangrad.core import RuleSet
from tangrad.extend.sharding import auto_axes_p, sharding_constraint_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(sharding_constraint_p)
def _(ctx: FunctionContext, x: IrValue, *, sharding: Any) -> IrValue:
    sharding = sharding if sharding.memory_kind is None else sharding.with_memory_kind(None)  # see `memories`
    return constrained(ctx, x, ctx.out_aval, sharding, sharding.unconstrained_dimensions())


@lower.rule(auto_axes_p)
def _(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
    return x
