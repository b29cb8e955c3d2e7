"""The leaves of trees that users hand in or return, where each has to be an array."""

from __future__ import annotations

from typing import Any

from tangrad._core.kernel.aval import is_array_value
from tangrad._core.tree.keys import keystr
from tangrad._core.tree.operations import tree_flatten, tree_leaves_with_path

_EXPECTED = "expected arrays, numbers, and trees of them"


def array_leaves(value: Any, what: str, cure: str = _EXPECTED) -> tuple[list[Any], Any]:
    """The leaves and the structure of what a function was given.

    Raises TypeError for a leaf that is no array or number: what it is, its path, the leaf and its type; `cure`.

    >>> from tangrad.core import array_leaves
    >>> array_leaves({"x": 1.0}, "argument a")[0]
    [1.0]
    >>> array_leaves({"x": "one"}, "argument a")
    Traceback (most recent call last):
        ...
    TypeError: argument a['x'] is 'one' of type str; expected arrays, numbers, and trees of them
    """
    leaves, structure = tree_flatten(value)
    for position, leaf in enumerate(leaves):
        if not hasattr(type(leaf), "aval") and not is_array_value(leaf):  # no call for an array
            cure += "; a function is no operand: close over it" if callable(leaf) and cure is _EXPECTED else ""
            raise TypeError(f"{what}{_path(value, position)} is {leaf!r} of type {type(leaf).__name__}; {cure}")
    return leaves, structure


def returned_leaves(value: Any, function: str, place: str = "result") -> tuple[list[Any], Any]:
    """The leaves and the structure of what a user's function returned, or of the part of it that is named `place`.

    Raises TypeError for a leaf that is no array or number.

    >>> from tangrad.core import returned_leaves
    >>> returned_leaves((1.0, {"loss": "high"}), "step")
    Traceback (most recent call last):
        ...
    TypeError: step returned, at result[1]['loss'], 'high' of type str; expected arrays, numbers, and trees of them
    """
    leaves, structure = tree_flatten(value)
    for position, leaf in enumerate(leaves):
        if not hasattr(type(leaf), "aval") and not is_array_value(leaf):  # no call for an array
            where = place + _path(value, position)
            returned = "returned" if where == "result" else f"returned, at {where},"
            raise TypeError(f"{function} {returned} {leaf!r} of type {type(leaf).__name__}; {_EXPECTED}")
    return leaves, structure


def _path(value: Any, position: int) -> str:
    return keystr(tree_leaves_with_path(value)[position][0])
