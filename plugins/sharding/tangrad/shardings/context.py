"""The mesh in use: the one that partition specs without a mesh of their own mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.core import thread
from tangrad.shardings.mesh import Mesh, mesh_in_use

EMPTY_MESH = Mesh(np.empty((), object), ())


def current_mesh() -> Mesh:
    """The mesh in use; the empty mesh where there is none."""
    found = thread.mesh
    return EMPTY_MESH if found is None else found  # type: ignore[no-any-return]


def set_mesh(mesh: Mesh) -> Any:
    """A context manager in which partition specs mean axes of this mesh, as `with mesh:` does.

    Args:
        mesh: a mesh.

    Raises TypeError for anything else.

    >>> import tangrad
    >>> from tangrad.sharding import PartitionSpec
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("data",))):
    ...     y = tangrad.lax.with_sharding_constraint(tangrad.numpy.ones(4), PartitionSpec("data"))
    >>> y.sum()
    Array(4., dtype=float32)
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"set_mesh takes a tangrad.sharding.Mesh, got {mesh!r}")
    return mesh_in_use(mesh)
