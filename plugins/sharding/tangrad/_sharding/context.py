"""The mesh in use: the one that partition specs without a mesh of their own mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import local

import numpy as np

from tangrad._sharding.mesh import AbstractMesh, AxisType, Mesh, changed_types, mesh_in_use
from tangrad.core import EVAL_TRACE, Sharding, class_boundary, composition, get_backend, thread
from tangrad.core.settings import SETTINGS

EMPTY_MESH = Mesh(np.empty((), object), ())


class MissingMeshError(RuntimeError, ValueError):
    """A partition spec was given where no mesh is in use: what JAX raises by two classes."""


def current_mesh() -> Mesh:
    """The mesh in use; the empty mesh where there is none."""
    found = thread.mesh
    return EMPTY_MESH if found is None else found


@class_boundary
class set_mesh:  # noqa: N801 - called as a function
    """Let partition specs mean axes of this mesh: from now on in this thread, or, as a context manager, for a block.

    What nothing has placed on a device is on all devices of the mesh then: new arrays, and results of what is computed.

    Args:
        mesh: a mesh; None: no mesh.

    Raises TypeError for anything else, ValueError for a mesh with `Manual` axes, as maps within them have, and within
    functions that are traced.

    >>> import tangrad
    >>> from tangrad.sharding import PartitionSpec
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("data",))):
    ...     y = tangrad.lax.with_sharding_constraint(tangrad.numpy.ones(4), PartitionSpec("data"))
    >>> y.sum()
    Array(4., dtype=float32)
    """

    __slots__ = ("_mesh", "_overrides")

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh takes a tangrad.sharding.Mesh or None, got {mesh!r}")
        if mesh is not None and mesh.manual_axes and not thread.axis_environment:
            raise ValueError(f"set_mesh: {mesh} contains manual axes, and no map is over {mesh.manual_axes} here")
        if thread.trace is not EVAL_TRACE:
            raise ValueError(
                "set_mesh is for code outside of functions that are traced, whose arrays are placed already; within "
                "them: tangrad.sharding.use_abstract_mesh(mesh.abstract_mesh)"
            )
        self._mesh = mesh
        with ExitStack() as overrides:
            overrides.enter_context(mesh_in_use(mesh))
            overrides.enter_context(SETTINGS["default_device"](place_of(mesh)))
            self._overrides = overrides.pop_all()

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *error: object) -> None:
        self._overrides.close()


def place_of(mesh: Mesh | None) -> object:
    """Where arrays are that nothing places, while a mesh is in use: whole on each device, where it has several."""
    if mesh is not None and mesh.size > 1:
        _beside.device = _device_beside_meshes()
        plugin = composition().find("tangrad.api", "sharding.NamedSharding")
        return None if plugin is None else plugin.load()(mesh, ())
    return _device_beside_meshes()


_beside = local()  # `device`: what the setting `default_device` was in this thread before a mesh took its place


def _device_beside_meshes() -> object:
    """The default device that holds where no mesh is in use."""
    chosen = thread.default_device
    return getattr(_beside, "device", None) if isinstance(chosen, Sharding) else chosen


def use_mesh(mesh: Mesh) -> AbstractContextManager[None]:
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


def on_devices(shape: AbstractMesh, what: str, array: object = None) -> Mesh:
    """The mesh in use; where none is that of an array, or else one of the first devices, to which others are refused.

    Raises ValueError, naming `what` wants it, unless it has this shape, and where there are fewer devices.
    """
    mesh, used = current_mesh(), "the mesh in use"
    own = getattr(getattr(array, "user_sharding", None), "mesh", None)
    if mesh.empty and isinstance(own, Mesh):
        mesh, used = own, "that of the array"
    if mesh.empty and shape.axis_names:
        return Mesh(first_devices(shape, what), shape.axis_names, shape.axis_types)
    if mesh.shape_tuple != shape.shape_tuple:
        raise ValueError(
            f"{what} is for a mesh of the shape of {shape}, and {used} is {mesh}; set one: with tangrad.set_mesh(...)"
        )
    return mesh


def get_abstract_mesh() -> AbstractMesh:
    """The shape of the mesh in use, the empty one where there is none; axes that are mapped here are `Manual`.

    >>> import tangrad
    >>> with tangrad.set_mesh(tangrad.make_mesh((1,), ("data",))):
    ...     tangrad.sharding.get_abstract_mesh()
    AbstractMesh('data': 1, axis_types=(Explicit,))
    """
    mesh = current_mesh()
    mapped = [name for name, _ in thread.axis_environment]
    types = changed_types(mesh, {name: AxisType.Manual for name in mesh.axis_names if name in mapped})
    return AbstractMesh(mesh.axis_sizes, mesh.axis_names, types)


@contextmanager
def use_abstract_mesh(mesh: AbstractMesh) -> Iterator[AbstractMesh]:
    """A context manager: partition specs mean axes of a mesh of this shape.

    Args:
        mesh: the shape. Its devices are those of the mesh in use, in their order; the first ones where there is none.

    Raises TypeError for what is no shape of a mesh, ValueError where there are fewer devices, and for another number
    of them than the mesh in use has.

    >>> from tangrad.sharding import AbstractMesh, get_abstract_mesh, use_abstract_mesh
    >>> with use_abstract_mesh(AbstractMesh((1,), ("data",))):
    ...     get_abstract_mesh()
    AbstractMesh('data': 1)
    """
    if not isinstance(mesh, AbstractMesh):
        raise TypeError(f"use_abstract_mesh takes an AbstractMesh, such as mesh.abstract_mesh, got {mesh!r}")
    used = current_mesh()
    if not used.empty and not mesh.empty and used.size != mesh.size:
        raise ValueError(
            f"use_abstract_mesh cannot change the size of the mesh: {mesh} is of {mesh.size} devices, and the mesh in "
            f"use, {used}, of {used.size}"
        )
    is_known = used.size == mesh.size and not used.empty
    found = used.devices.reshape(mesh.axis_sizes) if is_known else first_devices(mesh, "use_abstract_mesh")
    changed = Mesh(found, mesh.axis_names, mesh.axis_types)
    with ExitStack() as overrides:
        overrides.enter_context(mesh_in_use(changed))
        if isinstance(thread.default_device, Sharding) and thread.trace is EVAL_TRACE:  # new arrays are on the mesh
            overrides.enter_context(SETTINGS["default_device"](place_of(changed)))
        yield mesh


def first_devices(mesh: AbstractMesh, what: str) -> np.ndarray:
    """The first devices in the shape of a mesh. Raises ValueError, naming `what` wants them, where there are fewer."""
    devices = get_backend().devices()
    if mesh.size > len(devices):
        raise ValueError(f"{what}: {mesh} needs {mesh.size} devices, and there are {len(devices)}")
    grid = np.empty(mesh.size, object)
    grid[:] = devices[: mesh.size]
    return grid.reshape(mesh.axis_sizes)
