"""Structures of arguments and results as JSON, and back.

A leaf is `"*"`, None is null; `["tuple", a, b]`, `["list", a, b]`, and `["dict", key, a, key, b]` with keys that are
strings or integers. Other nodes belong to Python code, which a file does not have: hand in dictionaries or tuples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad._runtime.errors import ArtifactError, of_type

if TYPE_CHECKING:
    from tangrad.typing import PyTree

LEAF = "*"
DEEPEST = 100  # nodes within nodes


def written(value: Any, what: str, depth: int = 0) -> str | list[Any] | None:
    """The structure of a tree, whatever its leaves are. Raises ArtifactError for a node that cannot be written."""
    if depth > DEEPEST and type(value) in (tuple, list, dict):
        raise ArtifactError(f"{what} is nested deeper than the {DEEPEST} nodes within nodes that files have")
    if value is None:
        return None
    if type(value) in (tuple, list):
        return [type(value).__name__, *[written(item, what, depth + 1) for item in value]]
    if type(value) is dict:
        if not all([type(key) in (str, int) for key in value]):
            raise ArtifactError(f"{what} has a dict with keys {list(value)!r}; those of files are strings or integers")
        keys, _ = tree.flatten({key: key for key in value})  # in the order of the leaves
        return ["dict", *[part for key in keys for part in (key, written(value[key], what, depth + 1))]]
    if tree.structure(value).node_data() is None:
        return LEAF
    raise ArtifactError(f"{what} has a node of type {type(value).__name__}; files have tuples, lists, dicts and None")


def read(value: Any, depth: int = 0) -> PyTree:
    """A tree of the structure that was written, with `LEAF` for leaves. Raises ArtifactError."""
    if value is None or value == LEAF:
        return value
    if type(value) is not list or not value or depth > DEEPEST:
        raise ArtifactError(f"no structure of arguments or results is written as {of_type(value)}")
    kind, *items = value
    if kind == "dict" and not len(items) % 2 and all([type(key) in (str, int) for key in items[::2]]):
        found = {key: read(item, depth + 1) for key, item in zip(items[::2], items[1::2])}
        if len(found) * 2 == len(items):
            return found
    if kind == "tuple":
        return tuple([read(item, depth + 1) for item in items])
    if kind == "list":
        return [read(item, depth + 1) for item in items]
    raise ArtifactError(f"no structure of arguments or results is written as {of_type(value)}")
