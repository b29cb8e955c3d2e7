"""The rules of collectives of names: other names for axes, along which axes results differ, how results are sharded."""

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
    from tangrad.core import ShapedArray
    from tangrad.extend.sharding import Axes as Cuts
    from tangrad.extend.sharding import Operand

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


# How results are sharded along explicit axes of a mesh, where others are mapped: a collective changes the parts that
# devices hold of dimensions, each of which goes along with its cut unless it is joined or divided here.
sharding = RuleSet("sharding", api=1)
sharding.form("positionwise", p.ppermute_p, p.pbroadcast_p, p.pvary_p, p.pinvary_p, p.psum_back_p)


@sharding.rule(p.psum_p, p.pmax_p, p.pmin_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return (tuple([cut for at, cut in enumerate(operands[0].axes) if at not in params["axes"]]),)


@sharding.rule(p.psum_to_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return (operands[0].axes,)


@sharding.rule(p.axis_index_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return ((),)


@sharding.rule(p.all_gather_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    dimension = params["all_gather_dimension"]
    if params["tiled"]:
        return (_whole(operands[0], dimension),)
    return ((*operands[0].axes[:dimension], (), *operands[0].axes[dimension:]),)


@sharding.rule(p.reduce_scatter_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    dimension = params["scatter_dimension"]
    axes = _whole(operands[0], dimension)
    return (axes if params["tiled"] else (*axes[:dimension], *axes[dimension + 1 :]),)


@sharding.rule(p.all_to_all_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return (_whole(operands[0], params["split_axis"], params["concat_axis"]),)


def _whole(operand: Operand, *dimensions: int) -> Cuts:
    """The cuts of an operand, none along dimensions that are joined or divided."""
    return tuple([() if at in dimensions else cut for at, cut in enumerate(operand.axes)])
