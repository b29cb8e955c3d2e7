"""Along which mapped axes the results of collectives differ: reductions make them equal, most others do not."""

from __future__ import annotations

from typing import Any

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import as_tuple, names_among
from tangrad.core import RuleSet

replication = RuleSet("replication", api=1)


@replication.rule(p.psum_p, p.pmax_p, p.pmin_p)
def _(varying: Any, params: Any) -> Any:
    if params["axis_index_groups"] is not None:  # each group has a value of its own
        return varying[0] | frozenset(names_among(params["axes"]))
    return varying[0] - frozenset(names_among(params["axes"]))


@replication.rule(p.all_gather_p)
def _(varying: Any, params: Any) -> Any:
    names = frozenset(as_tuple(params["axis_name"]))
    return varying[0] | names if params["axis_index_groups"] is not None else varying[0] - names


@replication.rule(p.pvary_p)
def _(varying: Any, params: Any) -> Any:
    return varying[0] | frozenset([name for name, _ in params["axes"]])


@replication.rule(p.pbroadcast_p)
def _(varying: Any, params: Any) -> Any:
    return varying[0] - frozenset(as_tuple(params["axis_name"]))
