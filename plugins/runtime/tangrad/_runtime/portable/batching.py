"""The arithmetic of batching, as common primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import Array, RuleSet
from tangrad.extend.lax import broadcast_in_dim_p, reduce_sum_p, transpose_p

if TYPE_CHECKING:
    from tangrad.typing import Value


portable = RuleSet("portable", api=1)


def _move_axis(x: Value, *, source: int, destination: int) -> Array:
    order = list(range(len(x.aval.shape)))
    order.insert(destination, order.pop(source))
    return transpose_p.bind(x, permutation=tuple(order))


portable.table(
    {
        move_axis_p: _move_axis,
        broadcast_axis_p: lambda x, *, shape, positions: broadcast_in_dim_p.bind(
            x, shape=shape, broadcast_dimensions=positions
        ),
        sum_axes_p: lambda x, *, axes: reduce_sum_p.bind(x, axes=axes),
    }
)
