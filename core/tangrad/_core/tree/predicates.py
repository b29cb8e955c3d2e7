"""Walks that a user's function `is_leaf` can stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._core.tree import deep
from tangrad._core.tree.definition import LEAF, Leaf, NodeKind, PyTreeDef, define, kind_of

IsLeaf = Callable[[Any], bool]


def flatten_until(tree: Any, is_leaf: IsLeaf, leaves: list[Leaf]) -> PyTreeDef:
    """Append to `leaves` what is a leaf or what `is_leaf` says is one; return the structure above."""

    def apart(value: Any) -> deep.Apart | None:
        kind = kind_unless(value, is_leaf)
        return None if kind is None else (kind, *kind.flatten_node(value), id(value))

    found: PyTreeDef = deep.flatten(tree, leaves, LEAF, define, apart)
    return found


def answers_yes(answer: Any) -> bool:
    """Return the answer of an `is_leaf` function; None counts as False. Raises ValueError for anything but a bool."""
    if answer is True:
        return True
    if answer is False or answer is None:
        return False
    raise ValueError(f"is_leaf must return True or False, got {type(answer).__name__}: {answer!r}")


def kind_unless(tree: Any, is_leaf: IsLeaf | None) -> NodeKind | None:
    """Return the kind of the node `tree`; None if it is a leaf, or `is_leaf` says that it is one."""
    if is_leaf is not None and answers_yes(is_leaf(tree)):
        return None
    return kind_of(type(tree))
