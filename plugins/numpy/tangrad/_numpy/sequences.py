"""Evenly spaced numbers between two ends: `tangrad.numpy.linspace`, `logspace`, `geomspace`."""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np

from tangrad._numpy.arithmetic import power
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import placed
from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import isfinite, signbit
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    broadcast_shape,
    broadcast_to_shape,
    canonical_axis,
    cast,
    check_array_like,
    convert,
    index_argument,
    is_complex,
    user_dtype,
)
from tangrad._numpy.rounding import real
from tangrad._numpy.selection import where
from tangrad._numpy.settings import check_promotion
from tangrad._numpy.shapes import expand_dims
from tangrad._numpy.transcendental import log10
from tangrad.core import Array, dtypes, literal
from tangrad.core.arguments import is_symbolic, max_size
from tangrad.extend.lax import (
    add_p,
    broadcast_in_dim_p,
    concatenate_p,
    convert_element_type_p,
    div_p,
    floor_p,
    iota_p,
    mul_p,
    size_operand,
    sub_p,
)
from tangrad.typing import ArrayLike, DeviceLike, DType, DTypeLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["logspace"], True)


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: DeviceLike = None,
) -> tuple[Array, Array]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> Array | tuple[Array, Array]:
    """Make a number of evenly spaced numbers.

    Args:
        start, stop: the first and the last number, broadcast against each other.
        num: how many.
        endpoint: whether `stop` is among them.
        retstep: whether to return the distance too.
        dtype: the dtype; None: the float in which the ends meet; integers are rounded down.
        axis: the axis of the numbers in the result, if the ends have dimensions.
        device: the device to put it on.

    Returns:
        An array; with `retstep` also the distance.

    Raises:
        TypeError: for what is no number, and a `num` that is no integer.
        ValueError: `num` is negative.

    >>> import tangrad
    >>> tangrad.numpy.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    check_promotion("linspace", start, stop)
    if not retstep:
        return placed(_line(start, stop, num=num, endpoint=endpoint, dtype=dtype, axis=axis), device)
    result, step = _line_with_step(start, stop, num, endpoint, dtype, axis)
    return placed(result, device), step


@as_one("num", "endpoint", "dtype", "axis")
def _line(start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, dtype: DTypeLike | None, axis: int) -> Array:
    return _line_with_step(start, stop, num, endpoint, dtype, axis)[0]


def _line_with_step(
    start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, dtype: DTypeLike | None, axis: int
) -> tuple[Array, Array]:
    wanted, numbers, step = _spaced("linspace", start, stop, num, endpoint, dtype, axis)
    if dtypes.issubdtype(wanted, np.integer) and not is_complex(numbers):
        numbers = floor_p.bind(numbers)
    return _plain(numbers, wanted), _plain(step, dtypes.to_inexact_dtype(wanted))


def _plain(x: Value, dtype: DType) -> Array:
    """In `dtype`, not weakly typed."""
    if x.aval.dtype is dtype and not x.aval.weak_type:
        return array_operand("linspace", x)
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _wide_enough(inexact: np.dtype, wanted: np.dtype) -> np.dtype:
    """The dtype to compute in: that of the ends, widened to the one asked for. Of 8 bits and fewer none promotes."""
    widens = dtypes.issubdtype(wanted, np.inexact) and dtypes.bit_width(wanted) > 8
    return dtypes.promote_types(inexact, wanted) if widens else inexact


def _spaced(
    name: str, start: ArrayLike, stop: ArrayLike, num: int, endpoint: bool, dtype: DTypeLike | None, axis: int
) -> tuple[np.dtype, Array, Array]:
    """The dtype asked for, the numbers in the dtype that they are computed in, and their distance."""
    count = index_argument(name, num, "num")
    if count < 0:
        raise ValueError(f"{name}: num must not be negative, got {num}")
    check_array_like(name, start, stop)
    inexact = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    wanted = inexact if dtype is None else user_dtype(name, dtype)
    computed = _wide_enough(inexact, wanted)
    ends = [convert(cast(value, computed, False), computed) for value in (start, stop)]
    shape = broadcast_shape(name, [end.aval.shape for end in ends])
    first, last = [broadcast_to_shape(end, shape) for end in ends]
    intervals = count - 1 if endpoint else count
    distance = sub_p.bind(last, first)
    step = div_p.bind(distance, _divisor(intervals, computed))
    if count == 1 and endpoint:
        step = broadcast_in_dim_p.bind(literal(math.nan, computed), shape=shape, broadcast_dimensions=())
    numbers = _between(first, last, count, endpoint, intervals)
    return wanted, moveaxis(numbers, 0, canonical_axis(name, axis, len(shape) + 1)), step


def _divisor(intervals: int, dtype: DType) -> Value:
    """Into how many parts the distance is divided; NaN where there are none."""
    if is_symbolic(intervals):
        counted = size_operand(intervals, dtype)
        return where(counted > 0, counted, literal(math.nan, dtype))
    return literal(intervals if intervals > 0 else math.nan, dtype)


def _between(first: Value, last: Value, count: int, endpoint: bool, intervals: int) -> Value:
    """Weighted means of the ends, so that both are met exactly."""
    dtype, shape = first.aval.dtype, first.aval.shape
    if is_symbolic(count):
        return _between_symbolic(first, last, count, endpoint, intervals)
    if count == 0:
        return broadcast_in_dim_p.bind(literal(0, dtype), shape=(0, *shape), broadcast_dimensions=())
    if count == 1:
        return expand_dims(array_operand("linspace", first), 0)
    numbers = _weighted(first, last, count - 1 if endpoint else count, intervals)
    if not endpoint:
        return numbers
    return concatenate_p.bind(numbers, expand_dims(array_operand("linspace", last), 0), dimension=0)


def _weighted(first: Value, last: Value, count: int, intervals: int) -> Value:
    """So many means of the ends, of weights that grow by one part of the intervals."""
    dtype, whole = first.aval.dtype, (count, *first.aval.shape)
    real_dtype = dtypes.to_floating_dtype(dtype)
    weights = div_p.bind(iota_p.bind(dtype=real_dtype, shape=whole, dimension=0), size_operand(intervals, real_dtype))
    upper = convert(weights, dtype)
    lower = convert(sub_p.bind(literal(1, real_dtype), weights), dtype)
    starts, stops = broadcast_to_shape(first, whole), broadcast_to_shape(last, whole)
    return add_p.bind(mul_p.bind(starts, lower), mul_p.bind(stops, upper))


def _between_symbolic(first: Value, last: Value, count: int, endpoint: bool, intervals: object) -> Value:
    """As `_between`, of a count that may turn out to be none, one or more: the last number is chosen at run time."""
    parts = max_size(intervals, 1)
    numbers = _weighted(first, last, count, parts)
    if not endpoint:
        return numbers
    whole = numbers.aval.shape
    position = iota_p.bind(dtype=INT32, shape=whole, dimension=0)
    return where(position == size_operand(parts, INT32), broadcast_to_shape(last, whole), numbers)


@as_one("num", "endpoint", "dtype", "axis")
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Make a number of numbers whose logarithms are evenly spaced.

    Args:
        start, stop: the logarithms of the first and the last number.
        num: how many.
        endpoint: whether the last is among them.
        base: of the logarithms.
        dtype: the dtype; None: the float in which the ends meet.
        axis: the axis of the numbers in the result, if the ends have dimensions.

    Returns:
        An array.

    Raises:
        TypeError: for what is no number, and a `num` that is no integer.
        ValueError: `num` is negative.

    >>> import tangrad
    >>> tangrad.numpy.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    check_promotion("logspace", start, stop)
    wanted, exponents, _ = _spaced("logspace", start, stop, num, endpoint, None, axis)
    result = power(base, exponents)
    return _plain(result, wanted if dtype is None else user_dtype("logspace", dtype))


@as_one("num", "endpoint", "dtype", "axis")
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Make a number of numbers each of which is the same multiple of the one before.

    Args:
        start, stop: the first and the last number, of one sign.
        num: how many.
        endpoint: whether the last is among them.
        dtype: the dtype; None: the float in which the ends meet.
        axis: the axis of the numbers in the result, if the ends have dimensions.

    Returns:
        An array.

    Raises:
        TypeError: for what is no number, and a `num` that is no integer.
        ValueError: `num` is negative.

    >>> import tangrad
    >>> tangrad.numpy.round(tangrad.numpy.geomspace(1, 8, 4), 3)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    check_array_like("geomspace", start, stop)
    check_promotion("geomspace", start, stop)
    inexact = dtypes.to_inexact_dtype(dtypes.result_type(start, stop))
    wanted = inexact if dtype is None else user_dtype("geomspace", dtype)
    computed = _wide_enough(inexact, wanted)
    first, last = [
        array_operand("geomspace", convert(cast(value, computed, False), computed)) for value in (start, stop)
    ]
    sign = _sign_of(first, last)
    ends = log10(first * sign), log10(last * sign)
    inner = logspace(ends[0], ends[1], num, endpoint, 10.0, computed, 0)
    numbers = broadcast_to_shape(sign, inner.aval.shape) * inner
    count = index_argument("geomspace", num, "num")
    # The ends exactly; but there is no such sequence from or to 0, nor through it.
    exist = isfinite(ends[0]) & isfinite(ends[1])
    numbers = where(exist, numbers, literal(math.nan, computed))
    if endpoint and count > 1:
        numbers = numbers.at[-1].set(where(exist, last, numbers[-1]))
    if count > 0:
        numbers = numbers.at[0].set(where(exist, first, numbers[0]))
    return _plain(moveaxis(numbers, 0, canonical_axis("geomspace", axis, numbers.ndim)), wanted)


def _sign_of(first: Value, last: Value) -> Value:
    """-1 where both ends are negative, 1 elsewhere: logarithms are taken of positive numbers."""
    negative = signbit(real(first)) & signbit(real(last))
    return convert(literal(1, INT32) - 2 * convert(negative, INT32), first.aval.dtype)
