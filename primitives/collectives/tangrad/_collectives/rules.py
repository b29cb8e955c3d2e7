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
sharding.form("linear", p.psum_back_p)


def _along(
    operands: Sequence[Operand], results: Sequence[ShapedArray], names: Sequence[Hashable], cuts: Cuts, does: str
) -> tuple[ShapedArray, ...]:
    """The type of a result that is cut so. Along the axes nothing is left to be combined; see `of_collective`."""
    return (operands[0].aval.of_collective(results[0], cuts, names, does),)


@sharding.rule(p.ppermute_p, p.pbroadcast_p, p.pinvary_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    names = as_tuple(params["axis_name" if "axis_name" in params else "axes"])
    return _along(operands, results, names, operands[0].axes, "exchanges")


@sharding.rule(p.pvary_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    return _along(operands, results, (), operands[0].axes, "exchanges")


@sharding.rule(p.psum_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    return _along(operands, results, names_among(params["axes"]), _left(operands, params), _sums(params))


@sharding.rule(p.pmax_p, p.pmin_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    return _along(operands, results, names_among(params["axes"]), _left(operands, params), "extremes")


def _sums(params: Params) -> str:
    """What a sum does to shares: one of a group is not that of all."""
    return "sums" if params["axis_index_groups"] is None else "exchanges"


def _left(operands: Sequence[Operand], params: Params) -> Cuts:
    return tuple([cut for at, cut in enumerate(operands[0].axes) if at not in params["axes"]])


@sharding.rule(p.psum_to_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return (operands[0].axes,)


@sharding.rule(p.axis_index_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[Cuts, ...]:
    return ((),)


@sharding.rule(p.all_gather_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    dimension, axes = params["all_gather_dimension"], operands[0].axes
    cuts = _whole(operands[0], dimension) if params["tiled"] else (*axes[:dimension], (), *axes[dimension:])
    return _along(operands, results, as_tuple(params["axis_name"]), cuts, "exchanges")


@sharding.rule(p.reduce_scatter_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    dimension = params["scatter_dimension"]
    axes = _whole(operands[0], dimension)
    cuts = axes if params["tiled"] else (*axes[:dimension], *axes[dimension + 1 :])
    return _along(operands, results, as_tuple(params["axis_name"]), cuts, _sums(params))


@sharding.rule(p.all_to_all_p)
def _(operands: Sequence[Operand], results: Sequence[ShapedArray], params: Params) -> tuple[ShapedArray, ...]:
    cuts = _whole(operands[0], params["split_axis"], params["concat_axis"])
    return _along(operands, results, as_tuple(params["axis_name"]), cuts, "exchanges")


def _whole(operand: Operand, *dimensions: int) -> Cuts:
    """The cuts of an operand, none along dimensions that are joined or divided."""
    return tuple([() if at in dimensions else cut for at, cut in enumerate(operand.axes)])
