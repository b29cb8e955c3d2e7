"""The primitives that sort, find places and choose the greatest, and the types of their results.

The order is total: -inf < … < -0.0 = 0.0 < … < inf < NaN for `sort`; complex numbers go by their real, then their
imaginary parts. `top_k` goes by the bits of floats, as XLA's does: -0.0 is less than 0.0, and NaN with the sign bit is
least of all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tangrad._lax.checks import ANY, EXTENDED, FLOATING, ORDERED, check_axes, check_dtype, check_int, check_same_dtype
from tangrad._lax.elementwise.primitives import (
    add_p,
    and_p,
    eq_p,
    imag_p,
    lt_p,
    ne_p,
    neg_p,
    not_p,
    or_p,
    real_p,
    select_n_p,
    shift_right_logical_p,
)
from tangrad._lax.indexing.primitives import GatherDimensionNumbers, GatherScatterMode, gather_p
from tangrad._lax.operands import size_operand
from tangrad._lax.structure.primitives import broadcast_in_dim_p, dynamic_slice_p, squeeze_p
from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.core.arguments import is_symbolic
from tangrad.errors import ArgumentError
from tangrad.typing import Dimensions, DType, Value

# --- places in a sorted vector, by halving what is left of it ---

_FROM_VECTOR = GatherDimensionNumbers((), (0,), (0,))


def bisect(keys: Value, values: Value, *, side: str, dtype: np.dtype) -> Array:
    """Each step asks the element in the middle of those that are left, and leaves half of them: the number of steps is
    the same for all values. `last` is the last element that is known to come before, from -1 on.
    """
    shape = values.aval.shape
    last = _filled(dtypes.iinfo(dtype).max if np.dtype(dtype).kind == "u" else -1, dtype, shape)
    for half in _halves(keys.aval.shape[0], dtype, shape):
        last = _asked(keys, values, last, half, side)
    return add_p.bind(last, literal(1, dtype))


def halve(keys: Value, values: Value, last: Value, left: Value, *, side: str) -> tuple[Array, Array]:
    """One step of `bisect` as the body of a loop, which ends when nothing is left: `last` and what is left after it.

    `left` is the number of elements that are left, without dimensions.
    """
    one = literal(1, left.aval.dtype)
    half = shift_right_logical_p.bind(add_p.bind(left, one), one)
    return _asked(keys, values, last, half, side), shift_right_logical_p.bind(left, one)


def _asked(keys: Value, values: Value, last: Value, half: Value, side: str) -> Array:
    """The last element that is known to come before, after one more was asked: that `half` of those left further on."""
    middle = add_p.bind(last, half)
    found = _elements(keys, middle)
    passed = _before(found, values) if side == "left" else not_p.bind(_before(values, found))
    return select_n_p.bind(passed, last, middle)


def _halves(size: int, dtype: DType, shape: Dimensions) -> Iterator[Value]:
    """Of `size` elements, and of those that are left after each step, half, rounded up; 0 once there is nothing left.

    Of a symbolic size as many as any needs that has positions of the dtype.
    """
    if not is_symbolic(size):
        while size:
            yield literal((size + 1) // 2, dtype)
            size //= 2
        return
    left, one = _filled(size, dtype, shape), literal(1, dtype)
    for _ in range(dtypes.iinfo(dtype).bits):
        yield shift_right_logical_p.bind(add_p.bind(left, one), one)
        left = shift_right_logical_p.bind(left, one)


def _filled(number: int, dtype: DType, shape: Dimensions) -> Array:
    return broadcast_in_dim_p.bind(size_operand(number, dtype), shape=shape, broadcast_dimensions=())


def _elements(keys: Value, places: Value) -> Array:
    shape = places.aval.shape
    if not shape:  # XLA takes twice as long to compile a gather
        return squeeze_p.bind(dynamic_slice_p.bind(keys, places, slice_sizes=(1,)), dimensions=(0,))
    return gather_p.bind(
        keys,
        broadcast_in_dim_p.bind(places, shape=(*shape, 1), broadcast_dimensions=tuple(range(len(shape)))),
        dimension_numbers=_FROM_VECTOR,
        slice_sizes=(1,),
        indices_are_sorted=False,
        unique_indices=False,
        mode=GatherScatterMode.CLIP,
        fill_value=None,
    )


def _before(x: Value, y: Value) -> Array:
    """x < y in the order of sorting, where NaN comes last, also one in a part of a complex number."""
    dtype = x.aval.dtype
    if not dtypes.issubdtype(dtype, np.inexact):
        return lt_p.bind(x, y)
    smaller = _complex_before(x, y) if dtypes.issubdtype(dtype, np.complexfloating) else lt_p.bind(x, y)
    return and_p.bind(or_p.bind(smaller, ne_p.bind(y, y)), not_p.bind(ne_p.bind(x, x)))


def _complex_before(x: Value, y: Value) -> Array:
    """By the real, then by the imaginary parts."""
    left, right = real_p.bind(x), real_p.bind(y)
    return select_n_p.bind(eq_p.bind(left, right), lt_p.bind(left, right), lt_p.bind(imag_p.bind(x), imag_p.bind(y)))


# --- the primitives ---

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
            raise ArgumentError(f"sort: operands must have one shape, got {shapes}")
    check_axes("sort", (dimension,), len(shape), "dimension")
    if not 1 <= check_int("sort", num_keys, "num_keys") <= len(operands):
        raise ValueError(f"sort: num_keys must be from 1 to the number of operands ({len(operands)}), got {num_keys}")
    return operands


@sorting.primitive(name="top_k", multiple_results=True, weak_type="own")
def top_k_p(operand: ShapedArray, *, k: int, axis: int) -> tuple[ShapedArray, ShapedArray]:
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


# The elements that hardware handles at once: of a vector, and along a dimension of what has more than one.
TILE_OF_VECTOR, TILE = 1024, 128


# --- as far as an approximation has to find them ---
# Hardware without a fast sort takes each element's window first and looks at the windows' winners: an element that
# shares its window with a greater one is lost. How many windows there must be for a recall was worked out by Chern et
# al., TPU-KNN: K Nearest Neighbor Search at Peak FLOP/s, NeurIPS 2022, https://arxiv.org/abs/2206.14286.


def result_size(size: int, rank: int, k: int, recall_target: float, input_size: int) -> int:
    """How many results there are where winners of windows are not brought down to `k`: one for each window.

    Args:
        size: that of the dimension.
        rank: of the array.
        recall_target: which part of the true results are to be found, on average; 1: all, which takes all elements.
        input_size: the elements among which recall is meant, where the array is a part of them; -1: the array's own.
    """
    tile = TILE_OF_VECTOR if rank == 1 else TILE
    if recall_target == 1.0 or size <= tile:
        return size
    among = input_size if input_size >= 0 else size
    if k == 1:  # the winner of its window is never lost
        return tile
    # A result survives if none of the k - 1 others is in its window: (1 - 1 / windows) ** (k - 1) of them do.
    needed = 1.0 / (1.0 - recall_target ** (1.0 / (k - 1))) if k else 1.0
    windows = min(max(int(needed), tile), size)
    halvings = int(math.log2(among // windows)) if among >= windows else 0
    if halvings <= 0:
        return size
    tiles = -(-size // tile)
    halvings = min(halvings, (tiles - 1).bit_length())
    return tile * -(-tiles // (1 << halvings))


def exactly(operand: Value, *, axis: int, is_max_k: bool, results: object, **_: object) -> tuple[Array, Array]:
    """All of them, without loss, in order."""
    if is_max_k:
        return top_k_p.bind(operand, k=results, axis=axis)
    values, positions = top_k_p.bind(neg_p.bind(operand), k=results, axis=axis)
    return neg_p.bind(values), positions


@sorting.primitive(name="approx_top_k", multiple_results=True, weak_type="never", decompose=exactly)
def approx_top_k_p(
    operand: ShapedArray, *, k: int, axis: int, recall_target: float, is_max_k: bool, results: int
) -> tuple[ShapedArray, ShapedArray]:
    """The `k` greatest elements along `axis` (the least, without `is_max_k`), and their positions.

    A backend may miss some, as long as it finds a part of `recall_target`; where `results` is not `k` it gives so many
    elements, in any order, among which they are.
    """
    check_dtype("approx_top_k", operand, (FLOATING,), "operand")
    check_axes("approx_top_k", (axis,), operand.ndim, "reduction_dimension")
    size = operand.shape[axis]
    if not is_symbolic(k) and k < 0:
        raise ValueError(f"approx_top_k: k must not be negative, got {k}")
    if not k <= results <= size:
        raise ValueError(f"approx_top_k: k must be at most the size of axis {axis} of shape {operand.shape}, got {k}")
    if not 0.0 < recall_target <= 1.0:
        raise ValueError(f"approx_top_k: recall_target must be above 0 and at most 1, got {recall_target}")
    shape = (*operand.shape[:axis], results, *operand.shape[axis + 1 :])
    return operand.update(shape=shape), operand.update(shape=shape, dtype=dtypes.as_dtype(np.int32))
