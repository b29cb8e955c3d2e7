"""Prefixes of trees, whose leaves stand for whole subtrees of another, as `in_axes` of `vmap` does; where trees differ.

Errors name the key path, and what each tree has there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from tangrad._core.tree import deep
from tangrad._core.tree.builtin_nodes import DictKind, SequenceKind, listed
from tangrad._core.tree.definition import LEAF, NodeKind, PyTreeDef, define, flatten_into, kind_of, with_article
from tangrad._core.tree.keys import KeyPath, keystr
from tangrad._core.tree.tables import Leaf, PyTree, equal_data

IsLeaf = Callable[[PyTree], bool]
Difference = tuple[KeyPath, str, str, str]  # where, what the first tree has, what the second has, why they differ


def flatten_until(tree: PyTree, is_leaf: IsLeaf | None, leaves: list[Leaf]) -> PyTreeDef:
    """Append to `leaves` what is a leaf or is one by `is_leaf`; return the structure above."""
    if is_leaf is None:
        return flatten_into(tree, leaves)

    def apart(value: object) -> deep.Apart | None:
        kind = None if answers_yes(is_leaf(value)) else kind_of(type(value))
        return None if kind is None else (kind, *kind.flatten_node(value), id(value))

    found: PyTreeDef = deep.flatten(tree, leaves, LEAF, define, apart)
    return found


def answers_yes(answer: bool) -> bool:
    """Return the answer of an `is_leaf` function; None counts as False. Raises ValueError for anything but a bool."""
    if answer is True:
        return True
    if answer is False or answer is None:
        return False
    raise ValueError(f"is_leaf must return True or False, got {type(answer).__name__}: {answer!r}")


def equality_errors(tree1: object, tree2: object, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
    """Yield where two trees that should have the same structure differ, nearest to the root first.

    Args:
        tree1: a tree.
        tree2: another.
        is_leaf: as in `flatten`, for both.

    Yields:
        The key path, what `tree1` has there, what `tree2` has there, and why that differs.

    >>> from tangrad.tree_util import equality_errors, keystr
    >>> for path, first, second, why in equality_errors({"a": (1, 2)}, {"a": (1,)}):
    ...     print(f"{keystr(path)}: {first} in one, {second} in the other: {why}")
    ['a']: a tuple of length 2 in one, a tuple of length 1 in the other: the lengths differ
    """
    leaves: list[Leaf] = []
    structure = flatten_until(tree2, is_leaf, leaves)
    return iter(_differences(tree1, structure, list(map(type, leaves)), is_leaf))


def prefix_errors(
    prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None
) -> list[Callable[[str], ValueError]]:
    """Return why a tree is not a prefix of another: no error if it is one.

    Args:
        prefix_tree: a tree whose leaves may stand for whole subtrees.
        full_tree: the tree that it should be a prefix of.
        is_leaf: as in `flatten`, for `prefix_tree`.

    Returns:
        For each difference a function from the argument's name to the error.

    >>> from tangrad.tree_util import prefix_errors
    >>> (make_error,) = prefix_errors((0, [1]), (0, (1,)))
    >>> print(make_error("in_axes"))
    pytree structure error at in_axes[1]: the prefix has a list, the full tree has a tuple: the types differ
    """
    leaves: list[Leaf] = []
    structure = flatten_into(full_tree, leaves)
    differences = _differences(prefix_tree, structure, list(map(type, leaves)), is_leaf, covering=[])
    return [partial(_prefix_error, difference) for difference in differences]


def _prefix_error(difference: Difference, name: str) -> ValueError:
    path, first, second, why = difference
    where = f"{name}{keystr(path)}"
    return ValueError(f"pytree structure error at {where}: the prefix has {first}, the full tree has {second}: {why}")


def flatten_rest(
    function: str, structure: PyTreeDef, tree: PyTree, other: PyTree, is_leaf: IsLeaf | None
) -> list[PyTree]:
    """Return `structure.flatten_up_to(other)`; the error names the key path, and the `function` that got `tree`."""
    try:
        return structure.flatten_up_to(other)
    except ValueError:
        errors = prefix_errors(tree, other, is_leaf)
        if not errors:
            raise
    raise errors[0](f"{function} tree")


def _differences(
    first: object,
    second: PyTreeDef,
    types: Sequence[type],
    is_leaf: IsLeaf | None,
    covering: list[Leaf] | None = None,
    path: KeyPath = (),
    start: int = 0,
) -> list[Difference]:
    """Return where a tree differs from another, which has the structure `second`, and leaves of these `types`.

    Where `covering` is given, a leaf of the first tree covers all that the second has in its place: it is appended to
    that list once for each leaf of the second. The leaves of this subtree begin at `start`.
    """
    kind = kind_of(type(first))
    if kind is not None and is_leaf is not None and answers_yes(is_leaf(first)):
        kind = None
    if kind is None and covering is not None:
        covering += [first] * second.num_leaves
        return []
    if kind is not second.kind:
        other = types[start] if second.kind is None else second.kind.type
        return [(path, *_type_names(type(first), other), "the types differ")]
    if kind is None:
        return []
    keys, children, data = kind.entries(first)
    if len(children) != len(second.subtrees) or not equal_data(data, second.data):
        return [(path, *_explain(kind, data, len(children), second))]
    found = []
    for key, child, subtree in zip(keys, children, second.subtrees):
        found += _differences(child, subtree, types, is_leaf, covering, (*path, key), start)
        start += subtree.num_leaves
    return found


def _explain(kind: NodeKind, data: Any, count: int, other: PyTreeDef) -> tuple[str, str, str]:
    """Return what two nodes of one kind have, and why that differs."""
    if isinstance(kind, DictKind):
        why = _explain_keys(data, other.data)
    elif isinstance(kind, SequenceKind):
        why = "the lengths differ"
    else:
        why = "the metadata differ" if count == len(other.subtrees) else "the numbers of children differ"
    name = with_article(kind.type.__name__)
    return name + kind.features(data, count), name + kind.features(other.data, len(other.subtrees)), why


def _explain_keys(keys: tuple[str, ...], other_keys: tuple[str, ...]) -> str:
    first = tuple([key for key in keys if key not in other_keys])
    second = tuple([key for key in other_keys if key not in keys])
    only = [f"{listed(some)} only in the {name}" for some, name in ((first, "first"), (second, "second")) if some]
    return f"the keys differ, {' and '.join(only)}" if only else "the keys are in another order"


def _type_names(first: type, second: type) -> tuple[str, str]:
    """Return the names of two types, with articles; with their modules if the names alone are the same."""
    if first.__name__ != second.__name__:
        return with_article(first.__name__), with_article(second.__name__)
    return f"a {first.__module__}.{first.__qualname__}", f"a {second.__module__}.{second.__qualname__}"


def tree_broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf | None = None) -> PyTree:
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
    leaves, structure = _broadcast(prefix_tree, full_tree, is_leaf)
    return structure.unflatten(leaves)


def broadcast_prefix(prefix_tree: object, full_tree: object, is_leaf: IsLeaf | None = None) -> list[Leaf]:
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
    return _broadcast(prefix_tree, full_tree, is_leaf)[0]


def _broadcast(prefix_tree: object, full_tree: object, is_leaf: IsLeaf | None) -> tuple[list[Leaf], PyTreeDef]:
    leaves: list[Leaf] = []
    structure = flatten_into(full_tree, leaves)
    covering: list[Leaf] = []
    differences = _differences(prefix_tree, structure, list(map(type, leaves)), is_leaf, covering)
    if differences:
        raise _prefix_error(differences[0], "prefix_tree")
    return covering, structure


class leaf:  # noqa: N801 - messages have the names of types
    """What the leaves of a structure are where their types are not known."""


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: object, hint: str = "") -> list[Leaf]:
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
    axes: list[Leaf] = []
    differences = _differences(axis_tree, treedef, [leaf] * treedef.num_leaves, lambda axis: axis is None, axes)
    if not differences:
        return axes
    path, first, second, why = differences[0]
    because = "" if why == "the types differ" else f": {why}"
    raise ValueError(
        f"{name} must be a tree prefix of the value that it describes. "
        f"At {name}{keystr(path)} it has {first}, where the value has {second}{because}"
        f"{'. ' * bool(hint)}{hint}"
    )
