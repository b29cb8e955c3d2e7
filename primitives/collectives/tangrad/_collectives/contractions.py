"""Contractions along mapped axes: `pdot`, a product of arrays summed over dimensions and over axes with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._collectives.axes import Axes, AxisNames, checked_axes
from tangrad._collectives.exchanges import all_gather
from tangrad._collectives.reductions import psum
from tangrad.core import Array, as_array, as_operand, thread
from tangrad.extend.lax import canonical_axis, dot_general
from tangrad.typing import ArrayLike, Value

Pair = Sequence[Sequence[int]]


def pdot(
    x: ArrayLike,
    y: ArrayLike,
    axis_name: AxisNames,
    pos_contract: Pair = ((), ()),
    pos_batch: Pair = ((), ()),
    precision: Any = None,
) -> Array:
    """The product of two arrays, summed over mapped axes and over dimensions, as one contraction.

    Where `vmap` or `xmap` maps the axis it is a contracting dimension of one matrix product, so that no product of each
    example is made; within `shard_map` each device contracts its part, and the parts are summed.

    Args:
        x, y: arrays of one dtype, or of two of which one includes the other.
        axis_name: the name of a mapped axis, or several in a tuple or list. An operand that does not vary along an axis
            counts once for each example.
        pos_contract: two sequences of dimensions, of `x` and of `y`, that are summed over as well.
        pos_batch: two sequences of dimensions that are paired.
        precision: as of `lax.dot_general`.

    Returns:
        An array whose dimensions are the paired ones, the others of `x`, and the others of `y`.

    Raises:
        NameError: for a name that no mapped axis in scope has.
        TypeError: for dtypes that do not meet, or dimensions that are not two sequences.
        ValueError: for an axis named twice, dimensions that are not there, are repeated, or differ in size.

    >>> import tangrad
    >>> from tangrad import lax
    >>> import tangrad.numpy as np
    >>> x, w = np.ones((3, 2)), np.arange(12.0).reshape(3, 4)
    >>> tangrad.vmap(lambda a, b: lax.pdot(a, b, "i"), axis_name="i", out_axes=None)(x, w)
    Array([[12., 15., 18., 21.],
           [12., 15., 18., 21.]], dtype=float32)
    """
    names = checked_axes("pdot", axis_name)
    left, right = as_operand(x), as_operand(y)
    contracted = _dimensions("pos_contract", pos_contract, left, right)
    paired = _dimensions("pos_batch", pos_batch, left, right)
    typed = () if thread.typed_axes is None else thread.typed_axes.names
    over_devices = tuple([name for name in names if name in typed])
    gathered = tuple([name for name in names if name not in typed])
    added = tuple(range(len(gathered)))
    numbers = (
        tuple([(*added, *_behind(one, added)) for one in contracted]),
        tuple([_behind(one, added) for one in paired]),
    )
    found = dot_general(_with_axes(left, gathered), _with_axes(right, gathered), numbers, precision)
    return psum(found, over_devices) if over_devices else as_array(found)


def _dimensions(parameter: str, given: Any, left: Value, right: Value) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions of both operands, counted from the front."""
    try:
        ours, theirs = [tuple(one) for one in given]
    except (TypeError, ValueError):
        raise TypeError(
            f"pdot: {parameter} must be two sequences of dimensions, of x and of y, such as ((1,), (0,)), got {given!r}"
        ) from None
    return (
        tuple([canonical_axis("pdot", axis, len(left.aval.shape), f"{parameter}[0]") for axis in ours]),
        tuple([canonical_axis("pdot", axis, len(right.aval.shape), f"{parameter}[1]") for axis in theirs]),
    )


def _behind(dimensions: tuple[int, ...], added: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([dimension + len(added) for dimension in dimensions])


def _with_axes(value: Value, names: Axes) -> Any:
    """The operand with a dimension in front for each mapped axis."""
    for name in reversed(names):
        value = all_gather(value, name)
    return value
