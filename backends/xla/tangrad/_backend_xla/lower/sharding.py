"""How sharded maps and sharding constraints become StableHLO: by the dialect `sdy`; how the partitioner is asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla.manual import ManualAxes
from tangrad._backend_xla.mesh_words import as_shares, constrained
from tangrad.core import ClosedJaxpr, RuleSet, decomposition_jaxpr
from tangrad.extend.sharding import (
    SingleDeviceSharding,
    auto_axes_p,
    axes_in_scope,
    inspect_sharding_p,
    shard_map_p,
    sharding_constraint_p,
    uncut,
    with_cotangent_sums_for,
    with_cuts_of,
    without_combining,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import Sharding
    from tangrad.sharding import Mesh, NamedSharding


shard_map = RuleSet("lower.xla", api=1)


@shard_map.rule(shard_map_p)
def _(
    ctx: FunctionContext,
    *operands: IrValue,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: tuple[NamedSharding, ...],
    manual_axes: Sequence[Hashable],
    checked: bool,
) -> tuple[IrValue, ...]:
    meshes, module = ctx.module.meshes, ctx.module
    # On one device there is one along each axis. Within a map over another mesh, such as a pmap in a shard_map, each
    # device computes the whole: it has no others of its own.
    whole = uncut(mesh)
    if meshes is None or (module.manual is not None and not module.manual.is_over(whole)):
        return tuple(ctx.inline(decomposition_jaxpr(shard_map_p, ctx.in_avals, ctx.eqn.params), operands))
    if [effect for effect in jaxpr.effects if effect.ordered]:
        raise NotImplementedError(
            "ordered effects, such as ordered callbacks, have no order among devices: use them outside of shard_map"
        )
    with axes_in_scope(mesh, manual_axes, checked):  # rules traced late, such as users', may have left some
        jaxpr = with_cotangent_sums_for(without_combining(jaxpr), mesh, manual_axes, in_shardings)
    manual = ManualAxes(manual_axes, whole, meshes.layout.numbers(whole))
    cuts_in = [with_cuts_of(sharding, aval) for sharding, aval in zip(in_shardings, jaxpr.in_avals, strict=True)]
    cuts_out = [with_cuts_of(sharding, aval) for sharding, aval in zip(out_shardings, jaxpr.out_avals, strict=True)]
    outs = list(zip(cuts_out, ctx.out_avals, strict=True))
    operation = meshes.manual_computation(
        ctx, operands, list(zip(cuts_in, ctx.in_avals, strict=True)), outs, whole, manual_axes
    )
    inner, arguments = ctx.region(operation, 0, [ctx.types[aval] for aval in jaxpr.in_avals])
    around, module.manual = module.manual, manual if module.manual is None else manual.within(module.manual)
    try:
        consts = [inner.constant_of(const) for const in jaxpr.consts]
        inner.give(inner.lower_jaxpr(jaxpr.jaxpr, [*consts, *arguments]), "sdy.return")
    finally:
        module.manual = around
    return tuple(operation.results)


lower = RuleSet("lower.xla", api=1)


@lower.rule(sharding_constraint_p)
def _(ctx: FunctionContext, x: IrValue, *, sharding: Any) -> IrValue:
    if getattr(sharding, "summed_axes", ()):
        return as_shares(ctx, x, ctx.eqn.invars[0].aval, sharding)
    sharding = sharding if sharding.other_memory is None else sharding.with_memory_kind(None)  # see `memories`
    if getattr(ctx.eqn.outvars[0].aval, "placed", None) == sharding:
        return x  # its type has it
    return constrained(ctx, x, ctx.out_aval, sharding, sharding.unconstrained_dimensions())


@lower.rule(auto_axes_p)
def _(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
    return x


@lower.rule(inspect_sharding_p)
def _(ctx: FunctionContext, x: IrValue, *, callback: Callable[[Sharding], object]) -> tuple[IrValue, ...]:
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
