"""Collectives with other names for the axes that they act along."""

from __future__ import annotations

from typing import Any

from tangrad.collectives.primitives import (
    all_gather_p,
    all_to_all_p,
    axis_index_p,
    pbroadcast_p,
    pmax_p,
    pmin_p,
    ppermute_p,
    psum_p,
    reduce_scatter_p,
)
from tangrad.core import RuleSet
from tangrad.named_axes import renamed_axes

axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(psum_p, pmax_p, pmin_p)
def _(params: Any, subst: Any) -> Any:
    return {**params, "axes": renamed_axes(params["axes"], subst, "a reduction")}


@axis_subst.rule(all_gather_p, reduce_scatter_p, all_to_all_p, ppermute_p, pbroadcast_p, axis_index_p)
def _(params: Any, subst: Any) -> Any:
    return {**params, "axis_name": renamed_axes(params["axis_name"], subst, "a collective")}
