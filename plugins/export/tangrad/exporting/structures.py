"""The structures of arguments and results in files: tuples, lists, dictionaries, None and leaves, as JSON."""

from __future__ import annotations

from typing import Any

from tangrad import tree

DEPTH = 100
LEAF = 0


def described_tree(structure: Any) -> Any:
    """A structure as JSON: 0 for a leaf, None, `["tuple", ...]`, `["list", ...]`, `["dict", [key, ...], ...]`.

    Raises ValueError for nodes of other types, and keys that are no strings.
    """
    return _described(structure.unflatten([_Leaf] * structure.num_leaves))


class _Leaf:
    """Stands for a leaf."""


def _described(value: Any) -> Any:
    if value is _Leaf:
        return LEAF
    if value is None:
        return None
    kind = type(value)
    if kind in (tuple, list):
        return [kind.__name__, *[_described(item) for item in value]]
    if kind is dict and all([isinstance(key, str) for key in value]):
        return ["dict", list(value), *[_described(item) for item in value.values()]]
    raise ValueError(
        f"serialize: arguments and results are written in tuples, lists, None and dictionaries with strings as keys, "
        f"got a {kind.__name__}"
    )


def tree_from(description: Any) -> Any:
    """The structure of a description. Raises ValueError for what is none."""
    return tree.structure(_built(description, 0))


def _built(description: Any, depth: int) -> Any:
    if depth > DEPTH:
        raise ValueError("a structure that is nested too deeply")
    if description is None or (type(description) is int and description == LEAF):
        return None if description is None else _Leaf()
    if not isinstance(description, list) or not description:
        raise ValueError(f"{description!r:.80} is no structure")
    kind, *items = description
    if kind == "tuple":
        return tuple([_built(item, depth + 1) for item in items])
    if kind == "list":
        return [_built(item, depth + 1) for item in items]
    if kind == "dict" and items and isinstance(items[0], list) and all([isinstance(key, str) for key in items[0]]):
        keys, *values = items
        if len(keys) != len(values) or len(set(keys)) != len(keys):
            raise ValueError("a dictionary whose keys and values do not fit")
        return {key: _built(value, depth + 1) for key, value in zip(keys, values, strict=True)}
    raise ValueError(f"{kind!r:.80} is no kind of structure")
