"""Prefixes of trees: a tree whose leaves stand for whole subtrees of another, as `in_axes` of `vmap` does."""

from __future__ import annotations

from typing import Any

from tangrad._core.tree.definition import Leaf, PyTreeDef, kind_of
from tangrad._core.tree.interning import equal_data
from tangrad._core.tree.keys import KeyPath, keystr
from tangrad._core.tree.mismatches import explain_nodes, prefix_errors, type_names, with_article
from tangrad._core.tree.operations import tree_flatten, tree_structure
from tangrad._core.tree.predicates import IsLeaf


def tree_broadcast(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Return the tree with the structure of `full_tree` and, at each leaf, the leaf of the prefix that covers it.

    Args:
        prefix_tree: a prefix of `full_tree`.
        full_tree: gives the structure.
        is_leaf: as in `flatten`, for `prefix_tree`.

    Raises:
        ValueError: `prefix_tree` is not a prefix; the message has the key path.

    >>> import tangrad
    >>> tangrad.tree.broadcast({"a": 0, "b": [1, 2]}, {"a": (5, 6), "b": [7, 8]})
    {'a': (0, 0), 'b': [1, 2]}
    """
    return tree_structure(full_tree).unflatten(broadcast_prefix(prefix_tree, full_tree, is_leaf))


def broadcast_prefix(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Leaf]:
    """Return the leaves of a prefix, each as often as the part of the full tree that it covers has leaves.

    Args:
        prefix_tree: a prefix of `full_tree`.
        full_tree: gives the structure.
        is_leaf: as in `flatten`, for `prefix_tree`: `lambda x: x is None` makes None one of its leaves.

    Raises:
        ValueError: `prefix_tree` is not a prefix; the message has the key path.

    >>> from tangrad.tree_util import broadcast_prefix
    >>> broadcast_prefix((0, None), ((1, 2), [3, 4]), is_leaf=lambda x: x is None)
    [0, 0, None, None]
    """
    leaves, structure = tree_flatten(prefix_tree, is_leaf)
    try:
        parts = structure.flatten_up_to(full_tree)
    except ValueError:
        errors = prefix_errors(prefix_tree, full_tree, is_leaf)
        if not errors:
            raise
    else:
        result: list[Leaf] = []
        for leaf, part in zip(leaves, parts):
            result += [leaf] * tree_structure(part).num_leaves
        return result
    raise errors[0]("prefix_tree")


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, hint: str = "") -> list[Any]:
    """Return the leaf of `axis_tree` for each leaf of a structure. None counts as a leaf: "not mapped".

    Args:
        name: the argument that `axis_tree` was given as, for the error: `vmap in_axes`.
        treedef: the structure that `axis_tree` must be a prefix of.
        axis_tree: a tree of axes, or one axis for all.
        hint: a sentence put at the end of the error.

    Raises:
        ValueError: `axis_tree` is not a prefix; the message has the key path.

    >>> import tangrad
    >>> from tangrad.tree_util import flatten_axes
    >>> flatten_axes("in_axes", tangrad.tree.structure(((1, 2), {"a": 3})), (0, None))
    [0, 0, None]
    """
    if axis_tree is None or kind_of(type(axis_tree)) is None:  # by far the most frequent: one axis for all
        return [axis_tree] * treedef.num_leaves
    axes: list[Any] = []
    difference = _compare_subtrees((), treedef, axis_tree, axes)
    if difference is None:
        return axes
    raise ValueError(
        f"{name} must be a tree prefix of the value that it describes. {difference.replace('@', name, 1)}"
        f"{'. ' * bool(hint)}{hint}"
    )


def _compare_subtrees(path: KeyPath, structure: PyTreeDef, axis_tree: Any, axes: list[Any]) -> str | None:
    """Append the axis of each leaf to `axes`; return what hinders that, with @ for the argument's name."""
    kind = None if axis_tree is None else kind_of(type(axis_tree))
    if kind is None:
        axes.extend([axis_tree] * structure.num_leaves)
        return None
    if kind is not structure.kind:
        first, second = _names(type(axis_tree), structure)
        return f"At @{keystr(path)} it has {first}, where the value has {second}"
    keys, children, data = kind.entries(axis_tree)
    if len(children) != len(structure.subtrees) or not equal_data(data, structure.data):
        explained = explain_nodes(kind, data, len(children), structure.data, len(structure.subtrees))
        first, second, why = explained or ("one node", "another", "they differ")
        return f"At @{keystr(path)} it has {first}, where the value has {second}: {why}"
    for key, subtree, child in zip(keys, structure.subtrees, children):
        problem = _compare_subtrees((*path, key), subtree, child, axes)
        if problem is not None:
            return problem
    return None


def _names(axis_type: type, structure: PyTreeDef) -> tuple[str, str]:
    if structure.kind is None:
        return with_article(axis_type.__name__), "a leaf"
    return type_names(axis_type, structure.kind.type)
