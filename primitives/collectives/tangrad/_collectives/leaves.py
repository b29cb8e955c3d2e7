"""Collectives act on each leaf of a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tangrad.core import Array, Primitive, array_leaves, as_array, as_operand
from tangrad.typing import Value


def checked_leaves(function: str, x: Value) -> tuple[list[Any], Any]:
    """The leaves and the structure of `x`. Raises TypeError for a leaf that is no array, by its path."""
    return array_leaves(x, f"{function}: x")


def apply_checked(primitive: Primitive, operand: Value, **params: object) -> Array:
    """The primitive applied to an operand whose type was checked: what maps the axis would not look at that."""
    primitive.infer((operand.aval,), params)
    return primitive.bind(operand, **params)


def on_leaves(function: str, x: Value, apply: Callable[[Any], Any]) -> Array:
    """The tree with `apply(operand)` in place of each leaf."""
    leaves, structure = checked_leaves(function, x)
    return structure.unflatten([as_array(apply(as_operand(leaf))) for leaf in leaves])
