"""Meshes: devices in a grid whose axes have names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from tangrad._sharding.abstract import AbstractMesh
from tangrad._sharding.mesh_axes import AxisType, MeshAxes, changed_types, checked_types
from tangrad.core import Device, class_boundary, copy_identity
from tangrad.core.backends import is_addressable
from tangrad.core.settings import define_setting

P = ParamSpec("P")
R = TypeVar("R")


@class_boundary
class Mesh(MeshAxes):
    """Devices in a grid whose axes have names. As a context manager, the mesh that partition specs mean.

    Args:
        devices: an array of devices, or nested lists of them, with one dimension for each name.
        axis_names: the names of its dimensions: any hashable objects but None; a string stands for a tuple of one.
        axis_types: an `AxisType` for each axis, or one for all; default: `AxisType.Auto`.

    Raises:
        ValueError: for another number of names or types than dimensions, a name or a device that is there twice, a name
            that is None.
        TypeError: for what is not a device, and what is no type of axes.

    >>> import tangrad
    >>> from tangrad.sharding import Mesh
    >>> mesh = Mesh(tangrad.devices()[:1], ("data",))
    >>> mesh.shape["data"], mesh.size
    (1, 1)
    """

    __slots__ = ("__weakref__", "_key", "axis_names", "axis_types", "devices")
    devices: np.ndarray
    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]
    _key: tuple[Any, ...]

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None) -> None:
        grid = _device_grid(devices)
        names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        _check(grid, names)
        grid.flags.writeable = False
        store = object.__setattr__
        store(self, "devices", grid)
        store(self, "axis_names", names)
        store(self, "axis_types", checked_types(axis_types, names))
        store(self, "_key", (names, grid.shape, self.axis_types, tuple([id(device) for device in grid.flat])))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a mesh cannot be changed; make another one: Mesh(devices, axis_names), not {name} = ...")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> Any:
        raise TypeError(f"{self} belongs to the devices of this process, so it cannot be pickled")

    @property
    def axis_sizes(self) -> tuple[int, ...]:  # type: ignore[override]
        """The sizes of the axes."""
        return self.devices.shape

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Its shape: names, sizes and types of the axes, without devices."""
        return AbstractMesh.of(self)

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> Mesh:
        """The same devices, with other types of some axes. Raises ValueError for an axis that there is none of."""
        return Mesh(self.devices, self.axis_names, changed_types(self, name_to_type))

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """Another mesh, which differs in what is given. Raises as the class does.

        >>> import tangrad
        >>> tangrad.make_mesh((1,), ("data",)).update(axis_names=("model",)).axis_names
        ('model',)
        """
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def device_order(self) -> tuple[Device, ...]:
        """The devices, the last axis varying fastest."""
        return tuple(self.devices.flat)

    @property
    def device_ids(self) -> np.ndarray:
        """The numbers of the devices, in the grid."""
        return np.array([device.id for device in self.devices.flat], int).reshape(self.devices.shape)

    @property
    def local_devices(self) -> list[Device]:
        """The devices that this process reaches, in the order of the grid."""
        return [device for device in self.devices.flat if is_addressable(device)]

    @property
    def is_multi_process(self) -> bool:
        """Whether it has devices of several processes."""
        return len(self.local_devices) != self.devices.size

    @property
    def local_mesh(self) -> Mesh:
        """The part of the grid that this process reaches. Raises ValueError where that is no grid."""
        if self.empty or not self.is_multi_process:
            return self
        mine = np.vectorize(is_addressable, otypes=[bool])(self.devices)
        part = tuple([slice(int(where.min()), int(where.max()) + 1) for where in np.nonzero(mine)])
        if not mine[part].all():
            raise ValueError(f"the devices of this process are no grid within {self}")
        return Mesh(self.devices[part], self.axis_names, self.axis_types)

    def __enter__(self) -> Mesh:
        override = mesh_in_use(self)
        override.__enter__()
        _entered.stack = (*_entered.stack, override)
        return self

    def __exit__(self, *error: object) -> None:
        *rest, override = _entered.stack
        _entered.stack = tuple(rest)
        override.__exit__(*error)

    def __call__(self, func: Callable[P, R]) -> Callable[P, R]:
        """As a decorator: the function is called with this mesh in use."""
        if not callable(func):
            raise TypeError(f"{self} as a decorator takes a function, got {func!r}")

        def with_mesh(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return func(*args, **kwargs)

        return copy_identity(with_mesh, func)

    def __str__(self) -> str:
        return self._described("Mesh")

    def __repr__(self) -> str:
        types = "" if self.are_all_axes_auto else f", axis_types={self.axis_types}"
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"


class _Entered(threading.local):
    """The `with mesh:` blocks that a thread is in."""

    stack: tuple[Any, ...] = ()


_entered = _Entered()


def _refuse_text(text: str) -> Any:
    raise ValueError("a mesh is made of devices, so only code can set it: with tangrad.set_mesh(mesh): ...")


def _checked_mesh(value: Any) -> Any:
    if value is not None and not isinstance(value, Mesh):
        raise TypeError("expected a tangrad.sharding.Mesh or None")
    return value


mesh_in_use = define_setting(
    "mesh",
    None,
    "The mesh that partition specs mean; `with mesh:` sets it for a block of code.",
    parse=_refuse_text,
    check=_checked_mesh,
    changes_results=True,
)


def _device_grid(devices: Any) -> np.ndarray:
    """The devices as an array of objects of its own."""
    if isinstance(devices, np.ndarray):
        grid = devices.astype(object)
    else:
        grid = np.empty(_nested_shape(devices), object)
        for position in np.ndindex(grid.shape):
            item = devices
            for index in position:
                item = item[index]
            grid[position] = item
    return grid


def _nested_shape(devices: Any) -> tuple[int, ...]:
    if not isinstance(devices, Sequence) or isinstance(devices, str):
        return ()
    inner = {_nested_shape(item) for item in devices}
    if len(inner) > 1:
        raise ValueError(f"the devices of a mesh must be a grid, got lists of different lengths: {devices!r}")
    return (len(devices), *(inner.pop() if inner else ()))


def _check(grid: np.ndarray, names: tuple[Any, ...]) -> None:
    if grid.ndim != len(names):
        raise ValueError(
            f"a mesh needs one axis name for each dimension of its devices, got {grid.ndim} dimensions, of sizes "
            f"{grid.shape}, and {len(names)} names, {names}"
        )
    for number, name in enumerate(names):
        if name is None:
            raise ValueError(f"the name of a mesh axis must not be None, got {names}")
        if name in names[:number]:
            raise ValueError(f"the axes of a mesh need different names, got {name!r} twice: {names}")
    seen: set[Any] = set()
    for device in grid.flat if grid.ndim else ():
        if not isinstance(device, Device):
            raise TypeError(f"a mesh is made of devices (tangrad.devices()), got {device!r}")
        if device in seen:
            raise ValueError(f"each device can be in a mesh once, got {device!r} twice")
        seen.add(device)
