"""Partition specs: along which axes of a mesh each dimension of an array is cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


class PartitionSpec:
    """For each dimension of an array, the axes of a mesh that cut it. `P` for short.

    Args:
        partitions: for each dimension, the name of an axis; several in a tuple, the slowest varying first; None where
            it is not cut; `PartitionSpec.UNCONSTRAINED` where a constraint leaves it to the compiler. Dimensions that
            are left out at the end are not cut.

    Raises ValueError for an axis that is named twice.

    >>> from tangrad.sharding import PartitionSpec as P
    >>> P("data", None, ("model", "expert"))
    P('data', None, ('model', 'expert'))
    """

    __slots__ = ("_partitions",)

    class _Unconstrained:
        __slots__ = ()

        def __repr__(self) -> str:
            return "UNCONSTRAINED"

        def __reduce__(self) -> str:
            return "PartitionSpec.UNCONSTRAINED"

    UNCONSTRAINED = _Unconstrained()

    def __init__(self, *partitions: Any) -> None:
        self._partitions = tuple([_canonical(entry) for entry in partitions])
        axes = [axis for entry in self._partitions for axis in axes_of(entry)]
        for number, axis in enumerate(axes):
            if axis in axes[:number]:
                raise ValueError(f"a partition spec can use each mesh axis once, got {axis!r} twice in {self}")

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __add__(self, other: Any) -> PartitionSpec:
        if not isinstance(other, (PartitionSpec, tuple)):
            return NotImplemented
        return PartitionSpec(*self, *other)

    def __radd__(self, other: Any) -> PartitionSpec:
        return PartitionSpec(*other, *self) if isinstance(other, tuple) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if isinstance(other, tuple):
            return self._partitions == tuple([_canonical(entry) for entry in other])
        return isinstance(other, PartitionSpec) and self._partitions == other._partitions

    def __hash__(self) -> int:
        return hash(self._partitions)

    def __repr__(self) -> str:
        return f"P{self._partitions}"

    def __reduce__(self) -> Any:
        return PartitionSpec, self._partitions


UNCONSTRAINED = PartitionSpec.UNCONSTRAINED


def _canonical(entry: Any) -> Any:
    """One axis as itself, several as a tuple, none as None."""
    if isinstance(entry, (tuple, list)):
        return None if not entry else entry[0] if len(entry) == 1 else tuple(entry)
    return entry


def axes_of(entry: Any) -> tuple[Any, ...]:
    """The axes in one entry of a spec, as a tuple."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)
