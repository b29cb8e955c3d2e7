"""The arithmetic of batching itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._backend_numpy.kernels import composed
from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet

lower = RuleSet("lower.numpy", api=1)


@composed(lower, move_axis_p, any_sizes=True)
def _(ctx: Any, x: Any, *, source: int, destination: int) -> Any:
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(destination, source)
    return ctx.transpose(x, order)


@composed(lower, broadcast_axis_p, any_sizes=True)
def _(ctx: Any, x: Any, *, shape: Any, positions: Any) -> Any:
    if x.ndim > len(positions):  # keys: the dimensions of their words stay last
        words = range(len(positions), x.ndim)
        positions = (*positions, *range(len(shape), len(shape) + len(words)))
        shape = (*shape, *[x.shape[axis] for axis in words])
    if list(positions) == sorted(positions):
        return ctx.broadcast(x, shape, positions)
    order = sorted(range(x.ndim), key=lambda axis: positions[axis])
    return ctx.broadcast(ctx.transpose(x, order), shape, sorted(positions))


@composed(lower, sum_axes_p, any_sizes=True)
def _(ctx: Any, x: Any, *, axes: Any) -> Any:
    return ctx.reduce(np.add, x, axes)
