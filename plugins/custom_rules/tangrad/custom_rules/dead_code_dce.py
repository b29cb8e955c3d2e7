"""How calls with a rule for dead code are thinned: their rule makes the program of what is used."""

from __future__ import annotations

from typing import Any

from tangrad.core import ClosedJaxpr, RuleSet, dce_jaxpr, keeps_alive
from tangrad.custom_rules.dead_code import chosen, custom_dce_call_p

dce = RuleSet("dce", api=1)


@dce.rule(custom_dce_call_p)
def _(used_outputs: Any, equation: Any) -> Any:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    closed, rule = equation.params["jaxpr"], equation.params["rule"]
    used = tuple(used_outputs)
    if rule is not None:
        closed, wanted = rule.program(used), (True,) * sum(used)
    else:
        wanted = used
    program, used_inputs = dce_jaxpr(closed.jaxpr, wanted)
    thinned = ClosedJaxpr(program, closed.consts)
    return used_inputs, equation.replace(
        invars=chosen(equation.invars, used_inputs),
        outvars=chosen(equation.outvars, used),
        params={**equation.params, "jaxpr": thinned, "rule": None},
        effects=thinned.effects,
    )
