"""`make_mesh`: a mesh of the devices that there are."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.core import get_backend
from tangrad.shardings.mesh import Mesh


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    *,
    devices: Sequence[Any] | None = None,
    axis_types: Any = None,
) -> Mesh:
    """A mesh with axes of these sizes, over the first devices that there are.

    Args:
        axis_shapes: the sizes of the axes.
        axis_names: their names.
        devices: the devices to take, in order; default: those of the backend in use.
        axis_types: see `Mesh`.

    Raises ValueError where there are too few devices, or other numbers of sizes and names.

    >>> import tangrad
    >>> tangrad.make_mesh((1, 1), ("data", "model")).shape
    OrderedDict([('data', 1), ('model', 1)])
    """
    try:
        sizes = tuple([operator.index(size) for size in axis_shapes])
    except TypeError:
        raise TypeError(f"make_mesh: axis_shapes must be a sequence of integers, got {axis_shapes!r}") from None
    names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
    if len(sizes) != len(names):
        raise ValueError(f"make_mesh: axis_shapes {sizes} and axis_names {names} must be of the same length")
    if any([size < 1 for size in sizes]):
        raise ValueError(f"make_mesh: the axes of a mesh must have positive sizes, got {sizes}")
    found = list(get_backend().devices() if devices is None else devices)
    count = math.prod(sizes)
    if count > len(found):
        raise ValueError(
            f"make_mesh: a mesh of shape {sizes} needs {count} devices, and there are {len(found)}: {found}"
        )
    grid = np.empty(count, object)
    grid[:] = found[:count]
    return Mesh(grid.reshape(sizes), names, axis_types)
