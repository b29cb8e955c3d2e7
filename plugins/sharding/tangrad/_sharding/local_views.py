"""Arrays over the devices of several processes, and what one process has of them as an array of its own."""

from __future__ import annotations

import math
from typing import Any

from tangrad._sharding.making import make_array_from_process_local_data, make_array_from_single_device_arrays
from tangrad._sharding.mesh import Mesh
from tangrad._sharding.named import NamedSharding, PartitionSpec, axes_of
from tangrad.core import Array


def global_array(value: Any, mesh: Mesh, spec: PartitionSpec) -> Array:
    """The array over a mesh of which each process has `value`; parts that are on its devices already are not copied.

    Args:
        value: an array that this process can read, or a NumPy array: what the devices of this process hold, side by
            side.

    Raises ValueError for a shape that its devices cannot share.
    """
    sharding = NamedSharding(mesh, spec)
    if not isinstance(value, Array):
        return make_array_from_process_local_data(sharding, value)
    user_sharding = getattr(value, "user_sharding", None)
    if user_sharding is None or not user_sharding.is_equivalent_to(NamedSharding(mesh.local_mesh, spec), value.ndim):
        return make_array_from_process_local_data(sharding, value.to_numpy())
    parts = type(value).backend.parts(value)
    return make_array_from_single_device_arrays(_scaled(value.shape, spec, mesh.local_mesh, mesh), sharding, parts)


def local_array(array: Any, mesh: Mesh, spec: PartitionSpec) -> Array:
    """This process's part of an array that is sharded over a mesh, as an array over its part of the mesh."""
    here = mesh.local_mesh
    parts = type(array).backend.parts(array)
    shape = _scaled(array.shape, spec, mesh, here)
    return make_array_from_single_device_arrays(shape, NamedSharding(here, spec), parts)


def _scaled(shape: tuple[int, ...], spec: PartitionSpec, source: Mesh, target: Mesh) -> tuple[int, ...]:
    """The shape of arrays over another mesh, whose devices hold parts of the same shape."""
    found = list(shape)
    for dimension, entry in enumerate(spec):
        counts = [math.prod([mesh.shape[axis] for axis in axes_of(entry)]) for mesh in (source, target)]
        found[dimension] = found[dimension] // counts[0] * counts[1]
    return tuple(found)
