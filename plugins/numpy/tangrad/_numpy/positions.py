"""Positions in one and in several dimensions: `tangrad.numpy.unravel_index`, `ravel_multi_index`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.index_components import wrapped
from tangrad._numpy.operands import (
    INT32,
    canonical_shape,
    convert,
    literal_like,
    select,
    user_dtype,
)
from tangrad._numpy.operations import numerical
from tangrad._numpy.selection import clip
from tangrad._numpy.taking import integer_operand
from tangrad.core import Array, concrete_or_error, dtypes, literal
from tangrad.typing import ArrayLike, DTypeLike, Shape, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["unravel_index"], True)


@as_one("shape", several=True, family=numerical.name)
def unravel_index(indices: ArrayLike, shape: Shape) -> tuple[Array, ...]:
    """Turn positions in an array as one dimension into positions along each dimension.

    Args:
        indices: integers; those out of bounds are clamped, negative ones count from the end.
        shape: of the array.

    Returns:
        An integer array for each dimension.

    Raises:
        TypeError: for what is no integers.

    >>> import tangrad
    >>> tangrad.numpy.unravel_index(tangrad.numpy.array([1, 5]), (2, 3))
    (Array([0, 1], dtype=int32), Array([1, 2], dtype=int32))
    """
    positions = integer_operand("unravel_index", indices, 0)
    sizes = canonical_shape("unravel_index", shape)
    own = positions.dtype
    if dtypes.bit_width(own) < 32:  # the sizes may not fit it
        positions = convert(positions, INT32)
    results = []
    for size in reversed(sizes):
        positions, rest = divmod(positions, size)
        results.append((size, rest))
    # What is left says who was out of bounds: nothing is, but for those (from the end: -1 is).
    beyond = positions > 0
    before = None if dtypes.issubdtype(positions.dtype, np.unsignedinteger) else positions < -1
    found = []
    for size, rest in reversed(results):
        known = rest if before is None else select(before, literal_like(rest, 0), rest)
        within = select(beyond, literal_like(rest, size - 1), known)
        found.append(within if within.dtype == own else convert(within, own))
    return tuple(found)


def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Turn positions along each dimension into positions in the array as one dimension.

    Args:
        multi_index: an integer array for each dimension.
        dims: the shape.
        mode: what positions out of bounds do: "raise" an error (they must be known), "wrap", "clip"; or "ignore" them.
        order: "C": the last dimension varies first; "F": the first one does.
        dtype: the dtype of the result; None: that in which the indices meet.

    Returns:
        An integer array.

    Raises:
        TypeError: for what is no integers.
        ValueError: for numbers of dimensions that differ, unknown modes, and with "raise" positions out of bounds.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.ravel_multi_index((np.array([0, 1]), np.array([1, 2])), (2, 3))
    Array([1, 5], dtype=int32)
    """
    sizes = canonical_shape("ravel_multi_index", dims, "dims")
    if len(sizes) != len(multi_index):
        raise ValueError(
            f"ravel_multi_index: {len(multi_index)} arrays of positions do not fit {len(sizes)} dimensions"
        )
    parts = [integer_operand("ravel_multi_index", part, position) for position, part in enumerate(multi_index)]
    if order not in ("C", "F"):
        raise ValueError(f"ravel_multi_index: order must be 'C' or 'F', got {order!r}")
    wanted = dtypes.result_type(0, *parts) if dtype is None else user_dtype("ravel_multi_index", dtype)
    if not dtypes.issubdtype(wanted, np.integer):
        raise ValueError(f"ravel_multi_index: dtype must be of integers, got {dtypes.dtype_name(wanted)}")
    if int(np.prod(sizes, dtype=np.int64)) - 1 > dtypes.iinfo(wanted).max:
        raise ValueError(
            f"ravel_multi_index: {dtypes.dtype_name(wanted)} does not hold all positions of dims {sizes}; "
            "give a wider dtype"
        )
    strides = np.cumprod([1, *sizes[::-1]])[:-1][::-1] if order == "C" else np.cumprod([1, *sizes])[:-1]
    result: Any = literal(0, wanted)
    for part, size, stride in zip(parts, sizes, strides):
        result = result + convert(_within(part, int(size), mode), wanted) * int(stride)
    return asarray(result, dtype=wanted)


def _within(part: Value, size: int, mode: str) -> Value:
    if mode == "ignore":
        return part
    if mode == "clip":
        return clip(part, 0, size - 1)
    if mode == "wrap":
        return wrapped(convert(part, INT32), size)
    if mode != "raise":
        raise ValueError(f"ravel_multi_index: mode must be 'raise', 'clip', 'wrap' or 'ignore', got {mode!r}")
    known = np.asarray(concrete_or_error(part, "ravel_multi_index with mode='raise'"))
    if np.any(known < 0) or np.any(known >= size):
        raise ValueError(
            f"ravel_multi_index: positions must be from 0 to {size - 1}; mode='clip' or 'wrap' moves them there"
        )
    return part
