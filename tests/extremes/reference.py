"""Where functions are tried: around zero, around whole numbers and halves, and out to where numbers end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp, mpf

import tangrad
import tangrad.numpy as tnp
from tangrad.core import dtypes

DTYPES = ("float16", "bfloat16", "float32", "float64")
ORDINARY = (
    0.1,
    0.3,
    0.5,
    0.7,
    0.9,
    1.0,
    1.3,
    1.5,
    2.0,
    2.5,
    3.0,
    3.7,
    4.0,
    5.5,
    7.0,
    10.0,
    13.5,
    16.0,
    20.0,
    30.5,
    50.0,
)
LARGE = (88.0, 100.0, 300.0, 800.0, 1e4, 6e4, 1e6, 1e10, 1e15, 1e20, 1e30, 3e38)
SMALL = (1e-37, 1e-30, 1e-20, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, 1e-2)


def real_points(dtype: str) -> tuple[float, ...]:
    """Floats that `dtype` has: of both signs, with zeros, infinities and NaN."""
    info = tangrad.numpy.finfo(dtype)
    greatest, least, epsilon = float(info.max), float(info.smallest_normal), float(info.eps)
    sizes = [least, epsilon, 1 - epsilon / 2, 1 + epsilon, greatest / 4, greatest, *SMALL, *ORDINARY, *LARGE]
    kept = [rounded(x, dtype) for x in sizes if least <= x <= greatest]
    positive = sorted(set(kept))
    return (*[-x for x in reversed(positive)], -0.0, 0.0, *positive, -np.inf, np.inf, np.nan)


def rounded(x: float, dtype: str) -> float:
    """The nearest float of a dtype."""
    with np.errstate(over="ignore"):
        return float(np.asarray(x, "float64").astype(dtypes.as_dtype(dtype)))


# --- True values and derivatives, by mpmath: of a point, or the limit where a function has an edge ---


Reference = Callable[..., Any]
NAN = mpf("nan")
# The greatest order that is computed: one above what is compared, for the condition of the last.
ORDERS = 4
# Two distances from an edge, and two large numbers: what a derivative does between them says what its limit is.
NEAR, NEARER = mpf(10) ** -40, mpf(10) ** -80
FAR, FARTHER = mpf(10) ** 25, mpf(10) ** 50


def real(reference: Reference, x: Any) -> Any:
    """A reference at one number; NaN where it has no real value."""
    try:
        value = reference(x)
    except (ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.NoConvergence, TypeError):
        return NAN
    if isinstance(value, mpmath.mpc):
        return value.real if value.imag == 0 else NAN
    return mpf(value)


def _stencil(reference: Reference, x: Any) -> list[Any]:
    """Value and three derivatives by central differences, good to some twenty digits."""
    size = min(abs(x), mpf(1)) if x else mpf(1)
    step = size * mpf(10) ** -20
    below2, below, at, above, above2 = [real(reference, x + k * step) for k in (-2, -1, 0, 1, 2)]
    return [
        at,
        (above - below) / (2 * step),
        (above - 2 * at + below) / step**2,
        (above2 - 2 * above + 2 * below - below2) / (2 * step**3),
    ]


def _precision(x: Any) -> int:
    size = abs(int(mpmath.log10(abs(x)))) if x and mpmath.isfinite(x) else 0
    return 110 + 3 * size + (min(int(abs(x) * min(abs(x), 30)), 900) if x and mpmath.isfinite(x) else 0)


def _limit(one: Any, other: Any) -> Any:
    """What a sequence goes to, from two members; None where that cannot be seen."""
    if mpmath.isnan(one) or mpmath.isnan(other):
        return None
    if one == other:
        return other
    if one == 0 or other == 0:
        return None if other else mpf(0)
    ratio = other / one
    if abs(ratio - 1) < mpf(10) ** -8:
        return other
    if ratio > 1.2:
        return mpmath.sign(other) * mpmath.inf
    return mpf(0) if 0 < ratio < 0.8 else None


def _towards(reference: Reference, places: tuple[Any, Any]) -> list[Any]:
    found = []
    for place in places:
        with mp.workdps(_precision(place) + 3 * 80):
            found.append(_stencil(reference, place))
    return [_limit(one, other) for one, other in zip(*found, strict=True)]


def _sided(reference: Reference, x: Any, side: int) -> list[Any]:
    size = abs(x) if x else mpf(1)
    with mp.workdps(_precision(x) + 300):
        return _towards(reference, (x + side * size * NEAR, x + side * size * NEARER))


def derivatives(reference: Reference, x: float) -> list[Any]:
    """Value and three derivatives at a float; None for what has no limit, or is not known.

    At an infinity and at an edge of the domain they are limits; at a zero, those from the side of its sign.
    """
    if x != x:
        return [NAN, None, None, None]
    if abs(x) == mpmath.inf:
        sign = 1 if x > 0 else -1
        with mp.workdps(300):
            return _towards(reference, (sign * FAR, sign * FARTHER))
    if x == 0:
        found = _sided(reference, mpf(0), -1 if str(x).startswith("-") else 1)
        return found
    with mp.workdps(_precision(mpf(x))):
        exact = mpf(x)
        found = _stencil(reference, exact)
    if not any(mpmath.isnan(value) for value in found):
        return found
    for side in (-1, 1):
        limits = _sided(reference, exact, side)
        if limits[0] is not None:
            return limits
    return [NAN, None, None, None]


@lru_cache(None)
def table(reference: Reference, points: tuple[float, ...]) -> list[list[Any]]:
    """For each order the values at all points."""
    return [list(column) for column in zip(*[derivatives(reference, x) for x in points], strict=True)]


# --- Values and derivatives of one function at many points at once, and what is wrong with them ---


Function = Callable[[Any], Any]


class Fault(NamedTuple):
    """A result that is not the true one."""

    point: Any
    order: str
    found: float
    expected: float

    def __str__(self) -> str:
        return f"{self.order} at {self.point}: {self.found}, not {self.expected:.6g}"


def _along(function: Function) -> Function:
    return lambda x: tangrad.jvp(function, (x,), (tnp.ones_like(x),))[1]


def _across(function: Function) -> Function:
    def derivative(x: Any) -> Any:
        result, pullback = tangrad.vjp(function, x)
        return pullback(tnp.ones_like(result))[0]

    return derivative


def all_orders(function: Function) -> Function:
    """A function of an array that gives value and derivatives, by forward and by reverse mode."""

    def orders(x: Any) -> dict[str, Any]:
        return {
            "0": function(x),
            "1 forward": _along(function)(x),
            "1 reverse": _across(function)(x),
            "2 forward": _along(_along(function))(x),
            "2 mixed": _along(_across(function))(x),
            "2 reverse": _across(_across(function))(x),
        }

    return orders


def faults(
    points: list[Any],
    found: dict[str, Any],
    expected: list[list[Any]],
    scales: list[Any],
    dtype: str,
    ulps: float,
    floor: float = 0,
) -> Iterator[Fault]:
    """What is wrong by more than `ulps` units of the result, or of its change with the last digit of the argument."""
    for label, values in found.items():
        order = int(label[0])
        for place, (value, truth) in enumerate(zip(np.asarray(values, np.float64), expected[order], strict=True)):
            if truth is None or (order and mpmath.isnan(truth)):
                continue
            if dtype == "float16" and _leaves_range(dtype, [column[place] for column in expected]):
                continue
            slope = expected[order + 1][place]
            below = expected[1][place] if order == 2 else None
            if not _agrees(float(value), truth, slope, below, scales[place], dtype, (ulps, floor)):
                yield Fault(points[place], label, float(value), float(truth))


def _leaves_range(dtype: str, orders: list[Any]) -> bool:
    """Whether a value or derivative is finite and yet none of the dtype's, as of short floats close to edges."""
    greatest = float(tnp.finfo(dtype).max)
    known = [value for value in orders if value is not None and mpmath.isfinite(value)]
    return any([abs(value) > 0.98 * greatest for value in known])


def _agrees(
    value: float, truth: Any, slope: Any, below: Any, scale: float, dtype: str, allowed: tuple[float, float]
) -> bool:
    info = tnp.finfo(dtype)
    greatest, least, epsilon = float(info.max), float(info.smallest_normal), float(info.eps)
    if mpmath.isnan(truth):
        return np.isnan(value)
    if np.isnan(value):
        return False
    if abs(truth) > 0.98 * greatest:
        return (value > 0) == (truth > 0) and abs(value) > 0.5 * greatest
    ulps, floor = allowed
    known = slope is not None and mpmath.isfinite(slope) and np.isfinite(scale)
    condition = abs(mpmath.mpf(scale) * slope) if known else 0
    if below is not None and mpmath.isfinite(below) and np.isfinite(scale):
        # A first derivative that is right to the last digit may hide so much of the second.
        condition += abs(below) / max(abs(mpmath.mpf(scale)), 1)
    return bool(abs(value - truth) <= epsilon * (ulps * (abs(truth) + condition) + floor) + 4 * least)
