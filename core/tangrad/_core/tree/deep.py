"""Walks without recursion, for trees nested deeper than Python's stack of calls.

To flatten, recursion is faster, so it is tried first: what runs into RecursionError begins again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tangrad._core.tree.dispatch import flatteners

Define = Callable[[Any, Any, Sequence[Any]], Any]
Apart = tuple[Any, Iterable[Any], Any, int]


class _Open:
    """A node whose children are being looked at."""

    __slots__ = ("children", "data", "done", "identity", "kind")

    def __init__(self, kind: Any, children: Iterable[Any], data: Any, identity: int) -> None:
        self.kind = kind
        self.children = iter(children)
        self.data = data
        self.identity = identity
        self.done: list[Any] = []


def flatten_node(value: Any) -> Apart | None:
    """The kind of a node, its children, its data and its identity; None for a leaf."""
    flattener: Any = flatteners[type(value)]
    if flattener is None:
        return None
    kind = flattener.__self__
    children, data = kind.flatten_node(value)
    return kind, children, data, id(value)


def flatten(
    tree: Any, leaves: list[Any], leaf: Any, define: Define, apart: Callable[[Any], Apart | None] = flatten_node
) -> Any:
    """Append the leaves of `tree` to `leaves`; return its structure, made by `define` of a kind, data and structures.

    `leaf`: the structure of one; `apart` takes a value apart. Raises RecursionError where the tree contains itself.
    """
    path: list[_Open] = []
    above: set[int] = set()
    value = tree
    while True:
        parts = apart(value)
        found = None
        if parts is None:
            leaves.append(value)
            found = leaf
        else:
            node = _Open(*parts)
            if node.identity in above:
                raise RecursionError(f"a tree contains itself: a {node.kind.type.__name__} is among its own children")
            path.append(node)
            above.add(node.identity)
        while path:
            node = path[-1]
            if found is not None:
                node.done.append(found)
            try:
                value = next(node.children)
                break
            except StopIteration:
                found = define(node.kind, node.data, node.done)
                above.discard(node.identity)
                path.pop()
        else:
            return found


def fold(structure: Any, at_leaf: Callable[[], Any], at_node: Callable[[Any, list[Any]], Any]) -> Any:
    """The result of `at_node(structure, results of its children)` at the root, where leaves give `at_leaf()`."""
    if structure.shallow:
        done = [at_leaf() for _ in structure.subtrees]
        return at_leaf() if structure.kind is None else at_node(structure, done)
    path: list[tuple[Any, Any, list[Any]]] = [(structure, iter(structure.subtrees), [])]
    while True:
        node, rest, done = path[-1]
        below = next(rest, None)
        if below is None:
            found = at_node(node, done)
            path.pop()
            if not path:
                return found
            path[-1][2].append(found)
        elif below.kind is None:
            done.append(at_leaf())
        elif below.shallow:
            done.append(at_node(below, [at_leaf() for _ in below.subtrees]))
        else:
            path.append((below, iter(below.subtrees), []))


def collect(structure: Any, tree: Any) -> list[Any]:
    """What stands in `tree` where `structure` has its leaves."""
    parts = []
    waiting = [(structure, tree)]
    while waiting:
        node, value = waiting.pop()
        if node.kind is None:
            parts.append(value)
        elif node.shallow:
            parts.extend(node.kind.children_like(node, value))
        else:
            waiting.extend([*zip(node.subtrees, node.kind.children_like(node, value))][::-1])
    return parts
