"""Places in a sorted vector, by halving what is left of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import (
    add_p,
    and_p,
    eq_p,
    imag_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    real_p,
    select_n_p,
    shift_right_logical_p,
)
from tangrad._lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode
from tangrad._lax.indexing.primitives import gather_p
from tangrad._lax.operands import size_operand
from tangrad._lax.structure.primitives import broadcast_in_dim_p, dynamic_slice_p, squeeze_p
from tangrad.core import Array, dtypes, literal
from tangrad.core.arguments import is_symbolic
from tangrad.typing import Dimensions, DType, Value

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


def halve(keys: Any, values: Any, last: Any, left: Value, *, side: str) -> tuple[Array, Array]:
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


def _halves(size: Any, dtype: DType, shape: Dimensions) -> Iterator[Any]:
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


def _filled(number: Any, dtype: DType, shape: Dimensions) -> Array:
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
