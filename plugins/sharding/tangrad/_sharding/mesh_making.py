"""Meshes of the devices that there are, and arrangements of devices for them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._sharding.mesh import Mesh
from tangrad.core import Device, get_backend


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[Any],
    axis_types: Any = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh with axes of these sizes, over the first devices that there are.

    Args:
        axis_shapes: the sizes of the axes.
        axis_names: their names.
        axis_types: see `Mesh`.
        devices: the devices to take, in order; default: those of the backend in use.

    Raises ValueError where there are too few devices, or other numbers of sizes and names.

    >>> import tangrad
    >>> tangrad.make_mesh((1, 1), ("data", "model")).shape["data"]
    1
    """
    sizes = _sizes(axis_shapes, "make_mesh: axis_shapes")
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
    return Mesh(_grid(found[:count], sizes), names, axis_types)


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices to make a `Mesh` of, in which devices that follow one another are neighbours along the last
    axis.

    Args:
        mesh_shape: the sizes of the axes, by increasing traffic along them.
        devices: all devices of the mesh; default: those of the backend in use.
        contiguous_submeshes, allow_split_physical_axes: for devices that are wired as a grid; on processors and GPUs
            nothing depends on them.

    Returns:
        a NumPy array of devices, of shape `mesh_shape`.

    Raises ValueError unless there are as many devices as places, TypeError for sizes that are no integers.

    >>> import tangrad
    >>> from tangrad.experimental.mesh_utils import create_device_mesh
    >>> create_device_mesh((1, 1), tangrad.devices()[:1]).shape
    (1, 1)
    """
    sizes = _sizes(mesh_shape, "create_device_mesh: mesh_shape")
    found = list(get_backend().devices() if devices is None else devices)
    if any([size < 1 for size in sizes]) or math.prod(sizes) != len(found):
        raise ValueError(
            f"create_device_mesh: a mesh of shape {sizes} has {math.prod(sizes)} places, and there are {len(found)} "
            f"devices; name those to use: devices=..."
        )
    return _grid(found, sizes)


def _sizes(given: Any, what: str) -> tuple[int, ...]:
    try:
        return tuple([operator.index(size) for size in given])
    except TypeError:
        raise TypeError(f"{what} must be a sequence of integers, got {given!r}") from None


def _grid(devices: Sequence[Device], sizes: tuple[int, ...]) -> np.ndarray:
    grid = np.empty(len(devices), object)
    grid[:] = devices
    return grid.reshape(sizes)
