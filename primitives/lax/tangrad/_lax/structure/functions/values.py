"""What is known of a value, and values of what is known: `tangrad.lax.dtype`, `shape_as_value` and `stage`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.operands import operand, size_operand
from tangrad._lax.structure.functions.joining import concatenate
from tangrad._lax.structure.primitives import copy_p, reshape_p
from tangrad.core import Array, Tracer, as_array, as_operand, thread
from tangrad.core.arguments import canonicalize_shape
from tangrad.typing import ArrayLike

INT32 = np.dtype(np.int32)


def dtype(x: Any) -> np.dtype[Any]:
    """The dtype of an array or number, as operations take it.

    Raises TypeError for what is neither.

    >>> import tangrad
    >>> tangrad.lax.dtype(1.0)
    dtype('float32')
    """
    return operand("dtype", x).aval.dtype


def shape_as_value(shape: Sequence[Any]) -> Array:
    """The sizes of a shape as a vector of int32; those of symbolic dimensions are computed when the program runs.

    Raises TypeError for sizes that are no integers.

    >>> import tangrad
    >>> tangrad.lax.shape_as_value((2, 3))
    Array([2, 3], dtype=int32)
    """
    sizes = canonicalize_shape(shape)
    if not sizes:
        return as_array(np.zeros(0, INT32))
    if all([type(size) is int for size in sizes]):
        return as_array(np.array(sizes, INT32))
    scalars = [as_operand(size_operand(size, INT32)) for size in sizes]
    return concatenate([reshape_p.bind(size, new_sizes=(1,), dimensions=None) for size in scalars], 0)


def stage(x: ArrayLike, /) -> Array:
    """The value itself; where a program is traced, as one that is traced too.

    Args:
        x: an array or number.

    Returns:
        An array.

    Raises:
        TypeError: for what is neither.

    >>> import tangrad
    >>> tangrad.lax.stage(2)
    Array(2, dtype=int32, weak_type=True)
    """
    made = operand("stage", x)
    if thread.trace.stages and not isinstance(made, Tracer):
        return copy_p.bind(made)
    return as_array(made)
