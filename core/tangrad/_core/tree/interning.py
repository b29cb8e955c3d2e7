"""Interning of tree structures: equal structures are one object for as long as it is referenced.

A table maps a key to a weak reference. The key of a structure is made of the identities of its subtrees (which the
structure keeps alive, so they cannot be reused while its entry is live) and of a key of its node's data.

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
from typing import Any, TypeVar
from weakref import KeyedRef

PLAIN, BY_IDENTITY, BY_VALUE = 0, 1, 2

_PLAIN_TYPES = frozenset({str, bytes, int, bool, type(...), range})

Value = TypeVar("Value")
Table = dict[Hashable, "KeyedRef[Hashable, Any]"]

# Structures made of plain data stay alive here until this many newer ones were made: one that is dropped between two
# calls of `flatten` need not be made again. Others could keep arrays alive through a closure.
_RECENT: deque[Any] = deque(maxlen=1024)


def forgetter(table: Table) -> Callable[[KeyedRef[Hashable, Any]], None]:
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


def data_key(data: Any) -> tuple[Hashable, int]:
    """Return a key for a node's data, and how that data compares.

    Equal keys mean interchangeable data, provided that `data` outlives the key (identities are part of it).
    """
    kind = type(data)
    if data is None or kind is str:
        return data, PLAIN
    if kind in _PLAIN_TYPES:
        return (kind, data), PLAIN
    if kind is tuple:
        keys: list[Hashable] = [tuple]
        comparison = PLAIN
        for item in data:
            key, how = data_key(item)
            keys.append(key)
            if how > comparison:
                comparison = how
        return tuple(keys), comparison
    if kind is float or kind is complex:
        return (kind, repr(data)), PLAIN
    return (kind, id(data)), BY_IDENTITY if _compares_by_identity(kind) else BY_VALUE


def _compares_by_identity(kind: type) -> bool:
    equality: Any = kind.__eq__
    return equality is object.__eq__


def same_data(left: Any, right: Any) -> bool:
    """Say whether two data are interchangeable: of the same types throughout, and equal, with the same sign of zero."""
    if left is right:
        return True
    kind = type(left)
    if kind is not type(right):
        return False
    if kind is tuple:
        return len(left) == len(right) and all(map(same_data, left, right))
    if kind is float or kind is complex:
        return repr(left) == repr(right)
    return equal_data(left, right)


def equal_data(left: Any, right: Any) -> bool:
    """Return `left == right` as a bool. Raises ValueError where that fails, as for arrays."""
    try:
        return bool(left == right)
    except Exception as error:
        raise ValueError(
            f"metadata of pytree nodes cannot be compared: `==` of two {type(left).__name__} raised "
            f"{type(error).__name__}: {error}. Metadata must be hashable, and compare to True or False; "
            "arrays belong among the children of a node."
        ) from error


def hash_data(data: Any) -> int:
    """Return a hash that agrees with `same_data`; 0 for what has none, so structures with such data can be keys."""
    kind = type(data)
    if kind is tuple:
        return hash(tuple([hash_data(item) for item in data]))
    if kind is float or kind is complex:
        return hash(repr(data))
    try:
        return hash(data)
    except TypeError:
        return 0


def bounded(cache: MutableMapping[Any, Any], limit: int) -> None:
    """Empty a cache that has reached `limit` entries."""
    if len(cache) >= limit:
        cache.clear()
