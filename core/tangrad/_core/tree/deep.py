"""Walks without recursion, for trees nested deeper than Python's stack of calls.

To flatten, recursion is faster, so it is tried first: what runs into RecursionError begins again here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tangrad._core.tree.tables import Leaf, PyTree, flatteners

Define = Callable[[Any, Any, Sequence[Any]], Any]
Apart = tuple[Any, Sequence[PyTree], Any, int]


def flatten_node(value: object) -> Apart | None:
    """The kind of a node, its children, its data and its identity; None for a leaf."""
    flattener: Any = flatteners[type(value)]
    if flattener is None:
        return None
    kind = flattener.__self__
    return kind, *kind.flatten_node(value), id(value)


def flatten(
    tree: PyTree, leaves: list[Leaf], leaf: Any, define: Define, apart: Callable[[Any], Apart | None] = flatten_node
) -> Any:
    """Append the leaves of `tree` to `leaves`; return its structure, made by `define` of a kind, data and structures.

    `leaf`: the structure of one; `apart` takes a value apart. Raises RecursionError where the tree contains itself.
    """
    above: set[int] = set()
    # With what is done in each.
    path: list[tuple[Apart | None, Iterator[PyTree], list[Any]]] = [(None, iter((tree,)), [])]
    while True:
        node, rest, done = path[-1]
        for value in rest:
            parts = apart(value)
            if parts is not None:
                break
            leaves.append(value)
            done.append(leaf)
        else:
            path.pop()
            if node is None:
                return done[0]
            above.discard(node[3])
            path[-1][2].append(define(node[0], node[2], done))
            continue
        if parts[3] in above:
            raise RecursionError(f"a tree contains itself: a {parts[0].type.__name__} is among its own children")
        above.add(parts[3])
        path.append((parts, iter(parts[1]), []))


def fold(structure: Any, at_leaf: Callable[[], object], at_node: Callable[[Any, list[Any]], object]) -> Any:
    """The result of `at_node(structure, results of its children)` at the root, where leaves give `at_leaf()`."""
    # With what is done in each.
    path: list[tuple[Any, Iterator[Any], list[Any]]] = [(None, iter((structure,)), [])]
    while True:
        node, rest, done = path[-1]
        for below in rest:
            if below.kind is None:
                done.append(at_leaf())
            elif below.shallow:
                done.append(at_node(below, [at_leaf() for _ in below.subtrees]))
            else:
                path.append((below, iter(below.subtrees), []))
                break
        else:
            path.pop()
            if node is None:
                return done[0]
            path[-1][2].append(at_node(node, done))


def collect(structure: Any, tree: PyTree) -> list[PyTree]:
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
