"""The rules of calls of exported programs: most kinds have none, and here is why."""

from __future__ import annotations

from typing import Any

from tangrad._export.primitives import call_exported_p
from tangrad.core import RuleSet, eval_jaxpr, get_aval

jvp, transpose = RuleSet("jvp", api=1), RuleSet("transpose", api=1)
batch, mask = RuleSet("batch", api=1), RuleSet("mask", api=1)

for _rules in (jvp, transpose):
    _rules.not_applicable("its derivative is another program, which a custom_vjp around the call runs", call_exported_p)
batch.not_applicable("a program for arguments of certain types is not mapped", call_exported_p)
mask.not_applicable("which of a program's results depend on padding is not known", call_exported_p)

# In a saved program: its steps, here.
portable = RuleSet("portable", api=1)


@portable.rule(call_exported_p)
def _(*args: Any, exported: Any) -> Any:
    program = exported.program_for([get_aval(arg) for arg in args])
    return tuple(eval_jaxpr(program.jaxpr, program.consts, *args))
