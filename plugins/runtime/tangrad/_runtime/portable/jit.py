"""A call of a jitted function: its steps, here."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet, eval_jaxpr
from tangrad.extend.jit import jit_p

portable = RuleSet("portable", api=1)


@portable.rule(jit_p)
def _(*args: Any, jaxpr: Any, name: str) -> Any:
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))
