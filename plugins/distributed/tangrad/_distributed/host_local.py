"""Between arrays over the devices of all processes, and what one process has of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from tangrad import tree
from tangrad.core import Array
from tangrad.core.backends import as_sharding
from tangrad.extend.sharding import global_array, local_array
from tangrad.sharding import Mesh, NamedSharding
from tangrad.tree_util import flatten_axes
from tangrad.typing import ArrayLike, PyTree

T = TypeVar("T")


@overload
def host_local_array_to_global_array(local_inputs: ArrayLike, global_mesh: Mesh, pspecs: Any) -> Array: ...
@overload
def host_local_array_to_global_array(local_inputs: T, global_mesh: Mesh, pspecs: Any) -> T: ...
def host_local_array_to_global_array(local_inputs: PyTree, global_mesh: Mesh, pspecs: Any) -> PyTree:
    """Arrays over a mesh of all processes, of what each process has of them.

    Args:
        local_inputs: a tree of arrays that this process can read: what its devices hold, side by side.
        global_mesh: the mesh.
        pspecs: a partition spec, or a tree of them that is a prefix of `local_inputs`.

    Returns:
        the tree, with arrays over the mesh; parts that are on their devices already are not copied.

    Raises ValueError for shapes that the devices of this process cannot share, TypeError for what is no mesh.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.multihost_utils import host_local_array_to_global_array
    >>> mesh = tangrad.make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(np.arange(3), mesh, tangrad.P("x"))
    Array([0, 1, 2], dtype=int32)
    """
    return _mapped("host_local_array_to_global_array", global_array, local_inputs, global_mesh, pspecs)


@overload
def global_array_to_host_local_array(global_inputs: ArrayLike, global_mesh: Mesh, pspecs: Any) -> Array: ...
@overload
def global_array_to_host_local_array(global_inputs: T, global_mesh: Mesh, pspecs: Any) -> T: ...
def global_array_to_host_local_array(global_inputs: PyTree, global_mesh: Mesh, pspecs: Any) -> PyTree:
    """What this process has of arrays over a mesh of all processes, as arrays over its own part of the mesh.

    Args:
        global_inputs: a tree of arrays.
        global_mesh: the mesh.
        pspecs: how they are sharded over it, or are to be: a partition spec, or a tree of them that is a prefix of
            `global_inputs`.

    Returns:
        the tree, with arrays that this process can read.

    Raises ValueError for shapes that cannot be cut so, TypeError for what is no mesh.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> from tangrad.experimental.multihost_utils import global_array_to_host_local_array
    >>> mesh = tangrad.make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array(np.arange(3), mesh, tangrad.P("x"))
    Array([0, 1, 2], dtype=int32)
    """

    def localised(value: Any, mesh: Mesh, spec: Any) -> Any:
        return local_array(NamedSharding(mesh, spec).constrain(value), mesh, spec)

    return _mapped("global_array_to_host_local_array", localised, global_inputs, global_mesh, pspecs)


def _mapped(name: str, function: Callable[..., Any], inputs: Any, mesh: Mesh, pspecs: Any) -> Any:
    if not isinstance(mesh, Mesh):
        raise TypeError(f"{name}: global_mesh must be a tangrad.sharding.Mesh, got {mesh!r}")
    leaves, structure = tree.flatten(inputs)
    specs = flatten_axes(f"{name} pspecs", structure, pspecs)
    with mesh:
        shardings = [as_sharding(spec, f"{name}: pspecs") for spec in specs]
    return structure.unflatten([
        function(leaf, mesh, sharding.spec) for leaf, sharding in zip(leaves, shardings, strict=True)
    ])  # fmt: skip
