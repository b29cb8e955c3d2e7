"""Jit as a plugin, and the rules of a call: its program is mapped, checked, masked, or made smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._jit.primitives import hinted_p, jit_p, tagged_p
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, Transformation, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

jit = Transformation("jit", api=1, doc="staging out and compilation (jit, make_jaxpr, eval_shape)")


batch = RuleSet("batch", api=1)
batch.form("call", jit_p, hinted_p)
batch.form("elementwise", tagged_p)

checkify = RuleSet("checkify", api=1)
checkify.form("call", jit_p, hinted_p)

mask = RuleSet("mask", api=1)
mask.form("call", jit_p, hinted_p)
mask.form("whole", tagged_p)

# --- dead code ---

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(jit_p, hinted_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    closed = equation.params["jaxpr"]
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    used = tuple(used_outputs)
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    new = equation.replace(
        invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
        outvars=[var for var, is_used in zip(equation.outvars, used, strict=True) if is_used],
        params={**equation.params, "jaxpr": program},
        effects=program.effects,
    )
    return used_inputs, new


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    if all(used) and all(used_inputs) and len(jaxpr.eqns) == len(closed.eqns):
        return closed, used_inputs  # the same object: what was compiled of it stays good
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
