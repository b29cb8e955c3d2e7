"""Values marked as differing along mapped axes, where types record along which they do: within checked `shard_map`s."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._collectives.axes import Axes, size_of_axis
from tangrad._collectives.primitives import axis_index_p, pvary_p
from tangrad.core import Array, as_operand, literal, thread
from tangrad.extend.lax import add, mul
from tangrad.typing import Value

_INT32 = np.dtype(np.int32)


def differing(x: Value, names: Axes) -> Value:
    """An operand, of a type that says that it differs along the axes; itself, where types do not record it."""
    typed = thread.typed_axes
    if typed is None:
        return x
    operand = as_operand(x)
    known = [name for name, _ in operand.aval.named_shape]
    missing = [name for name in names if name in typed.names and name not in known]
    if not missing:
        return operand
    return pvary_p.bind(operand, axes=tuple([(name, size_of_axis("pvary", name)) for name in missing]))


def index_along(name: Any) -> Value:
    """The index of the example along one mapped axis."""
    return differing(axis_index_p.bind(axis_name=name), (name,))


def joint_index(names: Axes) -> Array:
    """The index along several axes, the first one varying slowest; each of them by itself."""
    total: Any = literal(0, _INT32, True)
    below: Any = 1
    for name in reversed(names):
        total = add(total, mul(index_along(name), below))
        below = below * size_of_axis("axis_index", name)
    return total
