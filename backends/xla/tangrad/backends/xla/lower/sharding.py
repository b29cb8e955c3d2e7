"""How the constraint that a value lies in a certain way becomes StableHLO: an operation of the dialect `sdy`."""

from __future__ import annotations

from typing import Any

from tangrad.backends.xla.array import physical_aval
from tangrad.backends.xla.spread import refuse_memory
from tangrad.core import RuleSet
from tangrad.shardings.primitives import sharding_constraint_p

lower = RuleSet("lower.xla", api=1)


@lower.rule(sharding_constraint_p)
def _(ctx: Any, x: Any, *, sharding: Any) -> Any:
    refuse_memory(sharding)
    meshes = ctx.module.meshes
    if meshes is None:  # a program for one device
        return x
    ndim = physical_aval(ctx.out_aval).ndim
    attribute = meshes.attribute(sharding, ndim, sharding.unconstrained_dimensions())
    return ctx.op("sdy.sharding_constraint", ctx.out_type, (x,), {"sharding": attribute})
