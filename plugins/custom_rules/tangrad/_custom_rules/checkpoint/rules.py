"""The rules of checkpointed calls but for derivatives: their program is mapped, checked, or made smaller."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.checkpoint.primitives import barrier_of, name_p, remat_p
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

batch = RuleSet("batch", api=1)
batch.form("call", remat_p)
batch.form("elementwise", name_p)

checkify = RuleSet("checkify", api=1)
checkify.form("call", remat_p)

# --- dead code: unused results and arguments are removed -----------------------------------------------------------

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(remat_p)
def _(used_outputs: Any, equation: JaxprEqn) -> Any:
    closed, used = equation.params["jaxpr"], tuple(used_outputs)
    if not any(used) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    barrier = barrier_of(
        equation.params["prevent_cse"], [position for position, is_used in enumerate(used_inputs) if is_used]
    )
    new = equation.replace(
        invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
        outvars=[var for var, is_used in zip(equation.outvars, used, strict=True) if is_used],
        params={**equation.params, "jaxpr": program, "prevent_cse": barrier},
        effects=program.effects,
    )
    return used_inputs, new


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> Any:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
