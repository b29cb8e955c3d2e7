"""Mapped programs with other names for the axes around them; their own names shadow those, and make way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._xmap.primitives import xmap_p
from tangrad._xmap.specs import Positions
from tangrad.core import RuleSet
from tangrad.extend.collectives import subst_under_binder

if TYPE_CHECKING:
    from tangrad.typing import Params

axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(xmap_p)
def _(params: Params, subst: Any) -> Any:
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
