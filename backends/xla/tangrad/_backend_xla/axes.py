"""Named axes that are mapped over devices: which devices take part in a collective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class AxisEnvironment:
    """The axes of a program that runs on several replicas or partitions, the slowest varying first.

    Attributes:
        names, sizes: of the axes.
        replica_count, partition_count: of the program; the axes' sizes multiply to one of them.
    """

    __slots__ = ("names", "partition_count", "replica_count", "sizes")

    def __init__(
        self,
        names: Sequence[str] = (),
        sizes: Sequence[int] = (),
        replica_count: int | None = None,
        partition_count: int = 1,
    ) -> None:
        self.names = tuple(names)
        self.sizes = tuple(sizes)
        self.partition_count = partition_count
        self.replica_count = int(np.prod(self.sizes, dtype=int)) if replica_count is None else replica_count

    def extend(self, name: Any, size: int) -> AxisEnvironment:
        """This environment with one more axis, which varies fastest."""
        return AxisEnvironment(
            (*self.names, name), (*self.sizes, size), self.replica_count * size, self.partition_count
        )

    def size(self, name: Any) -> int:
        """The size of an axis."""
        return self.sizes[len(self.names) - 1 - self.names[::-1].index(name)]

    def replica_groups(self, axes: Any) -> np.ndarray:
        """For a collective over one or several axes: one row for each group, the numbers of the replicas in it.

        With axes i of size 4 and j of size 2, the groups over i are {0,2,4,6} and {1,3,5,7}, those over j {0,1},
        {2,3}, …. Raises ValueError for an axis that is not in the environment.
        """
        wanted = axes if isinstance(axes, (tuple, list)) else (axes,)
        unknown = [axis for axis in wanted if axis not in self.names]
        if unknown:
            raise ValueError(f"no axis {unknown[0]!r} is mapped over devices here; there are {list(self.names)}")
        positions = [len(self.names) - 1 - self.names[::-1].index(axis) for axis in wanted]
        rest = [position for position in range(len(self.names)) if position not in positions]
        total = int(np.prod(self.sizes, dtype=int))
        grid = np.arange(total, dtype=np.int64).reshape(self.sizes)
        members = int(np.prod([self.sizes[position] for position in positions], dtype=int))
        return grid.transpose(*rest, *positions).reshape(-1, members)


no_axes = AxisEnvironment()
