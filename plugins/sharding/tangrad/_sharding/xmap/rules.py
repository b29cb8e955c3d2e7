"""The rules of mapped programs but for derivatives: other names for axes, one more axis, and dead code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._sharding.xmap.axes import Positions
from tangrad._sharding.xmap.primitives import in_scope, xmap_p
from tangrad.batching import AxisInfo, batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, equation_effects, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.collectives import subst_under_binder

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Dims, Params, Values


axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(xmap_p)
def _(params: Params, subst: object) -> Params:
    bound = tuple([name for name, _ in params["sizes"]])
    jaxpr, names = subst_under_binder(params["jaxpr"], subst, bound)
    if jaxpr is params["jaxpr"]:
        return params
    new = dict(zip(bound, names, strict=True))

    def renamed(axes: tuple[Positions, ...]) -> tuple[Positions, ...]:
        return tuple([tuple([(new[name], position) for name, position in positions]) for positions in axes])

    return {
        **params,
        "jaxpr": jaxpr,
        "in_axes": renamed(params["in_axes"]),
        "out_axes": renamed(params["out_axes"]),
        "sums": tuple([tuple([new[name] for name in names]) for names in params["sums"]]),
        "sizes": tuple([(new[name], size) for name, size in params["sizes"]]),
        "resources": tuple([(new[name], assigned) for name, assigned in params["resources"]]),
    }


batch = RuleSet("batch", api=1)


@batch.rule(xmap_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    in_axes: Sequence[Positions],
    out_axes: Sequence[Positions],
    **params: Any,
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    mapped = tuple([dim is not None for dim in dims])
    if axis_info.name in dict(params["sizes"]):  # the program means its own axis of that name
        axis_info = AxisInfo(None, axis_info.size, axis_info.spmd_name)
    with in_scope(params["sizes"]):
        program, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    outs = xmap_p.bind(
        *[to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)],
        jaxpr=program,
        in_axes=tuple([_after(axes, moved) for axes, moved in zip(in_axes, mapped, strict=True)]),
        out_axes=tuple([_after(axes, moved) for axes, moved in zip(out_axes, out_mapped, strict=True)]),
        **params,
    )
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])


def _after(positions: Positions, is_mapped: bool) -> Positions:
    """The named dimensions after one more in front."""
    return tuple([(name, position + 1) for name, position in positions]) if is_mapped else positions


dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(xmap_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
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


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
