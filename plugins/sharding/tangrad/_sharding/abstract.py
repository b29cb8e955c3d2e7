"""Meshes without devices: axes with names and sizes, for programs that are to run on any mesh of that shape."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tangrad._sharding.mesh_axes import AxisType, MeshAxes, changed_types, checked_types
from tangrad.core import class_boundary


@class_boundary
@dataclass(frozen=True, init=False)
class AbstractMesh(MeshAxes):
    """The shape of a mesh: names and sizes of axes. `shard_map` takes one for any mesh in use that has this shape.

    Args:
        axis_sizes: the sizes of the axes.
        axis_names: their names: different hashable objects.
        axis_types: an `AxisType` for each axis, or one for all; default: `AxisType.Auto`.

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

    def __init__(self, axis_sizes: Sequence[int], axis_names: Any, axis_types: Any = None) -> None:
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
        self, axis_sizes: Sequence[int] | None = None, axis_names: Any = None, axis_types: Any = None
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

    def __repr__(self) -> str:
        return self._described("AbstractMesh")
