"""Walks along a structure: leaves into a tree, a tree into its parts, a node into what a fold makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any


def rebuild(definition: Any, leaves: Iterator[Any]) -> Any:
    """The tree of that structure with the leaves that come next."""
    kind = definition.kind
    if kind is None:
        return next(leaves)
    if definition.shallow:
        return kind.put_together(definition.data, list(islice(leaves, definition.num_leaves)))
    return kind.put_together(definition.data, [rebuild(subtree, leaves) for subtree in definition.subtrees])


def collect(definition: Any, tree: Any, parts: list[Any]) -> None:
    """Append what of `tree` stands in the places of the leaves of a structure."""
    kind = definition.kind
    if kind is None:
        parts.append(tree)
        return
    children = kind.children_like(definition, tree)
    if definition.shallow:
        parts.extend(children)
        return
    for subtree, child in zip(definition.subtrees, children):
        collect(subtree, child, parts)


def visit(definition: Any, f_node: Callable[[Any, Any], Any], children: list[Any]) -> Any:
    """What a fold makes of a node whose children it has done."""
    kind = definition.kind
    assert kind is not None
    return f_node(tuple(children), kind.metadata(kind.node_data(definition.data)))
