"""How calls with a rule for dead code are thinned: their rule makes the program of what is used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._custom_rules.dead_code import PartRule, chosen, custom_dce_call_p, merged, with_outputs
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, keeps_alive

dce = RuleSet("dce", api=1)


@dce.rule(custom_dce_call_p)
def _(used_outputs: Any, equation: JaxprEqn) -> Any:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    closed, rule = equation.params["jaxpr"], equation.params["rule"]
    used = tuple(used_outputs)
    part = with_outputs(closed, used) if rule is None else rule.program(used)
    program, used_inputs = dce_jaxpr(part.jaxpr, (True,) * sum(used))
    thinned = ClosedJaxpr(program, part.consts)
    return used_inputs, equation.replace(
        invars=chosen(equation.invars, used_inputs),
        outvars=chosen(equation.outvars, used),
        params={**equation.params, "jaxpr": thinned, "rule": _rule_of_part(rule, thinned, used, used_inputs)},
        effects=thinned.effects,
    )


def _rule_of_part(rule: PartRule, part: ClosedJaxpr, used: Sequence[bool], used_inputs: Sequence[bool]) -> PartRule:
    """The rule of the call that is left: it may be thinned again, as by a derivative that needs less of it."""
    if rule is None:
        return None

    def make(used_again: tuple[bool, ...]) -> ClosedJaxpr:
        smaller = rule.program(merged(used, used_again))
        program, inputs = dce_jaxpr(smaller.jaxpr, (True,) * sum(used_again), used_inputs)
        if any([needed and not there for needed, there in zip(inputs, used_inputs, strict=True)]):
            return with_outputs(part, used_again)  # for less the rule takes inputs that went already
        return ClosedJaxpr(program, smaller.consts)

    return PartRule(part, str(rule), make)
