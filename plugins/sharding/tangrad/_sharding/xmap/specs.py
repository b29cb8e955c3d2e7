"""Which dimensions of an array are which named axes: the forms in which users say it.

`{0: "batch", -1: "features"}` gives positions their names. A list has an entry for each dimension, a name or None, and
asserts how many dimensions there are; with an ellipsis at its end it says nothing of the dimensions after it.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable
from typing import Any

from tangrad import tree
from tangrad.tree_util import PyTreeDef, flatten_axes

AxisName = Hashable
# Pairs of a name and a dimension of the array that has all of its named axes, by dimension.
Positions = tuple[tuple[Any, int], ...]


class AxesSpec:
    """The named axes of one array.

    Attributes:
        given: what the user wrote, for messages.
        entries: pairs of a name and a position, negative ones from the end.
        rank: how many dimensions the array must have; None where that is not said.
    """

    __slots__ = ("entries", "given", "rank")

    def __init__(self, given: Any, what: str) -> None:
        self.given = given
        self.rank: int | None = None
        if isinstance(given, dict):
            self.entries = tuple([(name, _position(position, given, what)) for position, name in given.items()])
        else:
            listed = list(given)
            if listed and listed[-1] is Ellipsis:
                listed.pop()
            else:
                self.rank = len(listed)
            if any([entry is Ellipsis for entry in listed]):
                raise ValueError(f"xmap: in {what} an ellipsis may only be the last entry of a list, got {given!r}")
            self.entries = tuple([(name, position) for position, name in enumerate(listed) if name is not None])
        names = [_checked_name(name, given, what) for name, _ in self.entries]
        for number, name in enumerate(names):
            if name in names[:number]:
                raise ValueError(
                    f"xmap: {what} can name an axis once in the spec of an array, got {name!r} twice: {given!r}"
                )

    @property
    def names(self) -> tuple[Any, ...]:
        """The names alone."""
        return tuple([name for name, _ in self.entries])

    def positions(self, ndim: int, what: str) -> Positions:
        """The named dimensions of an array of `ndim` dimensions, in their order.

        Raises ValueError, beginning with `what`, for another rank than asserted, and for a position that is not there.
        """
        if self.rank is not None and self.rank != ndim:
            raise ValueError(
                f"{what} has {ndim} dimensions, but its spec {self.given!r} says that it has {self.rank}; end the list "
                f"with an ellipsis where more may follow"
            )
        found: dict[int, Any] = {}
        for name, position in self.entries:
            if not -ndim <= position < ndim:
                raise ValueError(
                    f"{what} has {ndim} dimensions, so its spec {self.given!r} cannot name dimension {position}"
                )
            if position % ndim in found:
                raise ValueError(
                    f"{what} has {ndim} dimensions, of which its spec {self.given!r} names dimension {position % ndim} "
                    f"twice: {found[position % ndim]!r} and {name!r}"
                )
            found[position % ndim] = name
        return tuple([(found[position], position) for position in sorted(found)])

    def __repr__(self) -> str:
        return repr(self.given)


def _position(position: Any, given: Any, what: str) -> int:
    if isinstance(position, bool) or not hasattr(type(position), "__index__"):
        raise TypeError(f"xmap: the keys of a dictionary in {what} are positions, got {position!r} in {given!r}")
    return operator.index(position)


def _checked_name(name: Any, given: Any, what: str) -> Any:
    try:
        hash(name)
    except TypeError:
        raise TypeError(f"xmap: names of axes must be hashable, got {name!r} in {what}: {given!r}") from None
    if name is None or name is Ellipsis or isinstance(name, (int, tuple)):
        raise TypeError(
            f"xmap: an axis needs a name that is no integer, tuple, None or ellipsis, got {name!r} in {what}: {given!r}"
        )
    return name


def _is_spec(value: Any) -> bool:
    """Whether a container is the spec of one array; else it is a tree of specs."""
    if isinstance(value, dict):
        return not any([isinstance(item, (dict, list, tuple)) for item in value.values()])
    if isinstance(value, list):
        return not any([isinstance(item, (dict, list, tuple)) for item in value])
    return False


class SpecTree:
    """A tree of specs: `in_axes` or `out_axes`.

    Raises TypeError where a leaf is no spec.
    """

    __slots__ = ("_tree", "_what", "key", "specs")

    def __init__(self, given: Any, what: str) -> None:
        self._what = what
        self.specs: list[AxesSpec] = []
        self._tree = self._read(given)
        # What it says, for caches.
        self.key = (tree.structure(self._tree), tuple([(spec.entries, spec.rank) for spec in self.specs]))

    def _read(self, value: Any) -> Any:
        leaves, structure = tree.flatten(value, is_leaf=lambda item: item is None or _is_spec(item))
        return structure.unflatten([self._leaf(leaf) for leaf in leaves])

    def _leaf(self, value: Any) -> AxesSpec:
        if not _is_spec(value):
            raise TypeError(
                f"xmap: {self._what} says the axes of an array as a dictionary from positions to names, {{0: 'i'}}, "
                f"or as a list of names and None, ['i', ...], got {value!r} of type {type(value).__name__}; "
                f"an array without named axes has the spec {{}}, or [...]"
            )
        self.specs.append(AxesSpec(value, self._what))
        return self.specs[-1]

    @property
    def names(self) -> tuple[Any, ...]:
        """All names, in order of appearance."""
        return tuple(dict.fromkeys([name for spec in self.specs for name in spec.names]))

    def of_leaves(self, structure: PyTreeDef) -> list[AxesSpec]:
        """The spec of each leaf of a tree. Raises ValueError where the tree of specs is no prefix of it.

        A list stands for a tuple, too: arguments come as one, and functions return them.
        """
        specs = self._tree
        if isinstance(specs, list) and isinstance(structure.unflatten([0] * structure.num_leaves), tuple):
            specs = tuple(specs)
        return flatten_axes(f"xmap {self._what}", structure, specs)
