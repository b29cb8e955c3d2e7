"""The rules of sharded maps that are short: how results are sharded, and dead code."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad.core import ClosedJaxpr, RuleSet, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad.typing import Params

sharding = RuleSet("sharding", api=1)


@sharding.rule(shard_map_p)
def _(operands: Any, results: Any, params: Params) -> Any:
    """As `out_specs` say."""
    return results


dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(shard_map_p)
def _(used_outputs: Any, equation: Any) -> Any:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    params, used = equation.params, tuple(used_outputs)
    closed = params["jaxpr"]
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    new = equation.replace(
        invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
        outvars=[var for var, is_used in zip(equation.outvars, used, strict=True) if is_used],
        params={
            **params,
            "jaxpr": program,
            "in_shardings": tuple(compress(params["in_shardings"], used_inputs)),
            "out_shardings": tuple(compress(params["out_shardings"], used)),
        },
    )
    return used_inputs, new


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> Any:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    if all(used) and all(used_inputs) and len(jaxpr.eqns) == len(closed.eqns):
        return closed, used_inputs  # the same object: what was compiled of it stays good
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
