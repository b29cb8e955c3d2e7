"""How results of batching's own arithmetic are sharded."""

from __future__ import annotations

from typing import Any

from tangrad._batching import primitives as p
from tangrad.core import RuleSet
from tangrad.extend.sharding import dropping

sharding = RuleSet("sharding", api=1)
dropping("axes", sharding, p.sum_axes_p)


@sharding.rule(p.move_axis_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    axes = list(operands[0].axes)
    axes.insert(params["destination"], axes.pop(params["source"]))
    return (tuple(axes),)


@sharding.rule(p.broadcast_axis_p)
def _(operands: Any, results: Any, params: Any) -> Any:
    axes: list[tuple[Any, ...]] = [()] * results[0].ndim
    for cut, place in zip(operands[0].axes, params["positions"], strict=True):
        axes[place] = cut
    return (tuple(axes),)
