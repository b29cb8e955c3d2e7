"""How a call of a jitted function becomes StableHLO: a call of a function of the module."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet
from tangrad.extend.jit import jit_p

lower = RuleSet("lower.xla", api=1)


@lower.rule(jit_p)
def _jit(ctx: Any, *operands: Any, jaxpr: Any, name: str) -> Any:
    return tuple(ctx.call(jaxpr, operands, name))
