"""Trees with the key path of each leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad._core.tree import deep
from tangrad._core.tree.definition import LEAF, Leaf, PyTreeDef, define, kind_of
from tangrad._core.tree.keys import KeyPath
from tangrad._core.tree.mismatches import flatten_rest
from tangrad._core.tree.predicates import answers_yes

PathIsLeaf = Callable[..., bool] | None


def tree_flatten_with_path(
    tree: Any, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Leaf]], PyTreeDef]:
    """Return pairs of key path and leaf, and the structure of a tree.

    Args:
        tree: as in `flatten`.
        is_leaf: as in `flatten`.
        is_leaf_takes_path: call `is_leaf(path, node)` instead of `is_leaf(node)`.

    >>> import tangrad
    >>> tangrad.tree.flatten_with_path({"a": [1]})
    ([((DictKey(key='a'), SequenceKey(idx=0)), 1)], PyTreeDef({'a': [*]}))
    """
    found: list[tuple[KeyPath, Leaf]] = []
    stops = is_leaf
    if is_leaf is not None and not is_leaf_takes_path:
        without_path = is_leaf

        def stops(path: KeyPath, node: Any) -> bool:
            return without_path(node)

    def apart(value: tuple[KeyPath, Any]) -> deep.Apart | None:
        path, node = value
        kind = None if stops is not None and answers_yes(stops(path, node)) else kind_of(type(node))
        if kind is None:
            return None
        keys, children, data = kind.entries(node)
        return kind, [((*path, key), child) for key, child in zip(keys, children)], data, id(node)

    return found, deep.flatten(((), tree), found, LEAF, define, apart)


def tree_leaves_with_path(
    tree: Any, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Leaf]]:
    """Return pairs of key path and leaf.

    Args:
        tree, is_leaf, is_leaf_takes_path: as in `flatten_with_path`.

    >>> import tangrad
    >>> tangrad.tree.leaves_with_path({"a": [1]})
    [((DictKey(key='a'), SequenceKey(idx=0)), 1)]
    """
    return tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def tree_map_with_path(
    f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: PathIsLeaf = None, is_leaf_takes_path: bool = False
) -> Any:
    """Apply a function to each leaf and its key path; return the tree of the results.

    Args:
        f: called with the path, the leaf of `tree`, and what stands in its place in each tree of `rest`.
        tree: as in `flatten`.
        *rest: trees that have `tree` as a prefix.
        is_leaf, is_leaf_takes_path: as in `flatten_with_path`.

    Raises:
        ValueError: a tree of `rest` differs from `tree`; the message has the key path.

    >>> import tangrad
    >>> from tangrad.tree_util import keystr
    >>> tangrad.tree.map_with_path(lambda path, x: keystr(path) + str(x), {"a": [1]})
    {'a': ["['a'][0]1"]}
    """
    pairs, structure = tree_flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    # An error is explained without `is_leaf` where that wants paths: it may then say less, never something wrong.
    plain = None if is_leaf_takes_path else is_leaf
    columns = [flatten_rest("tree_map_with_path", structure, tree, other, plain) for other in rest]
    return structure.unflatten([f(path, leaf, *others) for (path, leaf), *others in zip(pairs, *columns)])
