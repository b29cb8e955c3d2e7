"""The mesh in use: the one that partition specs without a mesh of their own mean."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tangrad._sharding.mesh import Mesh, mesh_in_use
from tangrad.core import class_boundary, thread

EMPTY_MESH = Mesh(np.empty((), object), ())


def current_mesh() -> Mesh:
    """The mesh in use; the empty mesh where there is none."""
    found = thread.mesh
    return EMPTY_MESH if found is None else found  # type: ignore[no-any-return]


@class_boundary
class set_mesh:  # noqa: N801 - called as a function
    """Let partition specs mean axes of this mesh: from now on in this thread, or, as a context manager, for a block.

    Args:
        mesh: a mesh; None: no mesh.

    Raises TypeError for anything else.

    >>> import tangrad
    >>> from tangrad.sharding import PartitionSpec
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("data",))):
    ...     y = tangrad.lax.with_sharding_constraint(tangrad.numpy.ones(4), PartitionSpec("data"))
    >>> y.sum()
    Array(4., dtype=float32)
    """

    __slots__ = ("_mesh", "_override")

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh takes a tangrad.sharding.Mesh or None, got {mesh!r}")
        self._mesh = mesh
        self._override = mesh_in_use(mesh)
        self._override.__enter__()

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *error: object) -> None:
        self._override.__exit__(*error)


def use_mesh(mesh: Mesh) -> AbstractContextManager[Any]:
    """A context manager in which partition specs mean axes of this mesh, as `with mesh:` does.

    Raises TypeError for what is no mesh.

    >>> import tangrad
    >>> with tangrad.sharding.use_mesh(tangrad.make_mesh((1,), ("data",))):
    ...     tangrad.sharding.get_mesh().axis_names
    ('data',)
    """
    if not isinstance(mesh, Mesh):
        raise TypeError(f"use_mesh takes a tangrad.sharding.Mesh, got {mesh!r}")
    return mesh_in_use(mesh)
