"""True values and derivatives, by mpmath: of a point, or the limit where a function has an edge."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
from mpmath import mp, mpf

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
