"""Whether arrays are equal, or nearly: `tangrad.numpy.allclose`, `isclose`, `array_equal`, `array_equiv`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import isfinite, isnan
from tangrad._numpy.operands import (
    BOOL,
    align,
    broadcast,
    check_array_like,
    convert,
    is_complex,
    is_inexact,
    operand,
    promote,
    promote_numeric,
)
from tangrad._numpy.reductions import all as all_of
from tangrad._numpy.settings import check_promotion
from tangrad.core import Array, Literal, dtypes
from tangrad.extend.lax import abs_p, and_p, eq_p, le_p, mul_p, or_p, sub_p
from tangrad.typing import ArrayLike, Value


@as_one("equal_nan")
def isclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Array:
    """Return where two arrays are nearly equal: |a - b| <= atol + rtol * |b|, or both are the same infinity.

    Args:
        a, b: arrays or numbers, broadcast against each other; or arrays of random keys, which must be equal.
        rtol, atol: the tolerances.
        equal_nan: whether NaN equals NaN.

    Returns:
        A boolean array.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.isclose(1.0, 1.000001)
    Array(True, dtype=bool)
    """
    check_array_like("isclose", a, b)
    first, second = promote("isclose", a, b)
    if isinstance(first.aval.dtype, dtypes.ExtendedDType):  # what is no number is equal or not
        return eq_p.bind(*broadcast("isclose", [first, second]))
    first, second = promote_numeric("isclose", first, second)
    if not is_inexact(first):
        return _integers_close(first, second, rtol, atol)
    first, second = broadcast("isclose", [first, second])
    parts = dtypes.to_floating_dtype(first.aval.dtype)
    relative, absolute = [convert(operand("isclose", value), parts) for value in (rtol, atol)]
    difference = abs_p.bind(sub_p.bind(first, second))
    allowed = absolute + mul_p.bind(relative, abs_p.bind(second))
    both_finite = and_p.bind(isfinite(first), isfinite(second))
    near = and_p.bind(le_p.bind(difference, allowed), both_finite)
    # What is equal is close, infinities too, whatever the tolerances.
    result = or_p.bind(near, eq_p.bind(first, second))
    if equal_nan:
        result = or_p.bind(result, and_p.bind(isnan(first), isnan(second)))
    return _strong(result)


def _strong(x: Array) -> Array:
    return convert(x, BOOL)


def _integers_close(a: Array | Literal, b: Value, rtol: ArrayLike, atol: ArrayLike) -> Array:
    """Without differences that overflow: the distance is the greater less the lesser one, as floats."""
    wide = dtypes.to_inexact_dtype(a.aval.dtype)
    first, second = broadcast("isclose", [a, b])
    distance = abs_p.bind(sub_p.bind(convert(first, wide), convert(second, wide)))
    allowed = asarray(atol, dtype=wide) + asarray(rtol, dtype=wide) * abs_p.bind(convert(second, wide))
    return _strong(or_p.bind(eq_p.bind(first, second), le_p.bind(*broadcast("isclose", [distance, allowed]))))


@as_one("equal_nan")
def allclose(
    a: ArrayLike, b: ArrayLike, rtol: ArrayLike = 1e-05, atol: ArrayLike = 1e-08, equal_nan: bool = False
) -> Array:
    """Return whether two arrays are nearly equal everywhere; see `isclose`.

    Args:
        a, b: arrays or numbers, broadcast against each other.
        rtol, atol: the tolerances.
        equal_nan: whether NaN equals NaN.

    Returns:
        A boolean array without dimensions.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.allclose(tangrad.numpy.ones(2), 1.000001)
    Array(True, dtype=bool)
    """
    check_promotion("allclose", a, b)
    return all_of(isclose(a, b, rtol, atol, equal_nan))


def _as_arrays(a1: object, a2: object) -> tuple[Array, Array] | None:
    try:
        return asarray(a1), asarray(a2)
    except (TypeError, ValueError):
        return None


@as_one("equal_nan")
def array_equal(a1: ArrayLike | Sequence[object], a2: ArrayLike | Sequence[object], equal_nan: bool = False) -> Array:
    """Return whether two arrays have one shape and equal elements.

    Args:
        a1, a2: arrays, numbers, or sequences of them.
        equal_nan: whether NaN equals NaN.

    Returns:
        A boolean array without dimensions.

    >>> import tangrad
    >>> tangrad.numpy.array_equal(tangrad.numpy.ones(2), tangrad.numpy.ones(3))
    Array(False, dtype=bool)
    """
    made = _as_arrays(a1, a2)
    if made is None or made[0].shape != made[1].shape:
        return asarray(np.False_)
    first, second = align("array_equal", *made)
    same = eq_p.bind(first, second)
    if equal_nan and (is_inexact(first) or is_complex(first)):
        same = or_p.bind(same, and_p.bind(isnan(first), isnan(second)))
    return all_of(_strong(same))


def array_equiv(a1: ArrayLike | Sequence[object], a2: ArrayLike | Sequence[object]) -> Array:
    """Return whether two arrays have equal elements once they are broadcast against each other.

    Args:
        a1, a2: arrays, numbers, or sequences of them.

    Returns:
        A boolean array without dimensions.

    >>> import tangrad
    >>> tangrad.numpy.array_equiv(tangrad.numpy.ones(2), 1.0)
    Array(True, dtype=bool)
    """
    made = _as_arrays(a1, a2)
    try:
        return asarray(np.False_) if made is None else all_of(_strong(eq_p.bind(*align("array_equiv", *made))))
    except ValueError:
        return asarray(np.False_)
