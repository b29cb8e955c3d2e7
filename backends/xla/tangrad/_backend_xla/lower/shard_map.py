"""How a sharded map becomes StableHLO: a region that is written for one device, `sdy.manual_computation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.manual import ManualAxes
from tangrad.core import ClosedJaxpr, RuleSet, decomposition_jaxpr
from tangrad.extend.sharding import axes_in_scope, shard_map_p, uncut, with_cotangent_sums_for

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(shard_map_p)
def _(
    ctx: FunctionContext,
    *operands: IrValue,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_shardings: Any,
    out_shardings: Any,
    manual_axes: Any,
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
    with axes_in_scope(
        mesh, manual_axes, checked
    ):  # rules that were traced late, such as those of users, may have left some
        jaxpr = with_cotangent_sums_for(jaxpr, mesh, manual_axes, in_shardings)
    manual = ManualAxes(manual_axes, whole, meshes.layout.numbers(whole))
    outs = list(zip(out_shardings, ctx.out_avals, strict=True))
    operation = meshes.manual_computation(
        ctx, operands, list(zip(in_shardings, ctx.in_avals, strict=True)), outs, whole, manual_axes
    )
    inner, arguments = ctx.region(operation, 0, [ctx.types[aval] for aval in jaxpr.in_avals])
    around, module.manual = module.manual, manual if module.manual is None else manual.within(module.manual)
    try:
        consts = [inner.constant_of(const) for const in jaxpr.consts]
        inner.give(inner.lower_jaxpr(jaxpr.jaxpr, [*consts, *arguments]), "sdy.return")
    finally:
        module.manual = around
    return tuple(operation.results)
