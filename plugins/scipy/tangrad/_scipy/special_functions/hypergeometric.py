"""The hypergeometric functions `hyp1f1` and `hyp2f1`: series, and what brings arguments to where they converge.

The series have derivatives by every parameter; all else is formulas that are differentiated as they stand.

Source: Pearson, Olver and Porter, Numerical methods for the computation of the confluent and Gauss hypergeometric
functions, Numer. Algorithms 74 (2017).
"""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined
from tangrad._scipy.special_functions.elementwise import Function, until_small, with_derivatives
from tangrad._scipy.special_functions.gamma_functions import sign_of_gamma
from tangrad.core import Array, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import stop_gradient
from tangrad.typing import ArrayLike

MADE_FOR = "scipy.special"
_SOURCE = (
    "Pearson, Olver and Porter, Numerical methods for the computation of the confluent and Gauss hypergeometric "
    "functions, Numer. Algorithms 74 (2017)"
)

_LIMIT = 5000  # terms


def _sum_with_slope(
    top: tuple[ArrayLike, ...], bottom: tuple[ArrayLike, ...], x: ArrayLike, place: int | None
) -> Array:
    """Σ Π (top)ₖ / Π (bottom)ₖ xᵏ / k!, or its derivative by the parameter at `place` of top and bottom together."""

    def step(k: Array, state: tuple[Array, ...]) -> Any:
        term, slope = state
        ratio = x / k
        for parameter in top:
            ratio = ratio * (parameter + (k - 1))
        for parameter in bottom:
            ratio = ratio / (parameter + (k - 1))
        if place is None:
            return (term * ratio, slope), (term * ratio,)
        if place < len(top):
            others = x / k
            for position, parameter in enumerate(top):
                others = others * (1 if position == place else parameter + (k - 1))
            for parameter in bottom:
                others = others / (parameter + (k - 1))
        else:
            others = -ratio / (bottom[place - len(top)] + (k - 1))
        slope = slope * ratio + term * others
        return (term * ratio, slope), (term * ratio, slope)

    ones, zeros = tnp.ones_like(x), tnp.zeros_like(x)
    return until_small(_LIMIT, step, (ones, zeros), (ones,) if place is None else (ones, zeros))[-1]


def _series(tops: int, bottoms: int) -> Function:
    """The series of so many parameters, as a function of them and x, with all derivatives."""
    count = tops + bottoms

    def parts(arguments: Any) -> tuple[Any, Any, Any]:
        return arguments[:tops], arguments[tops:count], arguments[count]

    def by_parameter(place: int) -> Function:
        return lambda t, ans, *arguments: t * _sum_with_slope(*parts(arguments), place)

    def by_x(t: Array, ans: object, *arguments: object) -> Array:
        top, bottom, x = parts(arguments)
        factor = math.prod(top[1:], start=top[0]) / math.prod(bottom[1:], start=bottom[0])
        return t * factor * series(*[parameter + 1 for parameter in (*top, *bottom)], x)

    series = with_derivatives(*[by_parameter(place) for place in range(count)], by_x)(
        lambda *arguments: _sum_with_slope(*parts(arguments), None)
    )
    return series


_kummer, _gauss = _series(1, 1), _series(2, 1)


def _is_pole(x: Array) -> Array:
    return (x <= 0) & (x == tnp.floor(x))


def _reciprocal_gamma(x: Array) -> Array:
    pole = _is_pole(stop_gradient(x))
    safe = tnp.where(pole, 1.0, x)
    return tnp.where(pole, 0.0, sign_of_gamma(stop_gradient(safe)) * tnp.exp(-p.lgamma_p.bind(safe)))


def _gamma(x: Array) -> Array:
    return sign_of_gamma(stop_gradient(x)) * tnp.exp(p.lgamma_p.bind(x))


# --- ₁F₁ -----------------------------------------------------------------------------------------------------------


def _kummer_large(a: Any, b: Array, size: Array) -> Array:
    """The asymptotic series for x = -size (DLMF 13.7.2)."""
    term = total = tnp.ones_like(size)
    for k in range(12):
        term = term * ((a + k) * (a - b + 1 + k) / ((k + 1) * size))
        total = total + term
    return _gamma(b) * _reciprocal_gamma(b - a) * tnp.exp(-a * tnp.log(size)) * total


def _confluent(a: ArrayLike, b: Any, x: Any) -> Array:
    # exp(x) ₁F₁(b - a; b; -x) has terms of one sign where x is negative (DLMF 13.2.39); a polynomial has them itself.
    fixed = stop_gradient(x)
    turned = (fixed < 0) & ~_is_pole(stop_gradient(a))
    far = turned & (fixed < (-80.0 if dtypes.finfo(x.dtype).bits < 64 else -600.0))
    moderate = tnp.where(far, -1.0, x)
    value = _kummer(tnp.where(turned, b - a, a), b, tnp.where(turned, -moderate, moderate))
    value = tnp.where(turned, tnp.exp(tnp.where(turned, moderate, 0.0)) * value, value)
    return tnp.where(far, _kummer_large(a, b, tnp.where(far, -x, 1000.0)), value)


@defined(1.0, 1.0, 1.0, gives="2.7183", source=_SOURCE)
def hyp1f1(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Kummer's confluent hypergeometric function ₁F₁(a; b; x)."""
    return _confluent(a, b, x)


# --- ₂F₁ -----------------------------------------------------------------------------------------------------------


def _around_one(a: Array, b: Array, rest: Array, x: Array) -> Array:
    """By the series in 1 - x (DLMF 15.8.4), whose coefficients have poles where rest = c - a - b is a whole number."""
    y, c_less_a, c_less_b = 1 - x, b + rest, a + rest
    one = _gamma(rest) * _reciprocal_gamma(c_less_a) * _reciprocal_gamma(c_less_b) * _gauss(a, b, 1 - rest, y)
    other = _gamma(-rest) * _reciprocal_gamma(a) * _reciprocal_gamma(b) * _gauss(c_less_a, c_less_b, 1 + rest, y)
    return _gamma(a + b + rest) * (one + tnp.exp(rest * tnp.log(y)) * other)


def _near_one(a: Array, b: Array, c: Array, x: Array) -> Array:
    """The same; near the poles, which cancel, interpolated from six values around."""
    step = 4e-3 if dtypes.finfo(x.dtype).bits >= 64 else 0.04
    rest = c - a - b
    whole = tnp.round(stop_gradient(rest))
    distance = rest - whole
    close = abs(stop_gradient(distance)) < 0.5 * step
    nodes = [k * step for k in (-3, -2, -1, 1, 2, 3)]
    places = [tnp.where(close, 0.5, rest), *[tnp.where(close, whole + node, 0.5) for node in nodes]]
    stacked = [tnp.broadcast_to(v, (len(places), *x.shape)) for v in (a, b, x)]
    regular, *values = _around_one(stacked[0], stacked[1], tnp.stack(places), stacked[2])
    total: ArrayLike = 0.0
    for node, value in zip(nodes, values):
        weight: ArrayLike = 1.0
        for other in nodes:
            if other != node:
                weight = weight * ((distance - other) / (node - other))
        total = total + weight * value
    return tnp.where(close, total, regular)


def _hypergeometric(a: ArrayLike, b: Any, c: Any, x: ArrayLike) -> Array:
    swapped = _is_pole(stop_gradient(b)) & ~_is_pole(stop_gradient(a))
    a, b = tnp.where(swapped, b, a), tnp.where(swapped, a, b)
    fixed, polynomial = stop_gradient(x), _is_pole(stop_gradient(a))
    # Pfaff's transformation (DLMF 15.8.1) takes x < 0 to the interval (0, 1), and keeps polynomials.
    below = fixed < 0
    low = tnp.where(below, x, -1.0)
    b = tnp.where(below, c - b, b)
    x = tnp.where(below, low / (low - 1), x)
    near = ~polynomial & (stop_gradient(x) > 0.7)
    inside = stop_gradient(x) < 1
    value = _gauss(*[tnp.where(near, safe, v) for v, safe in ((a, 1.0), (b, 1.0), (c, 2.0), (x, 0.5))])
    usable = near & inside
    given = ((a, 0.4), (b, 0.3), (c, 1.2), (x, 0.8))
    value = tnp.where(usable, _near_one(*[tnp.where(usable, v, safe) for v, safe in given]), value)
    value = tnp.where(below, tnp.exp(-a * tnp.log1p(-low)) * value, value)
    # Gauss's sum at 1 (DLMF 15.4.20).
    at_one = ~polynomial & ~below & (fixed == 1)
    rest = tnp.where(at_one, c - a - b, 0.5)
    closed = _gamma(c) * _gamma(tnp.where(rest > 0, rest, 1.0)) * _reciprocal_gamma(c - a) * _reciprocal_gamma(c - b)
    value = tnp.where(at_one, tnp.where(rest > 0, closed, math.inf), value)
    return tnp.where(~polynomial & ~below & (fixed > 1), math.inf, tnp.where(tnp.isnan(fixed), math.nan, value))


@defined(
    1.0,
    1.0,
    2.0,
    0.5,
    gives="1.3863",
    returns="where c - a - b is a whole number, those for x near 1 are interpolated in c, and have 11 or 4 digits",
    source=_SOURCE,
)
def hyp2f1(a: ArrayLike, b: ArrayLike, c: ArrayLike, x: ArrayLike) -> Array:
    """Gauss's hypergeometric function ₂F₁(a, b; c; x) for x ≤ 1; infinite beyond, unless it is a polynomial."""
    return _hypergeometric(a, b, c, x)
