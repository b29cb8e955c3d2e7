"""`tangrad.numpy.minmax`: the least and the greatest element together."""

from __future__ import annotations

from typing import Any

from tangrad._numpy.operands import operand, refuse_out
from tangrad._numpy.reductions import max, min
from tangrad.core import Array
from tangrad.typing import ArrayLike, Axis


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Find the least and the greatest element along axes; NaN if there is one.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: the greatest that the least can be, and the least that the greatest can be: a pair, or one number for
            both; needed for axes of size 0 and for `where`.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        Two arrays of the dtype of `a` without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, repeated, or empty; `initial` is a tuple, but no pair.

    >>> import tangrad
    >>> tangrad.numpy.minmax(tangrad.numpy.array([1, 3, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    refuse_out("minmax", out)
    first, last = _pair(initial)
    x = operand("minmax", a)
    return (
        min(x, axis, keepdims=keepdims, initial=first, where=where),
        max(x, axis, keepdims=keepdims, initial=last, where=where),
    )


def _pair(initial: Any) -> tuple[Any, Any]:
    if not isinstance(initial, tuple):
        return initial, initial
    if len(initial) != 2:
        raise ValueError(f"minmax: initial must be a number or a pair, for the least and the greatest, got {initial!r}")
    return initial
