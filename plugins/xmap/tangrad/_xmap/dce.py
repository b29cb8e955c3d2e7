"""Dead code in mapped programs: unused results and arguments are removed. The axes stay, with their sizes."""

from __future__ import annotations

from itertools import compress
from typing import Any

from tangrad._xmap.primitives import xmap_p
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, equation_effects, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(xmap_p)
def _(used_outputs: Any, equation: JaxprEqn) -> Any:
    params, used = equation.params, tuple(used_outputs)
    closed = params["jaxpr"]
    if not any(used) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    invars = tuple(compress(equation.invars, used_inputs))
    thinned = {
        **params,
        "jaxpr": program,
        "in_axes": tuple(compress(params["in_axes"], used_inputs)),
        "out_axes": tuple(compress(params["out_axes"], used)),
        "sums": tuple(compress(params["sums"], used)),
    }
    effects = equation_effects(xmap_p, tuple([atom.aval for atom in invars]), thinned)
    outvars = tuple(compress(equation.outvars, used))
    return used_inputs, equation.replace(invars=invars, outvars=outvars, params=thinned, effects=effects)


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> Any:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
