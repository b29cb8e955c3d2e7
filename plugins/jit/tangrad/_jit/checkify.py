"""A call of a jitted function with checks: its program returns its error too."""

from __future__ import annotations

from typing import Any

from tangrad._jit.primitives import jit_p
from tangrad.core import RuleSet
from tangrad.extend.checkify import Checks, checked_program

checkify = RuleSet("checkify", api=1)


@checkify.rule(jit_p)
def _(args: Any, *, checks: Checks, jaxpr: Any, name: str) -> Any:
    program = checked_program(jaxpr, checks.enabled)
    return checks.take(program.layout, jit_p.bind(*args, jaxpr=program.jaxpr, name=name))
