"""Calls of jitted functions: their programs, between bounds."""

from __future__ import annotations

from typing import Any

from tangrad.core import RuleSet, eval_jaxpr
from tangrad.jitting.primitives import jit_p
from tangrad_intervals.transformation import run

jit = RuleSet("bounds", api=1)


@jit.rule(jit_p)
def _(pairs: Any, *, jaxpr: Any, name: str) -> Any:
    return run(lambda *args: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), pairs)
