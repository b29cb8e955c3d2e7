"""The rules of collectives of names: other names for axes, and along which axes results differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import as_tuple, names_among
from tangrad._collectives.named_axes import as_substitution, renamed_axes
from tangrad.core import RuleSet
from tangrad.typing import Params

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from tangrad._collectives.named_axes import Names

axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(p.psum_p, p.pmax_p, p.pmin_p)
def _(params: Params, subst: Callable[[Hashable], Names]) -> Params:
    return {**params, "axes": renamed_axes(params["axes"], subst, "a reduction")}


@axis_subst.rule(p.psum_to_p, p.psum_back_p)
def _(params: Params, subst: Callable[[Hashable], Names]) -> Params:
    return {"axes": renamed_axes(params["axes"], subst, "a sum of cotangents")}


@axis_subst.rule(p.pinvary_p)
def _(params: Params, subst: Callable[[Hashable], Names]) -> Params:
    return {"axes": renamed_axes(params["axes"], subst, "a mark")}


@axis_subst.rule(p.pvary_p)
def _(params: Params, subst: object) -> Params:
    substitution = as_substitution(subst)
    found: list[tuple[Hashable, int]] = []
    for name, size in params["axes"]:
        names = substitution(name)
        found.extend([(new, size if len(names) == 1 else substitution.size(new)) for new in names])
    return {"axes": tuple(found)}


@axis_subst.rule(p.all_gather_p, p.reduce_scatter_p, p.all_to_all_p, p.ppermute_p, p.pbroadcast_p, p.axis_index_p)
def _(params: Params, subst: Callable[[Hashable], Names]) -> Params:
    return {**params, "axis_name": renamed_axes(params["axis_name"], subst, "a collective")}


# Along which mapped axes results differ: reductions make them equal, most others do not.
replication = RuleSet("replication", api=1)


@replication.rule(p.psum_p, p.pmax_p, p.pmin_p)
def _(varying: Sequence[frozenset[Hashable]], params: Params) -> frozenset[Hashable]:
    if params["axis_index_groups"] is not None:  # each group has a value of its own
        return varying[0] | frozenset(names_among(params["axes"]))
    return varying[0] - frozenset(names_among(params["axes"]))


@replication.rule(p.all_gather_p)
def _(varying: Sequence[frozenset[Hashable]], params: Params) -> frozenset[Hashable]:
    names = frozenset(as_tuple(params["axis_name"]))
    return varying[0] | names if params["axis_index_groups"] is not None else varying[0] - names


@replication.rule(p.pvary_p)
def _(varying: Sequence[frozenset[Hashable]], params: Params) -> frozenset[Hashable]:
    return varying[0] | frozenset([name for name, _ in params["axes"]])


@replication.rule(p.pbroadcast_p)
def _(varying: Sequence[frozenset[Hashable]], params: Params) -> frozenset[Hashable]:
    return varying[0] - frozenset(as_tuple(params["axis_name"]))


@replication.rule(p.pinvary_p)
def _(varying: Sequence[frozenset[Hashable]], params: Params) -> frozenset[Hashable]:
    return varying[0] - frozenset(params["axes"])
