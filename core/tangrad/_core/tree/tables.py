"""The tables of trees: which types are nodes, and which structures there are, of which equal ones are one object.

*Types.* A table has the function that flattens the values of a type, or None where they are leaves. Everything that
walks trees fast starts from `flatteners`. A type that was not seen yet is looked at once.

*Structures.* A table maps a key to a weak reference. The key of a structure is made of the identities of its subtrees
(which the structure keeps alive, so they cannot be reused while its entry is live) and of a key of its node's data.
Data compare in one of three ways, and a structure compares as the least exact of its parts does:
- PLAIN: strings, numbers, None, tuples of these: the key distinguishes `1`, `1.0` and `True`, `0.0` and `-0.0`;
- BY_IDENTITY: objects that are equal only to themselves (functions, classes): the key is their identity;
- BY_VALUE: all else. Its `==` may call unequal things equal, or be slow, or fail, and two equal objects need not be
  interchangeable (mutable ones are not). The key is their identity too, so no caller gets another's object; the
  structures made of them compare by value where they are not identical.
"""

from __future__ import annotations

# The one atomic way to take a dead entry out and nothing else: a finaliser may run, and make the same structure again,
# between any two steps written in Python, and a lock could be waited for inside a finaliser. `weakref` itself uses it.
from _weakref import _remove_dead_weakref  # type: ignore[attr-defined]
from collections import deque
from collections.abc import Callable, Hashable, MutableMapping
from threading import RLock
from typing import Any, TypeAlias, TypeVar
from weakref import KeyedRef

PyTree: TypeAlias = Any  # a tree, whose kind its maker alone knows
Leaf: TypeAlias = Any
Flattener: TypeAlias = Callable[[PyTree, list[Leaf]], Any]

_MOST_DERIVED = 4096


leaf_types: set[type] = set()
are_leaves = leaf_types.issuperset  # are_leaves(map(type, values)): in C, so tried before any loop

# Functions that are asked for the `NodeKind` of types that are not registered (namedtuples), and those that are called
# when a type that was a node of such a kind is registered.
derivations: list[Callable[[type], Any]] = []
when_replaced: list[Callable[[], None]] = []
_registered: dict[type, Any] = {}
_derived: set[type] = set()  # types that are not registered and were met: leaves, and nodes of derived kinds
_lock = RLock()


class _Flatteners(dict[type, "Flattener | None"]):
    __slots__ = ()

    def __missing__(self, node_type: type) -> Flattener | None:
        return _classify(node_type)


flatteners = _Flatteners()


def add_kind(kind: Any) -> None:
    """Register a `NodeKind`. Raises ValueError where its type is registered already."""
    with _lock:
        known = _registered.get(kind.type)
        if known is not None and not _is_defined_again(type(known), type(kind)):
            raise ValueError(f"{kind.type!r} is already registered as a pytree node")
        _registered[kind.type] = kind
        _derived.discard(kind.type)
        leaf_types.discard(kind.type)
        before = flatteners.get(kind.type)
        flatteners[kind.type] = kind.flatten_into
        for action in when_replaced if before is not None else ():
            action()


def _is_defined_again(known: type, found: type) -> bool:
    """Whether two classes are one, whose module runs again: its first import was interrupted."""
    return known is not found and (known.__module__, known.__qualname__) == (found.__module__, found.__qualname__)


def _classify(node_type: type) -> Flattener | None:
    """Find out what an unseen type is, and remember it: a leaf, or a node of a kind that is derived from the type."""
    with _lock:
        if node_type in flatteners:  # another thread was faster
            return flatteners.get(node_type)
        if len(_derived) >= _MOST_DERIVED:
            _forget_derived()
        kinds = [kind for kind in [derivation(node_type) for derivation in derivations] if kind is not None]
        flattener = kinds[0].flatten_into if kinds else None
        _derived.add(node_type)
        flatteners[node_type] = flattener
        if flattener is None:
            leaf_types.add(node_type)
        return flattener


def _forget_derived() -> None:
    """Forget types that are not registered, so that programs which make types without end do not keep them all."""
    for node_type in _derived:
        leaf_types.discard(node_type)
        del flatteners[node_type]
    _derived.clear()


# --- structures ---

PLAIN, BY_IDENTITY, BY_VALUE = 0, 1, 2

_PLAIN_TYPES = frozenset({str, bytes, int, bool, type(...), range})

Value = TypeVar("Value")
Table = dict[Hashable, "KeyedRef[Hashable, Any]"]

# Structures made of plain data stay alive here until this many newer ones were made: one that is dropped between two
# calls of `flatten` need not be made again. Others could keep arrays alive through a closure.
_RECENT: deque[object] = deque(maxlen=1024)


def forgetter(table: Table) -> Callable[..., None]:
    """Return the callback of the weak references in `table`: it takes the entry of a dead one out."""

    def forget(reference: KeyedRef[Hashable, Any], remove: Callable[..., None] = _remove_dead_weakref) -> None:
        remove(table, reference.key)

    return forget


def intern(table: Table, key: Hashable, candidate: Value, forget: Callable[..., None], comparison: int) -> Value:
    """Return the live value of `table` under `key`; where there is none, enter `candidate` and return that.

    `==` of `key` must run no code of users; `forget` is `forgetter(table)`; PLAIN values are kept alive for a while.
    """
    reference = KeyedRef(candidate, forget, key)
    while True:
        current = table.setdefault(key, reference)
        if current is reference:
            if comparison == PLAIN:
                _RECENT.append(candidate)
            return candidate
        found: Value | None = current()
        if found is not None:
            return found
        _remove_dead_weakref(table, key)


def data_key(data: Any, by_value: bool = False) -> tuple[Hashable, int]:
    """Return a key for a node's data, and how that data compares.

    Equal keys mean interchangeable data: of the same types throughout, and equal, with the same sign of zero. They may
    have identities in them, so `data` must outlive the key; with `by_value` none but those of the data themselves.
    """
    kind: Any = type(data)
    if data is None or kind is str:
        return data, PLAIN
    if kind in _PLAIN_TYPES:
        return (kind, data), PLAIN
    if kind is tuple:
        keys: list[Hashable] = [tuple]
        comparison = PLAIN
        for item in data:
            key, how = data_key(item, by_value)
            keys.append(key)
            if how > comparison:
                comparison = how
        return tuple(keys), comparison
    if kind is float or kind is complex:
        return (kind, repr(data)), PLAIN
    if kind.__eq__ is object.__eq__:
        return (kind, id(data)), BY_IDENTITY
    return _Value(data) if by_value else (kind, id(data)), BY_VALUE


class _Value:
    """Data in a key that compare by value. What has no hash is given one, so that structures with it can be keys."""

    __slots__ = ("data",)

    def __init__(self, data: object) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Value) and type(self.data) is type(other.data) and equal_data(self.data, other.data)

    def __hash__(self) -> int:
        try:
            return hash(self.data)
        except TypeError:
            return 0


def same_data(left: object, right: object) -> bool:
    """Return whether two data are interchangeable (see `data_key`)."""
    if left is right:
        return True
    if type(left) is tuple and type(right) is tuple:
        return len(left) == len(right) and all(map(same_data, left, right))
    return data_key(left, by_value=True) == data_key(right, by_value=True)


def equal_data(left: object, right: object) -> bool:
    """Return whether two data are the same object or equal. Raises ValueError where `==` fails, as for arrays."""
    try:
        return left is right or bool(left == right)
    except Exception as error:
        raise ValueError(
            f"metadata of pytree nodes cannot be compared: `==` of two {type(left).__name__} raised "
            f"{type(error).__name__}: {error}. Metadata must be hashable, and compare to True or False; "
            "arrays belong among the children of a node."
        ) from error


def bounded(cache: MutableMapping[Any, Any], limit: int) -> None:
    """Empty a cache that has reached `limit` entries."""
    if len(cache) >= limit:
        cache.clear()
