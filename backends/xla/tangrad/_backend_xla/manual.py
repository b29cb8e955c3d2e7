"""Named axes that are mapped over devices: which devices take part in a collective."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from tangrad.core import Sharding


class AxisEnvironment:
    """The axes of a program that runs on several replicas or partitions, the slowest varying first.

    Attributes:
        names, sizes: of the axes.
        replica_count, partition_count: of the program; the axes' sizes multiply to one of them.
    """

    __slots__ = ("names", "partition_count", "replica_count", "sizes")

    def __init__(
        self,
        names: Sequence[Hashable] = (),
        sizes: Sequence[int] = (),
        replica_count: int | None = None,
        partition_count: int = 1,
    ) -> None:
        self.names = tuple(names)
        self.sizes = tuple(sizes)
        self.partition_count = partition_count
        self.replica_count = int(np.prod(self.sizes, dtype=int)) if replica_count is None else replica_count

    def extend(self, name: Hashable, size: int) -> AxisEnvironment:
        """This environment with one more axis, which varies fastest."""
        return AxisEnvironment(
            (*self.names, name), (*self.sizes, size), self.replica_count * size, self.partition_count
        )

    def size(self, name: Hashable) -> int:
        """The size of an axis."""
        return self.sizes[len(self.names) - 1 - self.names[::-1].index(name)]

    def replica_groups(self, axes: object) -> np.ndarray:
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


class MappedAxes:
    """The axes that a part of a program is mapped over.

    Attributes:
        names: the axes that are mapped over.
        environment: all axes there are, with groups in terms of places in their grid.
        number: the operation that returns the number of the device.
        has_channels: whether collectives are between partitions, which find each other by channels, or replicas.
    """

    __slots__ = ("_numbers", "environment", "names")
    number: str
    has_channels: bool

    def __init__(self, names: Sequence[object], environment: AxisEnvironment, numbers: Sequence[int]) -> None:
        self.names = tuple(names)
        self.environment = environment
        self._numbers = np.asarray(numbers, np.int64)  # place in the grid -> number of the device

    def is_over(self, sharding: Sharding) -> bool:
        """Whether a sharding may be over the mesh that a part of it is mapped over: replicas are of none."""
        return True

    def others(self) -> tuple[Hashable, ...]:
        """The axes that are not mapped over."""
        return tuple([name for name in self.environment.names if name not in self.names])

    def key(self) -> tuple[object, ...]:
        """What sets it apart from others, for functions that are lowered once."""
        return self.names, self.environment.names, self.environment.sizes, tuple(self._numbers.tolist())

    def groups(self, axes: Sequence[object], index_groups: tuple[tuple[int, ...], ...] | None = None) -> np.ndarray:
        """For a collective over axes, a row for each group: its devices by their index along the axes.

        Groups of indices (`axis_index_groups`) are groups of their own, filled up with -1 where they are shorter.
        """
        rows = self._numbers[self.environment.replica_groups(tuple(axes))]
        if index_groups is None:
            return rows
        longest = max([len(group) for group in index_groups])
        found = [[*row[list(group)].tolist(), *[-1] * (longest - len(group))] for row in rows for group in index_groups]
        return np.array(found, np.int64)

    def index_table(self, axis: object) -> np.ndarray:
        """For each device its index along an axis."""
        table = np.zeros(len(self._numbers), np.int32)
        for index, column in enumerate(self.groups((axis,)).T):
            table[column] = index
        return table


class ManualAxes(MappedAxes):
    """The axes of a mesh that a part of a program is mapped over, whose devices are partitions.

    Attributes:
        whole: the sharding that cuts nothing, over the mesh.
    """

    __slots__ = ("whole",)
    number = "stablehlo.partition_id"
    has_channels = True

    def __init__(self, names: Sequence[object], whole: Sharding, numbers: Sequence[int]) -> None:
        self.whole = whole
        environment = AxisEnvironment([name for name, _ in whole.grid], [size for _, size in whole.grid])
        super().__init__(names, environment, numbers)

    def is_over(self, sharding: Sharding) -> bool:
        """Whether a sharding is over this mesh: over another one, a device has nothing to share with others."""
        return sharding.grid == self.whole.grid and sharding.device_order == self.whole.device_order

    def within(self, outer: MappedAxes) -> ManualAxes:
        """The same where the axes of a map around this one, over the same mesh, are mapped over too."""
        if outer.has_channels:
            return ManualAxes((*outer.names, *self.names), self.whole, self._numbers.tolist())
        raise NotImplementedError(
            f"a program for the replicas of the axes {outer.names} maps a part of it over a mesh too, along "
            f"{self.names}; state one or the other"
        )


class ReplicaAxes(MappedAxes):
    """The axes that a whole program is mapped over: it runs on a replica for each of their places."""

    __slots__ = ()
    number = "stablehlo.replica_id"
    has_channels = False

    def __init__(self, environment: AxisEnvironment) -> None:
        super().__init__(environment.names, environment, range(environment.replica_count))
