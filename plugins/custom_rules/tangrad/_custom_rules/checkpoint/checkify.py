"""A call of a checkpointed function with checks: its program returns its error too."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.checkpoint.primitives import remat_p
from tangrad.core import RuleSet
from tangrad.extend.checkify import Checks, checked_program

checkify = RuleSet("checkify", api=1)


@checkify.rule(remat_p)
def _(args: Any, *, checks: Checks, jaxpr: Any, **params: Any) -> Any:
    program = checked_program(jaxpr, checks.enabled)
    return checks.take(program.layout, remat_p.bind(*args, jaxpr=program.jaxpr, **params))
