"""`abstracted_axes`: axes whose sizes are variables of the program, so that it is traced once for many sizes.

Names become dimension variables. A call is traced with these in its types, and the program is then either run as it
is, where the backend finds sizes at the call, or filled in with those at hand.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from tangrad import tree
from tangrad._jit.call import AbstractLeaf, Call, Traced
from tangrad.core import ClosedJaxpr, composition
from tangrad.core.arguments import SymbolicDimension, first_symbolic, is_symbolic
from tangrad.core.caches import JaxprCache, RecentlyUsed, register_cache
from tangrad.core.tools import how_to_install
from tangrad.tree_util import PyTreeDef, broadcast_prefix

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(("_", "max", "min", "mod", "floordiv"))  # what symbolic shapes mean by them
_filled = JaxprCache()
_specs = RecentlyUsed(1024)
register_cache(_filled.clear)
register_cache(_specs.clear)


class Names(NamedTuple):
    """Which axes of one array have which names."""

    pairs: tuple[tuple[int, Hashable], ...]


class AbstractedAxes:
    """The axes of a function's arguments that have names; equal ones are one object: see `abstracted`."""

    __slots__ = ("_leaves", "_structure", "_variables")

    def __init__(self, leaves: Sequence[Names], structure: PyTreeDef) -> None:
        self._leaves = leaves
        self._structure = structure
        self._variables: dict[Hashable, Any] = {}

    def variable(self, name: Hashable) -> SymbolicDimension:
        """The dimension variable of a name."""
        if not self._variables:
            found = dict.fromkeys([one for leaf in self._leaves for _, one in leaf.pairs])
            self._variables = dict(zip(found, _variables(_words(list(found))), strict=True))
        return self._variables[name]

    def per_leaf(self, call: Call) -> list[Names]:
        """The names of each array among the arguments of a call. Raises TypeError and ValueError for what fits none."""
        if call.has_keywords:
            raise TypeError(
                f"abstracted_axes are those of positional arguments; pass {call.keywords} by position, or close over it"
            )
        args = call.treedef.unflatten(call.leaves)
        try:
            spec = self._structure.unflatten(self._leaves)
            return broadcast_prefix(spec, args, is_leaf=lambda part: isinstance(part, Names))
        except ValueError as error:
            error.args = (f"abstracted_axes must be a prefix of the tuple of positional arguments: {error}",)
            raise

    def abstract(self, call: Call) -> tuple[Call, dict[str, Any]]:
        """The call with variables for sizes, and the size of each in this call.

        An axis of size 0 stays as it is: variables are sizes from 1 up, and a program may be another without elements.
        Raises ValueError for an axis that an argument does not have, and for a name with two sizes.
        """
        found: dict[Hashable, tuple[Any, str]] = {}
        leaves: list[Any] = []
        for position, (leaf, names) in enumerate(zip(call.leaves, self.per_leaf(call), strict=True)):
            shape = list(leaf.aval.shape)
            for axis, name in _checked(names, shape, call.path(position)):
                size, where = shape[axis], f"dimension {axis} of {call.path(position)}"
                known, other = found.setdefault(name, (size, where))
                if known != size:
                    raise ValueError(
                        f"abstracted_axes: {name!r} is {known} in {other}, and {size} in {where}; axes of one name "
                        "have one size"
                    )
                if is_symbolic(size) or size != 0:
                    shape[axis] = self.variable(name)
            leaves.append(AbstractLeaf(leaf.aval.update(shape=tuple(shape))))
        if all([leaf.aval is old.aval for leaf, old in zip(leaves, call.leaves, strict=True)]):
            return call, {}
        sizes = {str(self.variable(name)): size for name, (size, _) in found.items()}
        changed = copy.copy(call)
        changed.leaves = leaves
        return changed, sizes


def abstracted(spec: object) -> AbstractedAxes:
    """The axes that the argument `abstracted_axes` names.

    For each array it is a dictionary from axes to names, or a tuple with a name or None for each of its first axes, or
    None; these stand in a tree that is a prefix of the tuple of positional arguments, static ones left out. One for all
    arrays need not stand in a tree. Names are any hashable values.

    Raises TypeError for anything else.
    """
    leaves, structure = tree.flatten(spec, is_leaf=_is_spec)
    names = tuple([_names(leaf) for leaf in leaves])
    key = (names, structure)
    found = _specs.find(key)
    if found is None:
        found = AbstractedAxes(names, structure)
        _specs.add(key, found)
    return found


def _is_spec(part: object) -> bool:
    items = part.values() if isinstance(part, dict) else part if type(part) is tuple else None
    return part is None or (items is not None and not any([isinstance(item, (dict, tuple, list)) for item in items]))


def _names(spec: Any) -> Names:
    if not _is_spec(spec):
        raise TypeError(
            "abstracted_axes has, for each array, a dictionary from axes to names or a tuple with a name or None for "
            f"each axis; got {spec!r} of type {type(spec).__name__}"
        )
    if spec is None:
        spec = ()
    if isinstance(spec, dict):
        for axis in spec:
            if type(axis) is not int:
                raise TypeError(
                    f"abstracted_axes: axes are integers, got {axis!r} of type {type(axis).__name__} in {spec!r}"
                )
        pairs = tuple(spec.items())
    else:
        pairs = tuple([(axis, name) for axis, name in enumerate(spec) if name is not None])
    for _, name in pairs:
        try:
            hash(name)
        except TypeError:
            raise TypeError(f"abstracted_axes: names are hashable, got {name!r} in {spec!r}") from None
    return Names(pairs)


def _checked(names: Names, shape: Sequence[Any], where: str) -> list[tuple[int, Hashable]]:
    """The axes that have names, counted from the first. Raises ValueError for those that are not there."""
    rank = len(shape)
    for axis, name in names.pairs:
        if not -rank <= axis < rank:
            sizes = f"({', '.join(map(str, shape))}{',' * (rank == 1)})"
            raise ValueError(
                f"abstracted_axes names axis {axis} of {where} {name!r}, which is of shape {sizes} and has {rank} axes"
            )
    return [(axis % rank, name) for axis, name in names.pairs]


def _words(names: Sequence[Hashable]) -> list[str]:
    """For each name an identifier of its own: itself, where it is one."""
    own = {name for name in names if isinstance(name, str) and _WORD.fullmatch(name) and name not in _RESERVED}
    others = (f"d{number}" for number in range(1 << 30) if f"d{number}" not in own)
    return [str(name) if name in own else next(others) for name in names]


def _variables(words: Sequence[str]) -> tuple[SymbolicDimension, ...]:
    plugin = composition().find("tangrad.api", "export.symbolic_shape")
    if plugin is None:
        needed = how_to_install("export.symbolic_shape")
        raise NotImplementedError(f"abstracted_axes needs symbolic dimensions: {needed}")
    return plugin.load()(", ".join(words))


def filled_in(traced: Traced, sizes: dict[str, Any]) -> Traced:
    """A function traced for variables as one traced for `sizes`."""
    dimension = first_symbolic(traced.jaxpr.in_avals)

    def fill() -> ClosedJaxpr:
        return dimension.filled_in(traced.jaxpr, sizes)

    return Traced(_filled.get(traced.jaxpr, tuple(sizes.items()), fill), traced.outer, traced.out_tree)
