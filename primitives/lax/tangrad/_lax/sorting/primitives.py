"""The primitives that sort, and the types of their results.

The order is total: -inf < … < -0.0 = 0.0 < … < inf < NaN for `sort`; complex numbers go by their real, then their
imaginary parts. `top_k` goes by the bits of floats, as XLA's does: -0.0 is less than 0.0, and NaN with the sign bit is
least of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._lax.checks import ANY, EXTENDED, ORDERED, check_axes, check_dtype, check_int, check_same_dtype
from tangrad._lax.sorting.bisection import bisect
from tangrad.core import PrimitiveSet, ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import DType

sorting = PrimitiveSet("sorting", api=1)


@sorting.primitive(name="sort", multiple_results=True, weak_type="own")
def sort_p(*operands: ShapedArray, dimension: int, is_stable: bool, num_keys: int) -> tuple[ShapedArray, ...]:
    """The operands reordered along `dimension` by one permutation, which puts the first `num_keys` of them in order.

    The first key decides, the next one among equals, and so on; `is_stable` keeps the order of what is equal.
    """
    if not operands:
        raise TypeError("sort takes at least one operand, got none")
    shape = operands[0].shape
    for position, operand in enumerate(operands):
        # What is only carried along needs no order: random keys, say.
        check_dtype("sort", operand, ANY if position < num_keys else (*ANY, EXTENDED), f"operand {position}")
        if operand.shape != shape:
            shapes = ", ".join([str(aval.shape) for aval in operands])
            raise ValueError(f"sort: operands must have one shape, got {shapes}")
    check_axes("sort", (dimension,), len(shape), "dimension")
    if not 1 <= check_int("sort", num_keys, "num_keys") <= len(operands):
        raise ValueError(f"sort: num_keys must be from 1 to the number of operands ({len(operands)}), got {num_keys}")
    return operands


@sorting.primitive(name="top_k", multiple_results=True, weak_type="own")
def top_k_p(operand: ShapedArray, *, k: int, axis: int) -> tuple[ShapedArray, ...]:
    """The `k` greatest elements along `axis`, descending, and their positions; the first of equal ones first."""
    check_dtype("top_k", operand, ORDERED, "operand")
    check_axes("top_k", (axis,), operand.ndim, "axis")
    size = operand.shape[axis]
    if not is_symbolic(k) and k < 0:
        raise ValueError(f"top_k: k must not be negative, got {k}")
    if not k <= size:
        raise ValueError(f"top_k: k must be at most the size of axis {axis} of shape {operand.shape}, got {k}")
    if not is_symbolic(size) and size > 1 << 31:
        raise ValueError(f"top_k: axis {axis} of shape {operand.shape} is too long for positions of dtype int32")
    shape = (*operand.shape[:axis], k, *operand.shape[axis + 1 :])
    return operand.update(shape=shape), operand.update(shape=shape, dtype=dtypes.as_dtype(np.int32))


@sorting.primitive(name="search_sorted", weak_type="never", decompose=bisect)
def search_sorted_p(keys: ShapedArray, values: ShapedArray, *, side: str, dtype: DType) -> ShapedArray:
    """Before which element of the sorted vector `keys` each value goes: the first place ("left") or the last.

    Complex numbers go by their real, then their imaginary parts; NaN comes last, and so does what has one in a part.
    """
    check_dtype("search_sorted", keys, ANY, "keys")
    check_same_dtype("search_sorted", (keys, values))
    if keys.ndim != 1:
        raise ValueError(f"search_sorted: keys must have one dimension, got shape {keys.shape}")
    if side not in ("left", "right"):
        raise ValueError(f"search_sorted: side must be 'left' or 'right', got {side!r}")
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"search_sorted: dtype must be an integer dtype, got {dtypes.dtype_name(dtype)}")
    return ShapedArray(values.shape, dtype)
