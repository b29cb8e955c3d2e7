"""The arithmetic of batching itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.kernels import composed
from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions


lower = RuleSet("lower.numpy", api=1)


@composed(lower, move_axis_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, source: int, destination: int) -> Value:
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(destination, source)
    return ctx.transpose(x, order)


@composed(lower, broadcast_axis_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, shape: Dimensions, positions: tuple[int, ...]) -> Value:
    if x.ndim > len(positions):  # keys: the dimensions of their words stay last
        words = range(len(positions), x.ndim)
        positions = (*positions, *range(len(shape), len(shape) + len(words)))
        shape = (*shape, *[x.shape[axis] for axis in words])
    if list(positions) == sorted(positions):
        return ctx.broadcast(x, shape, positions)
    order = sorted(range(x.ndim), key=lambda axis: positions[axis])
    return ctx.broadcast(ctx.transpose(x, order), shape, sorted(positions))


@composed(lower, sum_axes_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, axes: tuple[int, ...]) -> Value:
    return ctx.reduce(np.add, x, axes)
