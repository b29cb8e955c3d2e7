"""The beta function and what is made of it: `beta`, `betaln`, `betainc`, `comb`."""

from __future__ import annotations

import math
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined, reals
from tangrad._scipy.special_functions.elementwise import with_derivatives
from tangrad._scipy.special_functions.gamma_functions import (
    HALF_LOG_2PI,
    STIRLING_FROM,
    is_pole,
    sign_of_gamma,
    stirling_remainder,
)
from tangrad.core import Array
from tangrad.extend import lax as p
from tangrad.extend.lax import stop_gradient
from tangrad.extend.numpy import as_one
from tangrad.typing import ArrayLike, Value

MADE_FOR = "scipy.special"


def _betaln_slope(t: Any, one: Any, other: Any) -> Any:
    return t * (p.digamma_p.bind(one) - p.digamma_p.bind(one + other))


def _without_poles(a: Value, b: Value) -> tuple[Any, Any, Any]:
    """Arguments with the same value that are no poles of Γ, where there are such, and where there are none.

    At a = 0, -1, … the function is infinite, except where b is one of 1, …, -a: the poles of Γ(a) and Γ(a + b) cancel.
    """
    poles = is_pole(a) | is_pole(b)
    pole, other = tnp.where(is_pole(a), a, b), tnp.where(is_pole(a), b, a)
    cancelled = poles & (other == tnp.floor(other)) & (other > 0) & (1 - pole - other > 0) & (pole > -math.inf)
    one, two = tnp.where(cancelled, 1 - pole - other, a), tnp.where(cancelled, other, b)
    infinite = poles & ~cancelled
    return tnp.where(infinite, 1.0, one), tnp.where(infinite, 1.0, two), infinite


@with_derivatives(lambda t, ans, a, b: _betaln_slope(t, a, b), lambda t, ans, a, b: _betaln_slope(t, b, a))
def _betaln(a: Value, b: Value) -> Value:
    """log |B(a, b)|, also at the poles and at infinity."""
    one, two, infinite = _without_poles(a, b)
    small, great = tnp.minimum(one, two), tnp.maximum(one, two)
    endless = (great == math.inf) & (small < math.inf)
    value = _regular_betaln(small, tnp.where(endless, 1.0, great))
    value = tnp.where(endless, tnp.where(small > 0, -math.inf, math.inf), value)
    return tnp.where(tnp.isnan(a) | tnp.isnan(b), math.nan, tnp.where(infinite, math.inf, value))


def _regular_betaln(a: Value, b: Value) -> Value:
    """The same between. Where an argument is large, the difference of the Stirling formulas is taken by hand."""
    small, great = tnp.minimum(a, b), tnp.maximum(a, b)
    plain = p.lgamma_p.bind(small) + p.lgamma_p.bind(great) - p.lgamma_p.bind(small + great)
    far = (great >= STIRLING_FROM) & (small > 0)
    high, low = tnp.where(far, great, 20.0), tnp.where(far, small, 1.0)
    ratio = stirling_remainder(high) - stirling_remainder(high + low) + low - low * tnp.log(high)
    one = p.lgamma_p.bind(low) + ratio - (high + low - 0.5) * tnp.log1p(low / high)
    least = tnp.maximum(low, 1.0)
    both = stirling_remainder(high) + stirling_remainder(least) - stirling_remainder(high + least) + HALF_LOG_2PI
    share = low / (high + low)
    both = both - 0.5 * tnp.log(high) + (low - 0.5) * tnp.log(share) + high * tnp.log1p(-share)
    return tnp.where(far, tnp.where(low >= STIRLING_FROM, both, one), plain)


@defined(2.0, 3.0, gives="-2.4849", weak="as promoted")
def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """log |B(a, b)|, with B(a, b) = Γ(a) Γ(b) / Γ(a + b)."""
    return _betaln(a, b)


@defined(2.0, 3.0, gives="0.0833")
def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """The beta function, Γ(a) Γ(b) / Γ(a + b)."""
    return _sign_of_beta(stop_gradient(a), stop_gradient(b)) * tnp.exp(_betaln(a, b))


def _sign_of_beta(a: Value, b: Value) -> Value:
    """1, -1, or 0 at a pole of Γ(a + b) alone; at poles as the limit along the other argument has it, or 1."""
    poles = is_pole(a), is_pole(b)
    alone = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
    alone = tnp.where(tnp.isinf(a + b), sign_of_gamma(tnp.minimum(a, b)), tnp.where(is_pole(a + b), 0.0, alone))
    _, _, infinite = _without_poles(a, b)
    whole = tnp.where(poles[0], b, a)
    parity = tnp.where(tnp.isfinite(whole) & (whole % 2 != 0), -1.0, 1.0)
    at_poles = tnp.where(infinite & ~(poles[0] & poles[1]), 1.0, parity)
    return tnp.where(poles[0] | poles[1], at_poles, alone)


@defined(1.0, 2.0, 0.5, gives="0.7500", weak="as promoted", returns="derivatives are known with respect to x")
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """The regularised incomplete beta function Iₓ(a, b)."""
    return p.regularized_incomplete_beta_p.bind(a, b, x)


@as_one("repetition")
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """The number of ways to choose k of N things: the binomial coefficient.

    Args:
        N, k: arrays or numbers, real, broadcast against each other.
        repetition: whether a thing may be chosen more than once.

    Returns:
        A floating array of their common shape; 0 where N or k is negative, or k > N.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> f"{special.comb(5, 2):.3f}"
    '10.000'
    """
    total, chosen = reals("comb", N, k, weak="as promoted")
    if repetition:
        total = tnp.where((total == 0) & (chosen == 0), 0.0, total + chosen - 1)
    inside = (chosen >= 0) & (total >= chosen) & (total >= 0)
    total, chosen = tnp.where(inside, total, 1.0), tnp.where(inside, chosen, 0.0)
    value = tnp.exp(-_betaln(total - chosen + 1, chosen + 1)) / (total + 1)
    value = tnp.where(inside, value, 0.0)
    endless = inside & (total == math.inf) & (chosen < math.inf)
    return tnp.where(endless, tnp.where(chosen == 0, 1.0, math.inf), value)
