"""The transposes of batching's own family."""

from __future__ import annotations

from typing import Any

from tangrad._batching.primitives import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.autodiff import linear_transpose_rule
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)


def _undo_move(cotangent: Any, _: Any, source: int, destination: int) -> Any:
    return move_axis_p.bind(cotangent, source=destination, destination=source)


def _undo_broadcast(cotangent: Any, aval: Any, shape: Any, positions: Any) -> Any:
    summed = sum_axes_p.bind(cotangent, axes=tuple([axis for axis in range(len(shape)) if axis not in positions]))
    # The sum leaves the axes in the order of the result; the operand had them in the order of `positions`.
    order = sorted(positions)
    if list(positions) == order:
        return summed
    return broadcast_axis_p.bind(summed, shape=aval.shape, positions=tuple([positions.index(p) for p in order]))


def _undo_sum(cotangent: Any, aval: Any, axes: Any) -> Any:
    kept = tuple([axis for axis in range(aval.ndim) if axis not in axes])
    return broadcast_axis_p.bind(cotangent, shape=aval.shape, positions=kept)


linear_transpose_rule(transpose, move_axis_p, _undo_move)
linear_transpose_rule(transpose, broadcast_axis_p, _undo_broadcast)
linear_transpose_rule(transpose, sum_axes_p, _undo_sum)
