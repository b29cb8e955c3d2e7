"""The gamma and the beta function, and what is made of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined, reals
from tangrad._scipy.special_functions.elementwise import polynomial, with_derivatives
from tangrad.core import Array
from tangrad.extend import lax as p
from tangrad.extend.lax import complex as complex_of
from tangrad.extend.lax import stop_gradient
from tangrad.extend.numpy import as_one, index_argument, is_complex
from tangrad.typing import ArrayLike, Value

# --- The gamma function and what is made of it: `gamma`, `loggamma`, `digamma`, `poch`, `gammainc`, … -----------------


MADE_FOR = "scipy.special"

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
STIRLING_FROM = 10

# log Γ(z) = (z - 1/2) log z - z + log(2π)/2 + Σ cₖ z¹⁻²ᵏ and ψ(z) = log z - 1/(2z) - Σ dₖ z⁻²ᵏ (DLMF 5.11).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_STIRLING = tuple([b / (2 * k * (2 * k - 1)) for k, b in reversed(list(enumerate(_BERNOULLI, 1)))])
_DIGAMMA = tuple([b / (2 * k) for k, b in reversed(list(enumerate(_BERNOULLI, 1)))])


def stirling_remainder(z: Value) -> Array:
    """What Stirling's formula for log Γ lacks, for large z."""
    below = 1 / z
    return below * polynomial(below * below, _STIRLING)


# --- of one argument -----------------------------------------------------------------------------------------------


@defined(4.0, gives="1.7918")
def gammaln(x: ArrayLike) -> Array:
    """log |Γ(x)|; infinite at 0, -1, -2, …"""
    return p.lgamma_p.bind(x)


def _complex_digamma(z: Array) -> Array:
    """ψ, by the recurrence, the asymptotic series and the reflection."""
    left = z.real < 0.5
    right = tnp.where(left, 1 - z, z)
    total = -sum([1 / (right + k) for k in range(STIRLING_FROM)])
    shifted = right + STIRLING_FROM
    below = 1 / shifted
    total = total + tnp.log(shifted) - 0.5 * below - below * below * polynomial(below * below, _DIGAMMA)
    safe = tnp.where(left, z, 0.5)
    return tnp.where(left, total - math.pi * tnp.cos(math.pi * safe) / tnp.sin(math.pi * safe), total)


@with_derivatives(lambda t, ans, z: t * _complex_digamma(z))
def _complex_loggamma(z: Array) -> Array:
    """Hare, Computing the principal branch of log-Gamma, J. Algorithms 25 (1997): in the upper half plane."""
    lower = z.imag < 0
    upper = complex_of(z.real, abs(z.imag))
    left = upper.real < 0.5
    right = tnp.where(left, 1 - upper, upper)
    shifted = right + STIRLING_FROM
    value = (shifted - 0.5) * tnp.log(shifted) - shifted + HALF_LOG_2PI + stirling_remainder(shifted)
    value = value - sum([tnp.log(right + k) for k in range(STIRLING_FROM)])
    # log sin πz = log(i/2) - iπz + log(1 - exp(2iπz)), which goes on from the interval (0, 1).
    turn = 2 * math.pi * complex_of(upper.real - tnp.round(upper.real), upper.imag)
    sine = complex_of(math.log(0.5) + 0 * turn.real, 0.5 * math.pi + 0 * turn.real)
    sine = sine - 1j * math.pi * upper + tnp.log(-tnp.expm1(1j * turn))
    value = tnp.where(left, math.log(math.pi) - sine - value, value)
    value = tnp.where((z.imag == 0) & (z.real <= 0) & (z.real == tnp.floor(z.real)), math.inf, value)
    return tnp.where(lower, tnp.conj(value), value)


def _loggamma(x: Any) -> Array:
    if is_complex(x):
        return _complex_loggamma(x)
    return tnp.where(x < 0, math.nan, p.lgamma_p.bind(x))


@defined(0.5, gives="0.5724", complex_too=True, returns="of real numbers below 0 NaN, since Γ changes its sign there")
def loggamma(x: ArrayLike) -> Array:
    """The principal branch of the logarithm of Γ: analytic but for the negative real axis."""
    return _loggamma(x)


def sign_of_gamma(x: Value) -> Array:
    below = tnp.floor(x)
    odd = below % 2 != 0
    sign = tnp.where(tnp.where(x == 0, tnp.signbit(x), (x < 0) & odd), -1.0, 1.0).astype(x.dtype)
    return tnp.where(tnp.isnan(x) | ((x < 0) & (x == below)), math.nan, sign)


@defined(-0.5, gives="Array(-1., dtype=float32)")
def gammasgn(x: ArrayLike) -> Array:
    """The sign of Γ(x): 1 or -1, NaN at -1, -2, … and of NaN."""
    return sign_of_gamma(stop_gradient(x))


def _gamma_slope(t: Array, ans: Array, x: Array) -> Array:
    beyond = (x > 0) & (ans == math.inf)  # as is each derivative then: its terms would be of both signs
    inner = tnp.where(beyond & (x != 0), 2.0, x)
    slope = tnp.where(inner == 0, -1 / tnp.where(inner == 0, inner, 1.0), p.digamma_p.bind(inner))
    return t * tnp.where(beyond, ans, ans * slope)


@with_derivatives(_gamma_slope)
def _real_gamma(x: ArrayLike) -> Array:
    return sign_of_gamma(stop_gradient(x)) * tnp.exp(p.lgamma_p.bind(x))


@defined(4.0, gives="6.0000", weak="never", complex_too=True, returns="NaN at -1, -2, …; of complex numbers at 0, too")
def gamma(x: ArrayLike) -> Array:
    """The gamma function."""
    if is_complex(x):
        real = tnp.real(x)
        pole = (tnp.imag(x) == 0) & (real <= 0) & (real == tnp.floor(real))
        return tnp.where(pole, complex(math.nan, math.nan), tnp.exp(_complex_loggamma(x)))
    return _real_gamma(x)


@defined(1.0, gives="-0.5772", returns="infinite at 0, NaN at -1, -2, …")
def digamma(x: ArrayLike) -> Array:
    """The derivative of log Γ."""
    zero = x == 0
    return tnp.where(zero, -1 / tnp.where(zero, x, 1.0), p.digamma_p.bind(tnp.where(zero, 1.0, x)))


@as_one("exact")
def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n!, which is Γ(n + 1); 0 below 0.

    Args:
        n: an array or number, real; integers become floats.
        exact: must be False: integers of any length are no array elements.

    Returns:
        An array of the shape of `n`.

    Raises:
        NotImplementedError: for `exact=True`.
        TypeError: for complex numbers.

    >>> import tangrad.scipy.special as special
    >>> f"{special.factorial(5):.1f}"
    '120.0'
    """
    if exact:
        raise NotImplementedError("factorial: exact=True is not supported, since array elements have 64 bits at most")
    (made,) = reals("factorial", n)
    return tnp.where(made < 0, 0.0, tnp.exp(p.lgamma_p.bind(tnp.where(made < 0, 0.0, made) + 1)))


# --- of two arguments ----------------------------------------------------------------------------------------------


def is_pole(x: Value) -> Array:
    return (x <= 0) & (x == tnp.floor(x))


@defined(1.0, 1.0, gives="0.6321", weak="as promoted")
def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised lower incomplete gamma function P(a, x)."""
    return p.igamma_p.bind(a, x)


@defined(1.0, 1.0, gives="0.3679", weak="as promoted")
def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularised upper incomplete gamma function, 1 - P(a, x)."""
    return p.igammac_p.bind(a, x)


@with_derivatives(
    lambda t, ans, z, m: t * ans * (p.digamma_p.bind(z + m) - p.digamma_p.bind(z)),
    lambda t, ans, z, m: t * ans * p.digamma_p.bind(z + m),
)
def _poch(z: Value, m: Array) -> Array:
    poles, falling = is_pole(z), is_pole(z + m)
    # Both poles: Γ(z + m) / Γ(z) = (-1)ᵐ Γ(1 - z) / Γ(1 - z - m).
    flipped = poles & falling
    top, bottom = tnp.where(flipped, 1 - z, z + m), tnp.where(flipped, 1 - z - m, z)
    sign = tnp.where(flipped, 1 - 2 * (m % 2), sign_of_gamma(top) * sign_of_gamma(bottom))
    value = sign * tnp.exp(p.lgamma_p.bind(top) - p.lgamma_p.bind(bottom))
    value = tnp.where(poles & ~falling, 0.0, tnp.where(falling & ~poles, math.inf, value))
    endless = (z == math.inf) & (m != 0)
    value = tnp.where(endless & (abs(m) < math.inf), tnp.where(m > 0, math.inf, 0.0), value)
    value = tnp.where((m == -math.inf) & ~endless, tnp.where(poles, 0.0, math.nan), value)
    unknown = tnp.isnan(z) | tnp.isnan(m) | ((z == -math.inf) & (m == math.inf))
    return tnp.where(m == 0, 1.0, tnp.where(unknown, math.nan, value))


@defined(2.0, 3.0, gives="24.000")
def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's symbol, Γ(z + m) / Γ(z)."""
    return _poch(z, m)


@defined(
    1,
    1.0,
    gives="1.6449",
    weak="as promoted",
    returns="NaN for other orders",
    n="the order: whole numbers, 0, 1, …",
    x="an array or number, real; broadcast against `n`",
)
def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order n of digamma."""
    n, endless = stop_gradient(n), x == math.inf
    inner = tnp.where(endless, 1.0, x)
    value = tnp.where((n == 0) & (x == 0), -1 / inner, p.polygamma_p.bind(n, inner))
    return tnp.where(endless, tnp.where(n == 0, math.inf, 0 * value), value)


@as_one("d")
def multigammaln(a: ArrayLike, d: ArrayLike) -> Array:
    """The logarithm of the multivariate gamma function, π^(d (d - 1) / 4) Π Γ(a + (1 - j) / 2), j = 1, …, d.

    Args:
        a: an array or number, real, greater than (d - 1) / 2.
        d: the dimension, an integer.

    Returns:
        An array of the shape of `a`.

    Raises:
        TypeError: for complex numbers, and a dimension that is no integer.

    >>> import tangrad.scipy.special as special
    >>> f"{special.multigammaln(3.0, 2):.4f}"
    '1.5502'
    """
    dimension = index_argument("multigammaln", d, "d")
    (made,) = reals("multigammaln", a, weak="never")
    constant = 0.25 * dimension * (dimension - 1) * math.log(math.pi)
    return constant + sum([p.lgamma_p.bind(made - 0.5 * j) for j in range(dimension)])


def bernoulli(n: int) -> Array:
    """The Bernoulli numbers B₀, …, Bₙ, with B₁ = -1/2.

    Args:
        n: the greatest index, an integer.

    Returns:
        An array of n + 1 floats.

    Raises:
        TypeError: `n` is no integer.
        ValueError: it is negative.

    >>> import tangrad.scipy.special as special
    >>> special.bernoulli(2)
    Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    last = index_argument("bernoulli", n, "n")
    if last < 0:
        raise ValueError(f"bernoulli: n must not be negative, got {n}")
    return tnp.asarray(np.array([_bernoulli(k) for k in range(last + 1)]), float)


def _bernoulli(k: int) -> float:
    """Bₖ = -(-1)^(k/2) 2 k! ζ(k) / (2π)ᵏ for even k (DLMF 25.6.2)."""
    if k < 2 or k % 2:
        return (1.0, -0.5)[k] if k < 2 else 0.0
    if k <= 14:
        return _BERNOULLI[k // 2 - 1]
    zeta = 1 + sum([float(j) ** -k for j in range(2, 13)])
    magnitude = 2 * zeta * math.exp(math.lgamma(k + 1) - k * math.log(2 * math.pi)) if k < 260 else math.inf
    return -magnitude if k % 4 == 0 else magnitude


# --- The beta function and what is made of it: `beta`, `betaln`, `betainc`, `comb` ------------------------------------


def _betaln_slope(t: Array, one: Array, other: Array) -> Array:
    return t * (p.digamma_p.bind(one) - p.digamma_p.bind(one + other))


def _without_poles(a: Value, b: Value) -> tuple[Array, Array, Array]:
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
