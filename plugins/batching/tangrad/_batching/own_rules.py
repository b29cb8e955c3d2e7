"""The batch rules of batching's own family."""

from __future__ import annotations

from typing import Any

from tangrad._batching.axes import move_axis
from tangrad._batching.primitives import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad._batching.rule_helpers import reduction_batch
from tangrad.core import RuleSet

batch = RuleSet("batch", api=1)
reduction_batch(batch, sum_axes_p)


@batch.rule(move_axis_p)
def _(args: Any, dims: Any, *, axis_info: Any, source: int, destination: int) -> Any:
    value = move_axis(args[0], dims[0], 0)
    return move_axis_p.bind(value, source=source + 1, destination=destination + 1), 0


@batch.rule(broadcast_axis_p)
def _(args: Any, dims: Any, *, axis_info: Any, shape: Any, positions: Any) -> Any:
    value = move_axis(args[0], dims[0], 0)
    return broadcast_axis_p.bind(value, shape=(axis_info.size, *shape), positions=(0, *[p + 1 for p in positions])), 0
