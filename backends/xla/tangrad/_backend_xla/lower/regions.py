"""How calls of regions become StableHLO: calls of one function, which XLA is asked to keep."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.extend.jit import region_p

lower = RuleSet("lower.xla", api=1)


@lower.rule(region_p)
def _region(ctx: Any, *operands: Any, jaxpr: Any, name: str) -> Any:
    return tuple(ctx.call(jaxpr, operands, name, kept=ctx.module.keeps_calls))
