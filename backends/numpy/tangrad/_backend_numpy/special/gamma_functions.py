"""log Γ, its derivatives, and the Hurwitz zeta function."""

from __future__ import annotations

import numpy as np

from tangrad._backend_numpy.special.pieces import constant, piecewise, polynomial
from tangrad.extend.lax import (
    DIGAMMA_NEAR_2,
    DIGAMMA_TAIL,
    EULER_MACLAURIN,
    HALF_LOG_2PI,
    NEAR_2,
    STIRLING,
    STIRLING_FROM,
)


def stirling_remainder(x: np.ndarray) -> np.ndarray:
    """log Γ(x) - (x - 1/2) log x + x - log(2π) / 2, for x from `STIRLING_FROM`."""
    return polynomial(1 / (x * x), STIRLING) / x


# --- log Γ ---------------------------------------------------------------------------------------------------------


def lgamma(x: np.ndarray) -> np.ndarray:
    """log |Γ(x)|."""
    return piecewise(
        (x,),
        ((x > 0) & (x < 0.5), lambda x: _near_2(x) - np.log(x) - np.log1p(x)),
        ((x >= 0.5) & (x < 1.5), lambda x: _near_2(x - 1) - np.log1p(x - 1)),
        ((x >= 1.5) & (x < 2.5), lambda x: _near_2(x - 2)),
        ((x >= 2.5) & (x < STIRLING_FROM), _lgamma_by_recurrence),
        (x >= STIRLING_FROM, _lgamma_by_stirling),
        (x <= 0, _lgamma_by_reflection),
        (np.isnan(x), lambda x: x),
    )


def _near_2(t: np.ndarray) -> np.ndarray:
    return t * polynomial(t, NEAR_2)


def lgamma_1p(x: np.ndarray) -> np.ndarray:
    """log Γ(1 + x) for x > 0, to full relative accuracy near 0 too."""
    return piecewise((x,), (x < 0.5, lambda x: _near_2(x) - np.log1p(x)), (x >= 0.5, lambda x: lgamma(1 + x)))


def _lgamma_by_recurrence(x: np.ndarray) -> np.ndarray:
    product = np.ones_like(x)
    x = x.copy()
    while True:
        above = x >= 2.5
        if not above.any():
            return _near_2(x - 2) + np.log(product)
        x[above] -= 1
        product[above] *= x[above]


def _lgamma_by_stirling(x: np.ndarray) -> np.ndarray:
    # Only where log x is finite: inf - inf would be NaN.
    log = np.log(x)
    return np.where(np.isinf(x), x, (x - 0.5) * (log - 1) - 0.5 + HALF_LOG_2PI + stirling_remainder(x))


def _lgamma_by_reflection(x: np.ndarray) -> np.ndarray:
    # Γ(x) Γ(1 - x) = π / sin(πx); the sine of the distance to the nearest integer keeps its digits.
    distance = np.abs(x - np.round(x))
    finite = np.log(np.pi) - np.log(np.sin(np.pi * distance)) - lgamma(1 - x)
    return np.where((distance == 0) | np.isinf(x), np.inf, finite)


# --- ψ -------------------------------------------------------------------------------------------------------------


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of log Γ; at its poles -inf for 0 (of either sign) and NaN for negative integers, as on XLA of
    jaxlib 0.12. Up to 0.10 that has NaN at 0, too.
    """
    return piecewise(
        (x,),
        ((x > 0) & (x < 0.5), lambda x: polynomial(x, DIGAMMA_NEAR_2) - 1 / (1 + x) - 1 / x),
        ((x >= 0.5) & (x < 1.5), lambda x: polynomial(x - 1, DIGAMMA_NEAR_2) - 1 / x),
        ((x >= 1.5) & (x < 2.5), lambda x: polynomial(x - 2, DIGAMMA_NEAR_2)),
        ((x >= 2.5) & (x < STIRLING_FROM), _digamma_by_recurrence),
        (x >= STIRLING_FROM, _digamma_by_series),
        (x <= 0, _digamma_by_reflection),
        (np.isnan(x), lambda x: x),
    )


def _digamma_by_recurrence(x: np.ndarray) -> np.ndarray:
    total = np.zeros_like(x)
    x = x.copy()
    while True:
        above = x >= 2.5
        if not above.any():
            return polynomial(x - 2, DIGAMMA_NEAR_2) + total
        x[above] -= 1
        total[above] += 1 / x[above]


def _digamma_by_series(x: np.ndarray) -> np.ndarray:
    square = 1 / (x * x)
    return np.log(x) - 0.5 / x - square * polynomial(square, DIGAMMA_TAIL)


def _digamma_by_reflection(x: np.ndarray) -> np.ndarray:
    distance = x - np.round(x)
    finite = digamma(1 - x) - np.pi / np.tan(np.pi * distance)
    return np.where(x == 0, -np.inf, np.where((distance == 0) | np.isinf(x), np.nan, finite))


# --- ζ -------------------------------------------------------------------------------------------------------------

_TERMS = 10  # summed before the Euler-Maclaurin formula takes over


def zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The Hurwitz zeta function Σ (k + q)⁻ˣ.

    For q ≤ 0: inf at the integers, elsewhere the sum where x is an integer and NaN where it is not, for then the power
    of a negative number is none.
    """
    integer = x == np.floor(x)
    return piecewise(
        (x, q),
        ((x > 1) & (q > 0), _zeta_positive),
        ((x > 1) & (q <= 0) & integer, _zeta_by_reflection),
        ((x > 1) & (q <= 0) & ~integer, constant(np.nan)),
        ((x > 1) & (q <= 0) & (q == np.floor(q)), constant(np.inf)),
        (x == 1, constant(np.inf)),
        (~(x >= 1) | np.isnan(q), constant(np.nan)),
    )


def _zeta_positive(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    total = np.zeros_like(x)
    for k in range(_TERMS):
        total += (q + k) ** -x
    a = q + _TERMS
    power = a**-x
    total += power * a / (x - 1) + 0.5 * power
    # Bernoulli's terms: B₂ₖ / (2k)! · x (x + 1) … (x + 2k - 2) · a^(-x - 2k + 1).
    factor = x * power / a
    for k, coefficient in enumerate(EULER_MACLAURIN):
        total += coefficient * factor
        factor = factor * (x + 2 * k + 1) * (x + 2 * k + 2) / (a * a)
    return np.where(np.isinf(x), np.where(q < 1, np.inf, np.where(q == 1, 1.0, 0.0)), total)


def _zeta_by_reflection(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    """For integers x: the sum over all integers, negative ones included, depends on the fraction of q alone."""
    fraction = q - np.floor(q)
    sign = np.where(x % 2 == 0, 1.0, -1.0)
    beyond = _zeta_positive(x, 1 - fraction) - _zeta_positive(x, 1 - q)
    return _zeta_positive(x, fraction) + sign * beyond


def polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The m-th derivative of ψ, for m = 0, 1, 2, …; NaN for other m."""
    valid = (m >= 0) & (m == np.floor(m))
    return piecewise(
        (m, x),
        (valid & (m > 0), _polygamma),
        (m == 0, lambda m, x: digamma(x)),
        (~valid, constant(np.nan)),
    )


def _polygamma(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    sign = np.where(m % 2 == 0, -1.0, 1.0)
    return sign * np.exp(lgamma(m + 1)) * zeta(m + 1, x)
