"""Calls with a rule for dead code, where mapped axes get other names: in the programs that their rule makes, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.dead_code import PartRule, custom_dce_call_p
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.collectives import subst_axis_names

if TYPE_CHECKING:
    from tangrad.typing import Params

axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(custom_dce_call_p)
def _(params: Params, subst: Any) -> Any:
    old, rule, name = params["jaxpr"], params["rule"], params["name"]
    whole = subst_axis_names(old, subst)
    if rule is None or whole is old:
        return {**params, "jaxpr": whole}

    def make(used: tuple[bool, ...]) -> ClosedJaxpr:
        return subst_axis_names(rule.program(used), subst)

    return {**params, "jaxpr": whole, "rule": PartRule(whole, name, make)}
