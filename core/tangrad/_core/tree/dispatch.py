"""Which types are nodes of pytrees: type -> the function that flattens its values, or None where they are leaves.

Everything that walks trees fast starts from `flatteners`. A type that was not seen yet is looked at once.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, TypeAlias

Flattener: TypeAlias = Callable[[Any, list[Any]], Any]

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
