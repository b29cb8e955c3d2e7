"""`jax.interpreters.batching`: primitives along mapped axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.batching import BatchTracer as BatchTracer
from tangrad.batching import broadcast_axis, elementwise_batch, move_axis
from tangrad.compat.jax.primitives import Primitive
from tangrad.compat.jax.primitives import axis_primitive_batchers as axis_primitive_batchers
from tangrad.compat.jax.primitives import fancy_primitive_batchers as fancy_primitive_batchers
from tangrad.compat.jax.primitives import primitive_batchers as primitive_batchers

not_mapped = None
NotMapped = type(None)


def moveaxis(x: Any, source: Any, destination: int) -> Any:
    """`x` with its mapped axis elsewhere."""
    return move_axis(x, source, destination)


def bdim_at_front(x: Any, dim: int | None, size: int) -> Any:
    """`x` with the mapped axis first, repeated where it has none."""
    return broadcast_axis(x, size, 0) if dim is None else move_axis(x, dim, 0)
