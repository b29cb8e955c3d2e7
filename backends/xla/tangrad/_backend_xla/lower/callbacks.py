"""How callbacks become StableHLO: calls of a function that jaxlib provides, with the number of a Python function.

Ordered ones take and give the token of their effect; others with effects are only kept from being dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.helpers import by_platform
from tangrad._backend_xla.host_calls import emit_host_call, host_array
from tangrad.core import RuleSet
from tangrad.extend.debug import HostProgram, debug_callback_p, debug_print_p, io_callback_p, pure_callback_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(pure_callback_p, io_callback_p, debug_callback_p, debug_print_p)
@by_platform
def _(
    ctx: FunctionContext, *operands: IrValue, callback: Any, ordered: bool = False, **_: object
) -> tuple[IrValue, ...]:
    in_avals, out_avals, effects = ctx.in_avals, ctx.out_avals, ctx.eqn.effects
    effect = next(effect for effect in effects if effect.ordered) if ordered else None
    program = HostProgram(callback, in_avals, out_avals, host_array)
    return tuple(
        emit_host_call(ctx, program, operands, in_avals, out_avals, effect=effect, has_side_effect=bool(effects))
    )
