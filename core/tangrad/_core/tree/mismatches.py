"""Where two trees differ: errors that name the key path, and what each tree has there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tangrad._core.tree.builtin_nodes import DictKind, SequenceKind
from tangrad._core.tree.definition import NodeKind, PyTreeDef
from tangrad._core.tree.interning import equal_data
from tangrad._core.tree.keys import KeyPath, keystr
from tangrad._core.tree.predicates import IsLeaf, kind_unless

Difference = tuple[KeyPath, str, str, str]  # where, what the first tree has, what the second has, why they differ


def equality_errors(tree1: Any, tree2: Any, is_leaf: IsLeaf | None = None) -> Iterator[Difference]:
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
    yield from _differences((), tree1, tree2, is_leaf, prefix=False)


def prefix_errors(prefix_tree: Any, full_tree: Any, is_leaf: IsLeaf | None = None) -> list[Callable[[str], ValueError]]:
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
    differences = _differences((), prefix_tree, full_tree, is_leaf, prefix=True)
    return [partial(_prefix_error, difference) for difference in differences]


def _prefix_error(difference: Difference, name: str) -> ValueError:
    path, first, second, why = difference
    where = f"{name}{keystr(path)}"
    return ValueError(f"pytree structure error at {where}: the prefix has {first}, the full tree has {second}: {why}")


def flatten_rest(function: str, structure: PyTreeDef, tree: Any, other: Any, is_leaf: IsLeaf | None) -> list[Any]:
    """Return `structure.flatten_up_to(other)`; the error names the key path, and the `function` that got `tree`."""
    try:
        return structure.flatten_up_to(other)
    except ValueError:
        errors = prefix_errors(tree, other, is_leaf)
        if not errors:
            raise
    raise errors[0](f"{function} tree")


def _differences(path: KeyPath, first: Any, second: Any, is_leaf: IsLeaf | None, prefix: bool) -> Iterator[Difference]:
    kind = kind_unless(first, is_leaf)
    if kind is None and prefix:
        return
    other = kind_unless(second, None if prefix else is_leaf)
    if kind is None or other is None or kind is not other:
        if kind is not other:
            yield path, *type_names(type(first), type(second)), "the types differ"
        return
    yield from _node_differences(path, kind, first, second, is_leaf, prefix)


def _node_differences(
    path: KeyPath, kind: NodeKind, first: Any, second: Any, is_leaf: IsLeaf | None, prefix: bool
) -> Iterator[Difference]:
    keys, children, data = kind.entries(first)
    _, other_children, other_data = kind.entries(second)
    difference = explain_nodes(kind, data, len(children), other_data, len(other_children))
    if difference is not None:
        yield path, *difference
        return
    for key, child, other_child in zip(keys, children, other_children):
        yield from _differences((*path, key), child, other_child, is_leaf, prefix)


def explain_nodes(
    kind: NodeKind, data: Any, count: int, other_data: Any, other_count: int
) -> tuple[str, str, str] | None:
    """Return what two nodes of one kind have, and why that differs; None if they are alike but for their children."""
    name = with_article(kind.type.__name__)
    if isinstance(kind, DictKind):
        if data == other_data:
            return None
        first, second = (f"{name} with the keys {_listed(keys)}" for keys in (data, other_data))
        return first, second, _explain_keys(data, other_data)
    if not isinstance(kind, SequenceKind) and not equal_data(data, other_data):
        return f"{name} with metadata {data!r}", f"{name} with metadata {other_data!r}", "the metadata differ"
    if count == other_count:
        return None
    if isinstance(kind, SequenceKind):
        return f"{name} of length {count}", f"{name} of length {other_count}", "the lengths differ"
    return f"{name} with {count} children", f"{name} with {other_count} children", "the numbers of children differ"


def _explain_keys(keys: tuple[Any, ...], other_keys: tuple[Any, ...]) -> str:
    first = tuple([key for key in keys if key not in other_keys])
    second = tuple([key for key in other_keys if key not in keys])
    only = [f"{_listed(some)} only in the {name}" for some, name in ((first, "first"), (second, "second")) if some]
    return f"the keys differ, {' and '.join(only)}" if only else "the keys are in another order"


def _listed(keys: tuple[Any, ...]) -> str:
    """Return keys as text, the first of them if they are many."""
    shown = [repr(key) for key in keys[:12]]
    return f"[{', '.join(shown)}{', ...' if len(keys) > 12 else ''}]"


def type_names(first: type, second: type) -> tuple[str, str]:
    """Return the names of two types, with articles; with their modules if the names alone are the same."""
    if first.__name__ != second.__name__:
        return with_article(first.__name__), with_article(second.__name__)
    return f"a {first.__module__}.{first.__qualname__}", f"a {second.__module__}.{second.__qualname__}"


def with_article(name: str) -> str:
    """Return the name of a type as a sentence has it: `a list`, `an int`, `None`."""
    if name == "NoneType":
        return "None"
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"
