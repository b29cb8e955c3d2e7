"""How sharding constraints become StableHLO: an operation of the dialect `sdy`; and how the partitioner is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla.mesh_words import constrained
from tangrad.core import RuleSet
from tangrad.extend.sharding import SingleDeviceSharding, auto_axes_p, inspect_sharding_p, sharding_constraint_p

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


@lower.rule(inspect_sharding_p)
def _(ctx: FunctionContext, x: IrValue, *, callback: Any) -> tuple[IrValue, ...]:
    """The user's function is called when the program is compiled, not from within the compiler."""
    module, words = ctx.module, ctx.vocabulary
    if module.is_portable:  # it is compiled elsewhere
        return ()
    if module.meshes is None:
        module.when_compiled.append(lambda devices: callback(SingleDeviceSharding(devices[0])))
        return ()
    layout, (aval,), found = module.meshes.layout, ctx.in_avals, [None]
    module.when_compiled.append(lambda devices: callback(layout.sharding_of(found[-1], len(aval.shape))))
    if module.manual is not None:  # a part: no compiler cuts it
        return ()
    key, reported = jaxlib_calls.inspection(found.append)
    module.keep_alive.append(reported)
    ctx.ops(
        "stablehlo.custom_call",
        [x.type],
        (x,),
        {
            "call_target_name": words.string(jaxlib_calls.INSPECT_SHARDING),
            "api_version": words.integer32(1),
            "has_side_effect": words.true,
            "backend_config": words.ir.StringAttr.get(key, words.context),
        },
    )
    return ()
