"""Dimensions split and joined: how groups and mapped axes get into dimensions that a convolution has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._lax.structure.primitives import reshape_p
from tangrad.typing import Value

if TYPE_CHECKING:
    from tangrad.core import Array


def split_axis(value: Value, axis: int, count: int) -> Array:
    """An axis as two, the first of which has `count` elements."""
    shape = value.aval.shape
    sizes = (*shape[:axis], count, shape[axis] // count, *shape[axis + 1 :])
    return reshape_p.bind(value, new_sizes=sizes, dimensions=None)


def join_axis(value: Value, source: int, target: int) -> Array:
    """One axis taken out and joined to another, before its elements; `target` is counted without the first."""
    shape = value.aval.shape
    order = [axis for axis in range(len(shape)) if axis != source]
    sizes = [shape[axis] for axis in order]
    sizes[target] = shape[source] * sizes[target]
    order.insert(target, source)
    in_order = order == list(range(len(shape)))
    return reshape_p.bind(value, new_sizes=tuple(sizes), dimensions=None if in_order else tuple(order))
