"""Meshes: grids whose axes have names and types, of devices, or without any, for programs that run on any such mesh."""

from __future__ import annotations

import enum
import math
import operator
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from tangrad.core import Device, class_boundary, copy_identity
from tangrad.core.backends import is_addressable
from tangrad.core.settings import define_flag, define_setting

if TYPE_CHECKING:
    from typing import NoReturn


class AxisType(enum.Enum):
    """Who decides how values are sharded along an axis of a mesh.

    `Auto`: the compiler, from the shardings of arguments and constraints. `Explicit`: the program; types of values
    record how they are sharded, and operations determine how their results are. `Manual`: the program, part by part,
    as inside `shard_map`.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


without_unit_axes = define_flag(
    "types_without_axes_of_size_one",
    "Have types record no explicit axes of size 1, along which nothing is cut.",
    changes_results=True,
)


class MeshAxes:
    """What meshes with devices and without have in common. A subclass has the three attributes.

    Attributes:
        axis_names: the names of the axes.
        axis_sizes: their sizes.
        axis_types: an `AxisType` for each.
    """

    __slots__ = ()
    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        """Pairs of a name and a size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape(self) -> OrderedDict[Any, int]:
        """Name of each axis -> its size."""
        return OrderedDict(self.shape_tuple)

    @property
    def size(self) -> int:
        """How many devices there are; of the empty mesh 0."""
        return 0 if self.empty else math.prod(self.axis_sizes)

    @property
    def empty(self) -> bool:
        """Whether it has no axes: the mesh that is in use by default."""
        return not self.axis_names

    @property
    def auto_axes(self) -> tuple[str, ...]:
        """The axes that the compiler decides about."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[str, ...]:
        """The axes that types record."""
        return self._of_type(AxisType.Explicit)

    @property
    def typed_axes(self) -> tuple[str, ...]:
        """The explicit ones that types record now: without those of size 1, by the setting."""
        found = self.explicit_axes
        return tuple([axis for axis in found if self.shape[axis] > 1]) if without_unit_axes.value else found

    @property
    def manual_axes(self) -> tuple[str, ...]:
        """The axes that a program names itself, as within `shard_map`."""
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """Whether the compiler decides about every axis."""
        return len(self.auto_axes) == len(self.axis_names)

    @property
    def are_all_axes_explicit(self) -> bool:
        """Whether types record every axis; not of the empty mesh."""
        return len(self.explicit_axes) == len(self.axis_names) > 0

    @property
    def are_all_axes_manual(self) -> bool:
        """Whether the program names every axis itself; not of the empty mesh."""
        return len(self.manual_axes) == len(self.axis_names) > 0

    def _of_type(self, kind: AxisType) -> tuple[str, ...]:
        return tuple([name for name, found in zip(self.axis_names, self.axis_types, strict=True) if found is kind])

    def _described(self, kind: str) -> str:
        axes = [f"{name!r}: {size}" for name, size in self.shape_tuple]
        types = "" if self.are_all_axes_auto else f", axis_types={self.axis_types}"
        return f"{kind}({', '.join(axes)}{types})"


def checked_types(axis_types: Any, names: tuple[object, ...]) -> tuple[AxisType, ...]:
    """A type for each axis. Raises ValueError for another number of them, TypeError for what is none."""
    found = tuple(axis_types) if isinstance(axis_types, (tuple, list)) else (axis_types,) * len(names)
    if axis_types is None:
        found = (AxisType.Auto,) * len(names)
    if len(found) != len(names):
        raise ValueError(f"a mesh needs one axis type for each axis, got {len(found)} for the axes {names}")
    for name, kind in zip(names, found, strict=True):
        if not isinstance(kind, AxisType):
            raise TypeError(
                f"the types of axes are tangrad.sharding.AxisType.Auto and the like, got {kind!r} for {name!r}"
            )
    return found


def changed_types(axes: MeshAxes, changes: dict[Any, AxisType]) -> tuple[AxisType, ...]:
    """The types of axes, some of them changed. Raises ValueError for an axis that there is none of."""
    for name in changes:
        if name not in axes.axis_names:
            raise ValueError(f"there is no axis {name!r} in {axes}")
    return tuple([changes.get(name, kind) for name, kind in zip(axes.axis_names, axes.axis_types, strict=True)])


@class_boundary
@dataclass(frozen=True, init=False)
class AbstractMesh(MeshAxes):
    """The shape of a mesh: names and sizes of axes. `shard_map` takes one for any mesh in use that has this shape.

    Args:
        axis_sizes: the sizes of the axes.
        axis_names: their names: different hashable objects.
        axis_types: an `AxisType` for each axis, or one for all; default: `AxisType.Auto`.
        abstract_device: a description of the devices; not kept: shapes are for devices of any kind.

    Raises ValueError for other numbers of sizes, names and types, a name that is there twice, a size below 1; TypeError
    for a size that is no integer.

    >>> from tangrad.sharding import AbstractMesh
    >>> mesh = AbstractMesh((2, 4), ("data", "model"))
    >>> mesh.shape["model"], mesh.size
    (4, 8)
    """

    axis_sizes: tuple[int, ...]
    axis_names: tuple[Any, ...]
    axis_types: tuple[AxisType, ...]

    def __init__(
        self,
        axis_sizes: Sequence[int],
        axis_names: object,
        axis_types: object = None,
        *,
        abstract_device: object = None,
    ) -> None:
        names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        try:
            sizes = tuple([operator.index(size) for size in axis_sizes])
        except TypeError:
            raise TypeError(f"AbstractMesh: axis_sizes must be integers, got {axis_sizes!r}") from None
        if len(sizes) != len(names):
            raise ValueError(f"AbstractMesh needs one size and name for each axis, got {sizes} and {names}")
        types = checked_types(axis_types, names)
        repeated = [name for number, name in enumerate(names) if name in names[:number]]
        if repeated:
            raise ValueError(f"the axes of a mesh need different names, got {repeated[0]!r} twice: {names}")
        if any([size < 1 for size in sizes]):
            raise ValueError(f"the axes of a mesh must have positive sizes, got {sizes}")
        for name, value in (("axis_sizes", sizes), ("axis_names", names), ("axis_types", types)):
            object.__setattr__(self, name, value)

    @staticmethod
    def of(mesh: MeshAxes) -> AbstractMesh:
        """The shape of a mesh of devices."""
        return AbstractMesh(mesh.axis_sizes, mesh.axis_names, mesh.axis_types)

    def update_axis_types(self, name_to_type: dict[Any, AxisType]) -> AbstractMesh:
        """The same shape, with other types of some axes. Raises ValueError for an axis that there is none of."""
        return AbstractMesh(self.axis_sizes, self.axis_names, changed_types(self, name_to_type))

    def update(
        self,
        axis_sizes: Sequence[int] | None = None,
        axis_names: object = None,
        axis_types: object = None,
        *,
        abstract_device: object = None,
    ) -> AbstractMesh:
        """Another shape, which differs in what is given. Raises as the class does.

        >>> from tangrad.sharding import AbstractMesh
        >>> AbstractMesh((2,), ("data",)).update(axis_sizes=(4,)).size
        4
        """
        return AbstractMesh(
            self.axis_sizes if axis_sizes is None else axis_sizes,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """Itself."""
        return self

    @property
    def abstract_device(self) -> None:
        """None: a shape is one for devices of any kind."""

    def __repr__(self) -> str:
        return self._described("AbstractMesh")


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
    _key: tuple[object, ...]

    def __init__(self, devices: object, axis_names: object, axis_types: object = None) -> None:
        grid = _device_grid(devices)
        names = tuple(axis_names) if isinstance(axis_names, (tuple, list)) else (axis_names,)
        _check(grid, names)
        grid.flags.writeable = False
        store = object.__setattr__
        store(self, "devices", grid)
        store(self, "axis_names", names)
        store(self, "axis_types", checked_types(axis_types, names))
        store(self, "_key", (names, grid.shape, self.axis_types, tuple([id(device) for device in grid.flat])))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a mesh cannot be changed; make another one: Mesh(devices, axis_names), not {name} = ...")

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> NoReturn:
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

    def update(self, devices: object = None, axis_names: object = None, axis_types: object = None) -> Mesh:
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


def _refuse_text(text: str) -> object:
    raise ValueError("a mesh is made of devices, so only code can set it: with tangrad.set_mesh(mesh): ...")


def _checked_mesh(value: object) -> Mesh | None:
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


def _nested_shape(devices: object) -> tuple[int, ...]:
    if not isinstance(devices, Sequence) or isinstance(devices, str):
        return ()
    inner = {_nested_shape(item) for item in devices}
    if len(inner) > 1:
        raise ValueError(f"the devices of a mesh must be a grid, got lists of different lengths: {devices!r}")
    return (len(devices), *(inner.pop() if inner else ()))


def _check(grid: np.ndarray, names: tuple[object, ...]) -> None:
    if None in names:
        raise ValueError(f"Mesh axis names cannot be None: got {names}")
    if grid.ndim != len(names):
        raise ValueError(
            f"a mesh needs one axis name for each dimension of its devices, got {grid.ndim} dimensions, of sizes "
            f"{grid.shape}, and {len(names)} names, {names}"
        )
    for number, name in enumerate(names):
        if name in names[:number]:
            raise ValueError(f"the axes of a mesh need different names, got {name!r} twice: {names}")
    seen: set[object] = set()
    for device in grid.flat if grid.ndim else ():
        if not isinstance(device, Device):
            raise TypeError(f"a mesh is made of devices (tangrad.devices()), got {device!r}")
        if device in seen:
            raise ValueError(f"each device can be in a mesh once, got {device!r} twice")
        seen.add(device)


# --- axes in partition specs ---


def canonical_axes(entry: object) -> Any:
    """One axis as itself, several as a tuple, none as None. Raises ValueError for groups of axes within a group."""
    if isinstance(entry, (tuple, list)):
        if any([isinstance(axis, (tuple, list)) for axis in entry]):
            raise ValueError(f"PartitionSpec: the axes that cut one dimension are a flat tuple, got {entry!r}")
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    return entry


def checked_axes(name: str, axes: object) -> frozenset[Hashable]:
    """What a spec has as `name`. Raises TypeError for what is no set, ValueError for None in it."""
    if not isinstance(axes, (set, frozenset)):
        raise TypeError(f"PartitionSpec: {name} is a set of axes, got {axes!r} of type {type(axes).__name__}")
    if None in axes:
        raise ValueError(f"PartitionSpec: {name} has names of axes, and None is none")
    return frozenset(axes)
