"""How sharding constraints become StableHLO: an operation of the dialect `sdy`."""

from __future__ import annotations

from typing import Any

from tangrad._backend_xla.mesh_words import constrained
from tangrad.core import RuleSet
from tangrad.extend.sharding import auto_axes_p, sharding_constraint_p

lower = RuleSet("lower.xla", api=1)


@lower.rule(sharding_constraint_p)
def _(ctx: Any, x: Any, *, sharding: Any) -> Any:
    sharding = sharding if sharding.memory_kind is None else sharding.with_memory_kind(None)  # see `memories`
    return constrained(ctx, x, ctx.out_aval, sharding, sharding.unconstrained_dimensions())


@lower.rule(auto_axes_p)
def _(ctx: Any, x: Any, *, axes: Any) -> Any:
    return x
