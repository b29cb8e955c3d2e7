"""Exponential, sine and cosine integrals, the dilogarithm, and the zeta functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined, reals
from tangrad._scipy.special_functions.elementwise import backward, polynomial, sum_of_terms, with_derivatives
from tangrad.core import Array
from tangrad.extend import lax as p
from tangrad.extend.lax import complex as complex_of
from tangrad.extend.lax import stop_gradient
from tangrad.extend.numpy import Fused, as_one
from tangrad.typing import ArrayLike

# ----------------------------------------------------------------------------------------------------------------------
# Exponential, sine and cosine integrals, and the dilogarithm: `exp1`, `expi`, `expn`, `sici`, `spence`.


MADE_FOR = "scipy.special"

_EULER = 0.5772156649015329
_DEPTH = 90  # of the continued fraction: at x = 1 its error is about exp(-4 √90) = 3e-17


def _fraction(n: ArrayLike, x: Array) -> Array:
    """exp(x) Eₙ(x) for x ≥ 1 (DLMF 8.19.18)."""

    def step(k: Array, tail: Array) -> Array:
        return x + n + 2 * (k - 1) - k * (n + k - 1) / tail

    return 1 / backward(_DEPTH, step, x + n + 2 * _DEPTH)


def _series(x: ArrayLike, count: int) -> Array:
    """Σ xᵏ / (k k!), k ≥ 1."""

    def step(k: Array, power: Array) -> tuple[Array, Array]:
        power = power * (x / k)
        return power, power / k

    return sum_of_terms(count, step, tnp.ones_like(x), tnp.zeros_like(x))


# --- E₁, Ei and Eₙ -------------------------------------------------------------------------------------------------


def _e1(x: Array) -> Array:
    """E₁ of positive x: its series (DLMF 6.6.2), and from 1 on the continued fraction."""
    near = x <= 1
    small, large = tnp.where(near, x, 1.0), tnp.where(near, 1.0, x)
    series = -_EULER - tnp.log(small) - _series(-small, 22)
    value = tnp.where(near, series, tnp.exp(-large) * _fraction(1.0, tnp.minimum(large, 1e9)))
    return tnp.where(x == 0, math.inf, value)


def _ei(x: Array) -> Array:
    """Ei of positive x: its series (DLMF 6.6.1), and from 40 on the asymptotic one (6.12.2)."""
    near = x < 40
    small, large = tnp.where(near, x, 1.0), tnp.where(near, 40.0, x)
    series = _EULER + tnp.log(small) + _series(small, 140)

    def step(k: Array, term: Array) -> tuple[Array, Array]:
        term = term * (k / large)
        return term, term

    ones = tnp.ones_like(x)
    # exp(x) overflows before exp(x) / x does.
    half = tnp.exp(0.5 * large)
    value = tnp.where(near, series, half * (half / tnp.minimum(large, 1e30)) * sum_of_terms(36, step, ones, ones))
    return tnp.where(x == 0, -math.inf, value)


def _by_sign(positive: Callable[[Array], Array], other: Callable[[Array], Array], x: Any) -> Array:
    """A function of positive numbers that goes on as the negative of another one; both are infinite at 0."""
    ahead = positive(tnp.where(x > 0, x, 1.0))
    behind = -other(tnp.where(x < 0, -x, 1.0))
    value = tnp.where(x > 0, ahead, behind)
    return tnp.where(tnp.isnan(x), x, tnp.where(x == 0, positive(tnp.zeros_like(x)), value))


@with_derivatives(lambda t, ans, x: t * (ans * (1 - 1 / x)))
def _power_over(x: Array) -> Array:
    """exp(x) / x, which has the factor of its derivative: that of the quotient would be a difference of infinities."""
    half = tnp.exp(0.5 * x)
    value = half * (half / x)
    return tnp.where(x == math.inf, math.inf, tnp.where(half == 0, -half, value))


@with_derivatives(lambda t, ans, x: t * _power_over(-x))
def _exp1(x: Array) -> Array:
    return _by_sign(_e1, _ei, x)


@with_derivatives(lambda t, ans, x: t * _power_over(x))
def _expi(x: object) -> Array:
    return _by_sign(_ei, _e1, x)


@defined(1.0, gives="0.2194")
def exp1(x: ArrayLike) -> Array:
    """The exponential integral E₁(x) = ∫₁^∞ exp(-x t) / t dt; its real part, -Ei(-x), below 0."""
    return _exp1(x)


@defined(1.0, gives="1.8951")
def expi(x: ArrayLike) -> Array:
    """The exponential integral Ei(x), the principal value of ∫₋∞ˣ exp(t) / t dt."""
    return _expi(x)


def _expn_series(n: Array, x: Array) -> Array:
    """Eₙ for 0 < x ≤ 1 and n ≥ 1 (DLMF 8.19.8)."""

    def step(k: Array, power: Array) -> tuple[Array, Array]:
        power = power * (-x / k)
        return power, tnp.where(k == n - 1, 0.0, power / tnp.where(k == n - 1, 1.0, k + 1 - n))

    first = tnp.where(n == 1, 0.0, 1 / tnp.where(n == 1, 1.0, 1 - n))
    total = sum_of_terms(22, step, tnp.ones_like(x), first)
    sign = 1 - 2 * ((n - 1) % 2)
    leading = sign * tnp.exp((n - 1) * tnp.log(x) - p.lgamma_p.bind(n))
    return leading * (p.digamma_p.bind(n) - tnp.log(x)) - total


@with_derivatives(None, lambda t, ans, n, x: -t * tnp.where(n == 0, ans * (1 + 1 / x), _expn(tnp.maximum(n - 1, 0), x)))
def _expn(n: Array, x: Array) -> Array:
    valid = (n >= 0) & (n == tnp.floor(n)) & (x >= 0)
    order = tnp.where(valid & (n > 0), n, 1.0)
    near = x <= 1
    small = tnp.where(near & (x > 0), x, 1.0)
    large = tnp.where(near | ~valid, 1.0, x)
    value = tnp.where(near, _expn_series(order, small), tnp.exp(-large) * _fraction(order, tnp.minimum(large, 1e9)))
    at_zero = tnp.where(n > 1, 1 / tnp.where(n > 1, n - 1, 1.0), math.inf)
    value = tnp.where(n == 0, tnp.exp(-x) / x, value)
    return tnp.where(valid, tnp.where(x == 0, at_zero, value), math.nan)


@defined(
    2,
    0.0,
    gives="Array(1., dtype=float32)",
    returns="NaN for other orders and negative `x`",
    n="the order: whole numbers, 0, 1, …, held fixed in derivatives",
    x="an array or number, real, not negative; broadcast against `n`",
)
def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """The generalised exponential integral Eₙ(x) = ∫₁^∞ exp(-x t) / tⁿ dt."""
    return _expn(stop_gradient(n), x)


# --- sine and cosine integrals -------------------------------------------------------------------------------------


def _both_slopes(t: Array, ans: object, x: Array) -> object:
    near = abs(x) < 1
    small, safe = tnp.where(near, x, 0.0), tnp.where(near, 1.0, x)
    quotient = tnp.where(near, tnp.sinc(small / math.pi), tnp.sin(safe) / safe)
    return complex_of(t * quotient, t * (tnp.cos(x) / x))


@with_derivatives(_both_slopes)
def _sici(x: Array) -> Array:
    """Si(x) + i Ci(|x|): power series (DLMF 6.6.5, 6.6.6), or E₁(ix) = -Ci(x) + i (Si(x) - π/2) (6.5.5)."""
    size = abs(x)
    near = size < 4
    small = tnp.where(near, size, 1.0)
    sine, cosine = polynomial(small * small, _SI) * small, polynomial(small * small, _CI)
    cosine = cosine * small * small + _EULER + tnp.log(small)
    large = tnp.where(near | ~tnp.isfinite(x), 4.0, size)
    rotation = complex_of(tnp.cos(large), -tnp.sin(large))
    integral = rotation * _fraction(1.0, complex_of(tnp.zeros_like(large), large))
    si = tnp.where(near, sine, 0.5 * math.pi + integral.imag)
    ci = tnp.where(near, cosine, -integral.real)
    si = tnp.where(tnp.isinf(x), 0.5 * math.pi, si)
    ci = tnp.where(tnp.isinf(x), tnp.where(x < 0, math.nan, 0.0), ci)
    value = complex_of(tnp.where(x < 0, -si, si), ci)
    return tnp.where(tnp.isnan(x), complex_of(x, x), value)


_SI = tuple([(-1) ** k / ((2 * k + 1) * math.factorial(2 * k + 1)) for k in range(16, -1, -1)])
_CI = tuple([(-1) ** k / (2 * k * math.factorial(2 * k)) for k in range(17, 0, -1)])


def _sici_parts(x: object) -> tuple[Array, Array]:
    both = _sici(x)
    return both.real, both.imag


_sici_pair = Fused("sici", _sici_parts, multiple_results=True)


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """The sine integral ∫₀ˣ sin(t) / t dt and the cosine integral γ + log x + ∫₀ˣ (cos(t) - 1) / t dt.

    Args:
        x: an array or number, real; integers become floats.

    Returns:
        Two arrays of the shape of `x`. Below 0 the second is the real part, Ci(-x); NaN at -∞, as SciPy has it.

    Raises:
        TypeError: for complex numbers.

    >>> import tangrad.scipy.special as special
    >>> s, c = special.sici(1.0)
    >>> f"{s:.4f} {c:.4f}"
    '0.9461 0.3374'
    """
    (made,) = reals("sici", x)
    if made.aval.dtype.itemsize > 2:
        return tuple(_sici_pair(made))
    return tuple([part.astype(made.aval.dtype) for part in _sici_pair(made.astype(np.float32))])


# --- the dilogarithm -----------------------------------------------------------------------------------------------

# Bₖ / (k + 1)! for k = 2, 4, …: Li₂(w) = u - u²/4 + Σ Bₖ uᵏ⁺¹ / (k + 1)!, u = -log(1 - w).
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)
_DEBYE = tuple([b / math.factorial(2 * k + 3) for k, b in reversed(list(enumerate(_BERNOULLI)))])


def _dilogarithm(u: Array) -> Array:
    square = u * u
    return u - 0.25 * square + u * square * polynomial(square, _DEBYE)


def _spence_slope(t: Array, ans: object, x: Array) -> Array:
    excess = x - 1
    near = abs(excess) < 0.25
    small, outer = tnp.where(near, excess, 0.0), tnp.where(near, 2.0, x)
    return t * -tnp.where(near, polynomial(small, _LOG1P), _logarithm_over(outer))


def _slope_of_logarithm_over(t: Array, ans: Array, x: Array) -> Array:
    regular = (x > 0) & (x < math.inf)
    inner = tnp.where(regular, x, 2.0)
    value = (1 / inner - tnp.where(regular, ans, 0.0)) / (inner - 1)
    return t * tnp.where(regular, value, tnp.where(x == 0, -math.inf, 0.0))


@with_derivatives(_slope_of_logarithm_over)
def _logarithm_over(x: Array) -> Array:
    """log(x) / (x - 1), for x away from 1."""
    return tnp.where(x == math.inf, 0.0, tnp.log(x) / (x - 1))


# log(1 + x) / x
_LOG1P = tuple([(-1) ** k / (k + 1) for k in range(26, -1, -1)])


@with_derivatives(_spence_slope)
def _spence(x: Array) -> Array:
    small, large = x < 0.5, x > 2
    low = tnp.where(small & (x > 0), x, 0.5)
    high = tnp.where(large & (x < math.inf), x, 2.0)
    middle = tnp.where(small | large | tnp.isnan(x), 1.0, x)
    # Li₂(1 - x) by its reflections at w → 1 - w and w → 1 / w (DLMF 25.12.6, 25.12.4).
    below = math.pi**2 / 6 - tnp.log(low) * tnp.log1p(-low) - _dilogarithm(-tnp.log1p(-low))
    logarithm = tnp.log(high - 1)
    above = -(math.pi**2) / 6 - 0.5 * logarithm * logarithm - _dilogarithm(-tnp.log1p(1 / (high - 1)))
    value = tnp.where(small, below, tnp.where(large, above, _dilogarithm(-tnp.log(middle))))
    value = tnp.where(x == 0, math.pi**2 / 6, tnp.where(x == math.inf, -math.inf, value))
    return tnp.where(x >= 0, value, math.nan)


@defined(0.0, gives="1.6449", weak="never", returns="NaN below 0")
def spence(x: ArrayLike) -> Array:
    """Spence's function, the dilogarithm of 1 - x: -∫₁ˣ log(t) / (t - 1) dt."""
    return _spence(x)


# --- The zeta functions of Riemann and Hurwitz: `zeta` ----------------------------------------------------------------


_TERMS = 10
_BERNOULLI_OF_ZETA = _BERNOULLI[:8]


def _by_euler_maclaurin(x: Array, q: Array) -> Array:
    """Hurwitz's function as a formula that can be differentiated (DLMF 25.11.28, with ten terms of the sum)."""
    total = sum([tnp.exp(-x * tnp.log(q + k)) for k in range(_TERMS)])
    end = q + _TERMS
    power = tnp.exp(-x * tnp.log(end))
    total = total + power * (end / (x - 1) + 0.5)
    factor = x / end
    for k, number in enumerate(_BERNOULLI_OF_ZETA, 1):
        total = total + power * factor * (number / math.factorial(2 * k))
        factor = factor * (x + 2 * k - 1) * (x + 2 * k) / (end * end)
    return total


def _by_x(t: Array, ans: object, x: Array, q: Array) -> Array:
    from_sum = [tnp.exp(-x * tnp.log(q + k)) * -tnp.log(q + k) for k in range(_TERMS)]
    end = q + _TERMS
    power, logarithm = tnp.exp(-x * tnp.log(end)), tnp.log(end)
    head = end / (x - 1)
    slope = sum(from_sum) - power * (logarithm * (head + 0.5) + head / (x - 1))
    # The product x (x + 1) … and its derivative go on together.
    factor, rate = x / end, 1 / end
    for k, number in enumerate(_BERNOULLI_OF_ZETA, 1):
        slope = slope + power * (rate - logarithm * factor) * (number / math.factorial(2 * k))
        one, other = x + 2 * k - 1, x + 2 * k
        square = end * end
        factor, rate = factor * one * other / square, (rate * one * other + factor * (one + other)) / square
    return t * slope


@with_derivatives(_by_x, lambda t, ans, x, q: t * (-x * p.zeta_p.bind(x + 1, q)))
def _hurwitz(x: Array, q: Array) -> Array:
    endless = (q == math.inf) & (x > 1)
    return tnp.where(endless, 0.0, p.zeta_p.bind(x, tnp.where(endless, 1.0, q)))


def _riemann(x: Array) -> Array:
    """By the sum to the right of 0, by the functional equation (DLMF 25.4.1) to the left."""
    left = x < -0.5  # the sum has all digits until there; mirrored, small numbers would vanish beside 1
    mirrored = tnp.where(left, 1 - x, x)
    regular = tnp.where(tnp.isfinite(mirrored), mirrored, 2.0)
    ahead = _by_euler_maclaurin(regular, tnp.ones_like(x))
    ahead = tnp.where(mirrored == math.inf, 1.0, ahead)
    behind = tnp.where(left, x, -1.0)
    size = 2 * tnp.exp((behind - 1) * math.log(2 * math.pi) + p.lgamma_p.bind(1 - behind))
    even = behind / 2 == tnp.round(behind / 2)
    sine = tnp.where(even, 0.0, tnp.sin(0.5 * math.pi * (behind - 4 * tnp.round(behind / 4))))
    value = tnp.where(left, size * sine * ahead, ahead)
    return tnp.where(tnp.isnan(x) | (x == -math.inf), math.nan, value)


@as_one()
def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """The Hurwitz zeta function Σ (k + q)⁻ˣ, k = 0, 1, …; without `q` Riemann's, for all real x.

    Args:
        x: an array or number, real; with `q` greater than 1.
        q: an array or number, real, broadcast against `x`; None: Riemann's function.

    Returns:
        An array of their common shape.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> f"{special.zeta(2.0):.4f} {special.zeta(2.0, 3.0):.4f}"
    '1.6449 0.3949'
    """
    function = _riemann if q is None else _hurwitz
    operands = reals("zeta", *([x] if q is None else [x, q]), weak="as promoted")
    kind = operands[0].dtype
    if kind.itemsize > 2:
        return function(*operands)
    # In half precision factors of the sum's last terms overflow, where what they are multiplied by is 0.
    return function(*[each.astype("float32") for each in operands]).astype(kind)
