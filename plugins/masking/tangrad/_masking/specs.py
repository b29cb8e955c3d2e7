"""Shape specs as strings, for all arguments of a call, in one scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad import tree
from tangrad.extend.symbolic import SymbolicScope, symbolic_shape
from tangrad.tree_util import broadcast_prefix, keystr


def parsed(spec: str, scope: SymbolicScope, like: Sequence[Any] | None, what: str) -> tuple[Any, ...]:
    """A spec as a shape. Raises TypeError for what is no string, ValueError for one that cannot be read or does not
    fit `like`, naming what it is the spec of.
    """
    if not isinstance(spec, str):
        raise TypeError(f"the spec of {what} must be a string such as '(n, m)', got {spec!r} of {type(spec).__name__}")
    text = spec.strip()
    inside = text[1:-1] if text.startswith("(") and text.endswith(")") and _is_pair(text) else text
    try:
        return symbolic_shape(inside.strip().rstrip(","), scope=scope, like=like)
    except ValueError as error:
        raise ValueError(f"the spec {spec!r} of {what} does not fit: {error}") from None


def _is_pair(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return position == len(text) - 1
    return False


def for_leaves(specs: Any, values: Any, what: str) -> list[tuple[str, Any]]:
    """For each leaf of `values` what it is called, and its spec, of which one may stand for a whole subtree."""
    names = [what + keystr(path) for path, _ in tree.leaves_with_path(values)]
    return list(zip(names, broadcast_prefix(specs, values), strict=True))
