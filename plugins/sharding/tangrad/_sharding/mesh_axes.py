"""The axes of a mesh: their names, sizes and types, with devices or without."""

from __future__ import annotations

import enum
import math
from collections import OrderedDict
from typing import Any


class AxisType(enum.Enum):
    """Who decides how values are sharded along an axis of a mesh.

    `Auto`: the compiler, from the shardings of arguments and constraints. `Explicit`: the program; types of values
    record how they are sharded, and each operation says how its result is. `Manual`: the program, part by part, as
    inside `shard_map`.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


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
    def auto_axes(self) -> tuple[Any, ...]:
        """The axes that the compiler decides about."""
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        """The axes that types record."""
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
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

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([name for name, found in zip(self.axis_names, self.axis_types, strict=True) if found is kind])

    def _described(self, kind: str) -> str:
        axes = [f"{name!r}: {size}" for name, size in self.shape_tuple]
        types = "" if self.are_all_axes_auto else f", axis_types={self.axis_types}"
        return f"{kind}({', '.join(axes)}{types})"


def checked_types(axis_types: Any, names: tuple[Any, ...]) -> tuple[AxisType, ...]:
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
