"""A call of an exported program in a saved one: its steps, here."""

from __future__ import annotations

from typing import Any

from tangrad._export.primitives import call_exported_p
from tangrad.core import RuleSet, eval_jaxpr, get_aval

portable = RuleSet("portable", api=1)


@portable.rule(call_exported_p)
def _(*args: Any, exported: Any) -> Any:
    program = exported.program_for([get_aval(arg) for arg in args])
    return tuple(eval_jaxpr(program.jaxpr, program.consts, *args))
