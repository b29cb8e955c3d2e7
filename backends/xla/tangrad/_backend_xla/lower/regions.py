"""How calls of regions become StableHLO: calls of one function, which XLA is asked to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import ClosedJaxpr, Literal, RuleSet
from tangrad.extend.jit import region_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(region_p)
def _region(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str) -> tuple[IrValue, ...]:
    kept = ctx.module.keeps_calls and not _may_hand_on(jaxpr)
    return tuple(ctx.call(jaxpr, operands, name, kept=kept))


# What XLA takes out where two cancel each other, or one does nothing.
_UNDONE = frozenset({"reshape", "transpose", "squeeze", "expand_dims", "broadcast_in_dim", "rev", "neg", "copy", "jit"})
_NEUTRAL = frozenset({"convert_element_type", "optimization_barrier", "mul", "div", "add", "sub", "add_any"})


def _may_hand_on(program: ClosedJaxpr) -> bool:
    """Whether a result may be an argument as it is: XLA lets later operations overwrite what a kept call hands on."""
    jaxpr = program.jaxpr
    given = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        read = [atom for atom in equation.invars if type(atom) is not Literal]
        cancels = equation.primitive.name in _UNDONE or equation.primitive.name in _NEUTRAL
        if cancels and len(read) == 1 and read[0] in given:
            given.update(equation.outvars)
    types = {var.aval for var in jaxpr.invars}
    return any([type(var) is not Literal and var in given and var.aval in types for var in jaxpr.outvars])
