"""Splitting stacked rows and columns of Jacobians by the arrays that they belong to.

Uses the operators of arrays, which the `numpy` plugin provides, or plain slices where it is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tangrad.core import Array, ShapedArray
    from tangrad.typing import Value


def unravel_last(column: Any, avals: Sequence[ShapedArray]) -> list[Any]:
    """Split the last axis by the sizes of `avals`, and give each part the shape `(*rest, *aval.shape)`."""
    parts, start = [], 0
    for aval in avals:
        part = column[..., start : start + int(aval.size)]
        parts.append(part.reshape((*column.shape[:-1], *aval.shape)))
        start += int(aval.size)
    return parts


def unravel_first(row: Value, avals: Sequence[ShapedArray]) -> list[Array]:
    """Split the first axis by the sizes of `avals`, and give each part the shape `(*aval.shape, *rest)`."""
    parts, start = [], 0
    for aval in avals:
        part = row[start : start + int(aval.size)]
        parts.append(part.reshape((*aval.shape, *row.shape[1:])))
        start += int(aval.size)
    return parts
