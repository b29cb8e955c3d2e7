"""`in_shardings` and `out_shardings`: trees of shardings, and what they say of the leaves of one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad.core import Sharding
from tangrad.core.backends import as_sharding
from tangrad.tree_util import flatten_axes, keystr

if TYPE_CHECKING:
    from tangrad.core import Backend
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import Value


class ShardingTree:
    """A tree of shardings and what stands for them, None where it is left open; hashable, for keys of caches.

    It is true where it states any.
    """

    __slots__ = ("_given", "_key", "tree", "what")

    def __init__(self, value: object, what: str) -> None:
        self.what = what
        self._given = value
        self.tree = tuple(value) if isinstance(value, list) else value
        leaves, structure = tree.flatten(self.tree)
        for leaf in leaves:
            if not isinstance(leaf, Sharding) and not hasattr(leaf, "to_sharding"):
                as_sharding(leaf, what)  # which raises, naming what is wrong
            if getattr(leaf, "leaves_open", False):
                raise ValueError(f"{what}: Unconstrained dims are not allowed, those are for constraints; got {leaf}")
        self._key = (structure, tuple(leaves))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShardingTree) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __bool__(self) -> bool:
        return bool(self._key[1])

    @classmethod
    def of(cls, value: object, what: str) -> ShardingTree | None:
        """The tree that a user gave, whose structure is checked though all be left open; None where none was."""
        return None if value is None else cls(value, what)

    def backend(self) -> Backend | None:
        """The backend of the devices; None where none of what was given stands for a sharding."""
        found = (as_sharding(leaf, self.what) for leaf in self._key[1])
        return next((sharding.device_order[0].backend for sharding in found if sharding is not None), None)

    def of_leaves(self, structure: PyTreeDef) -> list[Sharding | None]:
        """The sharding of each leaf of a tree, None where it is left open. Raises ValueError for another structure."""
        is_list = isinstance(self._given, list) and isinstance(structure.unflatten([0] * structure.num_leaves), list)
        leaves = flatten_axes(self.what, structure, self._given if is_list else self.tree)  # a list is of both
        return [None if leaf is None else as_sharding(leaf, self.what) for leaf in leaves]


def shardings_of_arguments(options: Any, call: Any, name: str) -> list[Sharding | None]:
    """The sharding that each leaf of a call must have, or None.

    Raises ValueError for a leaf that cannot be cut so, and for keyword arguments, which have no shardings.
    """
    if options.in_shardings is None:
        return [None] * len(call.leaves)
    if call.has_keywords:
        raise ValueError(
            f"{name}: in_shardings are those of positional arguments; pass these by position: {call.keywords}"
        )
    found: list[Sharding | None] = options.in_shardings.of_leaves(call.treedef)
    for position, (leaf, sharding) in enumerate(zip(call.leaves, found, strict=True)):
        if sharding is not None:
            sharding.check_shape(leaf.aval.shape, f"{name}: argument {call.path(position)}")
    return found


def shardings_of_results(options: Any, traced: Any, name: str) -> list[Sharding | None]:
    """The sharding that each result must have, or None. Raises ValueError for a result that cannot be cut so."""
    avals = traced.jaxpr.out_avals
    if options.out_shardings is None:
        return [None] * len(avals)
    found: list[Sharding | None] = options.out_shardings.of_leaves(traced.out_tree)
    for position, (aval, sharding) in enumerate(zip(avals, found, strict=True)):
        if sharding is not None:
            sharding.check_shape(aval.shape, f"{name}: result{_path(traced.out_tree, position)}")
    return found


def sharding_of_rank(value: object, ndim: int) -> Any:
    """The sharding that `value` stands for, of a struct. Raises ValueError for one of more dimensions than `ndim`."""
    is_abstract = hasattr(value, "type_of")  # by the shape of a mesh, which stays so
    sharding: Any = value if is_abstract else as_sharding(value, "ShapeDtypeStruct")
    if hasattr(sharding, "dimension_axes"):
        sharding.dimension_axes(ndim)
    return sharding


def _path(structure: PyTreeDef, position: int) -> str:
    """Where a leaf is in a tree, for messages; nothing for a leaf by itself."""
    path = tree.leaves_with_path(structure.unflatten([0] * structure.num_leaves))[position][0]
    return str(keystr(path))


def constrained(values: Sequence[Value], shardings: Sequence[Sharding | None]) -> list[Value]:
    """Values within a traced program, those with a sharding constrained to it."""
    return [
        value if sharding is None else sharding.constrain(value)
        for value, sharding in zip(values, shardings, strict=True)
    ]


def stated(shardings: Sequence[object]) -> tuple[object, ...]:
    """Shardings as the compiler takes them: () where all are left open."""
    return tuple(shardings) if any([sharding is not None for sharding in shardings]) else ()
