"""The arithmetic of batching on padded arrays."""

from __future__ import annotations

from typing import Any

from tangrad._batching.primitives import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet
from tangrad.extend.masking import Sizes, filled, whole

mask = RuleSet("mask", api=1)
whole(mask, move_axis_p)
filled(mask, sum_axes_p, lambda dtype: 0)


@mask.rule(broadcast_axis_p)
def _(args: Any, shapes: Any, *, sizes: Sizes, shape: Any, positions: Any) -> Any:
    out = broadcast_axis_p.bind(*args, shape=sizes.padded(tuple(shape)), positions=positions)
    return sizes.fill(out, shape, 0)
