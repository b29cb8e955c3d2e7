"""Samples of the primitives that batching itself needs, for the conformance kit."""

from __future__ import annotations

from tangrad._batching.trace import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.conformance import Sample, draw


def samples() -> list[Sample]:
    """All of them."""
    return [
        Sample(move_axis_p, (draw(2, 3, 4),), {"source": 0, "destination": 2}),
        Sample(move_axis_p, (draw(2, 3, dtype="int32"),), {"source": 1, "destination": 0}),
        Sample(broadcast_axis_p, (draw(2, 3),), {"shape": (2, 4, 3), "positions": (0, 2)}),
        Sample(broadcast_axis_p, (draw(dtype="complex64"),), {"shape": (3,), "positions": ()}),
        Sample(sum_axes_p, (draw(2, 3, 4),), {"axes": (0, 2)}),
        Sample(sum_axes_p, (draw(2, 3, dtype="int32"),), {"axes": (1,)}),
    ]
