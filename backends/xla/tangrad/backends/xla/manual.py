"""Parts of programs that are mapped over devices: who takes part in a collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.backends.xla.axes import AxisEnvironment
from tangrad.core import Sharding


class ManualAxes:
    """The axes of a mesh that a part of a program is mapped over.

    Attributes:
        names: the axes that are mapped over.
        environment: all axes of the mesh, with replica groups in terms of places in its grid.
        whole: the sharding that cuts nothing, over the mesh.
    """

    __slots__ = ("_numbers", "environment", "names", "whole")

    def __init__(self, names: Sequence[Any], whole: Sharding, numbers: Sequence[int]) -> None:
        self.names = tuple(names)
        self.whole = whole
        self.environment = AxisEnvironment([name for name, _ in whole.grid], [size for _, size in whole.grid])
        self._numbers = np.asarray(numbers, np.int64)  # place in the grid -> number of the partition

    def within(self, outer: ManualAxes) -> ManualAxes:
        """The same where the axes of a map around this one, over the same mesh, are mapped over too."""
        return ManualAxes((*outer.names, *self.names), self.whole, self._numbers.tolist())

    def others(self) -> tuple[Any, ...]:
        """The axes of the mesh that are not mapped over."""
        return tuple([name for name in self.environment.names if name not in self.names])

    def key(self) -> tuple[Any, ...]:
        """What sets it apart from others, for functions that are lowered once."""
        return self.names, self.environment.names, self.environment.sizes, tuple(self._numbers.tolist())

    def groups(self, axes: Sequence[Any], index_groups: Any = None) -> np.ndarray[Any, Any]:
        """For a collective over axes, a row for each group: its partitions by their index along the axes.

        Groups of indices (`axis_index_groups`) are groups of their own, filled up with -1 where they are shorter.
        """
        rows = self._numbers[self.environment.replica_groups(tuple(axes))]
        if index_groups is None:
            return rows
        longest = max([len(group) for group in index_groups])
        found = [[*row[list(group)].tolist(), *[-1] * (longest - len(group))] for row in rows for group in index_groups]
        return np.array(found, np.int64)

    def index_table(self, axis: Any) -> np.ndarray[Any, Any]:
        """For each partition its index along an axis."""
        table = np.zeros(len(self._numbers), np.int32)
        for index, column in enumerate(self.groups((axis,)).T):
            table[column] = index
        return table
