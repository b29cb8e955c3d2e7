"""The incomplete gamma and beta functions, and how the former depends on its parameter: written once for all backends.

P(a, x) by three methods. Below x = a + 1 the series x^a e^(-x) / Γ(a + 1) · Σ xⁿ / (a + 1)…(a + n); above it the
continued fraction of Legendre for Q = 1 - P; for a from 10⁴, where both are slow, Temme's expansion, which is uniform
in x. Each is differentiated with respect to a term by term. N. M. Temme, "The asymptotic expansion of the incomplete
gamma functions", SIAM J. Math. Anal. 10 (1979); A. Gil, J. Segura, N. M. Temme, "Numerical Methods for Special
Functions", chapters 6 and 8.

A backend brings the arithmetic, `m`, on arrays of float64 that have operators:

- the functions `exp`, `log`, `log1p`, `expm1`, `sqrt`, `abs`, `minimum`, `maximum`, `copysign`, `where`, `is_finite`,
  `erfc`, `lgamma`, `lgamma_1p`, `digamma`, `stirling_remainder`;
- `polynomial(x, coefficients)`, `like(x, number)`: an array full of a number;
- `piecewise(arguments, (mask, function, safe), …)`: each element by the function whose mask holds for it, the last one
  where several do. A backend that evaluates every function everywhere puts the numbers `safe` where the mask fails;
- `converge(step, state, limit)`: `step(n, *state) -> (state, finished)` for n = 1, 2, …, until all are finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from tangrad._lax.special.coefficients import HALF_LOG_2PI, STIRLING_FROM, TEMME_0, TEMME_1, TEMME_2


class Number(Protocol):
    """An array of float64, or of truth values, with operators."""

    def __neg__(self) -> Number: ...
    def __invert__(self) -> Number: ...
    def __add__(self, other: Number | float, /) -> Number: ...
    def __radd__(self, other: float, /) -> Number: ...
    def __sub__(self, other: Number | float, /) -> Number: ...
    def __rsub__(self, other: float, /) -> Number: ...
    def __mul__(self, other: Number | float, /) -> Number: ...
    def __rmul__(self, other: float, /) -> Number: ...
    def __truediv__(self, other: Number | float, /) -> Number: ...
    def __rtruediv__(self, other: float, /) -> Number: ...
    def __lt__(self, other: Number | float, /) -> Number: ...
    def __le__(self, other: Number | float, /) -> Number: ...
    def __gt__(self, other: Number | float, /) -> Number: ...
    def __ge__(self, other: Number | float, /) -> Number: ...
    def __and__(self, other: Number | bool, /) -> Number: ...
    def __rand__(self, other: Number | bool, /) -> Number: ...
    def __or__(self, other: Number | bool, /) -> Number: ...


Step: TypeAlias = tuple[tuple[Number, ...], Number]  # the next state, and which elements are finished
Piece: TypeAlias = tuple[Number | bool, Callable[..., Number], tuple[float, ...] | None]


class Arithmetic(Protocol):
    """What a backend brings."""

    def exp(self, x: Number, /) -> Number: ...
    def expm1(self, x: Number, /) -> Number: ...
    def log(self, x: Number, /) -> Number: ...
    def log1p(self, x: Number, /) -> Number: ...
    def sqrt(self, x: Number, /) -> Number: ...
    def abs(self, x: Number, /) -> Number: ...
    def erfc(self, x: Number, /) -> Number: ...
    def digamma(self, x: Number, /) -> Number: ...
    def lgamma(self, x: Number, /) -> Number: ...
    def lgamma_1p(self, x: Number, /) -> Number: ...
    def stirling_remainder(self, x: Number, /) -> Number: ...
    def is_finite(self, x: Number, /) -> Number: ...
    def minimum(self, x: Number, y: Number, /) -> Number: ...
    def maximum(self, x: Number, y: Number, /) -> Number: ...
    def copysign(self, x: Number, sign: Number, /) -> Number: ...
    def where(self, mask: Number, x: Number, y: Number, /) -> Number: ...
    def like(self, x: Number, number: float, /) -> Number: ...
    def polynomial(self, x: Number, coefficients: Sequence[float], /) -> Number: ...
    def piecewise(self, arguments: Sequence[Number], /, *pieces: Piece) -> Number: ...
    def converge(self, step: Callable[..., Step], state: Sequence[Number], limit: int, /) -> tuple[Number, ...]: ...


Method: TypeAlias = Callable[[Arithmetic, Number, Number], Number]

LARGE = 1e4
_STEPS = 5000
_EPSILON = 2.0**-52
_BIG = 2.0**52
_TINY = 1e-300


def igamma(m: Arithmetic, a: Number, x: Number) -> Number:
    """P(a, x)."""
    return _by_size(m, a, x, at_zero=0.0, at_infinity=1.0, of_zero=1.0, moderate=_p_moderate, large=_p_large)


def igammac(m: Arithmetic, a: Number, x: Number) -> Number:
    """Q(a, x) = 1 - P(a, x)."""
    return _by_size(m, a, x, at_zero=1.0, at_infinity=0.0, of_zero=0.0, moderate=_q_moderate, large=_q_large)


def igamma_grad_a(m: Arithmetic, a: Number, x: Number) -> Number:
    """The derivative of P(a, x) with respect to a."""
    return _by_size(
        m,
        a,
        x,
        at_zero=0.0,
        at_infinity=0.0,
        moderate=lambda m, a, x: (
            _power(m, a, x) * _by_method(m, a, x, _series_slope, lambda m, a, x: -a * _fraction_slope(m, a, x))
        ),
        large=lambda m, a, x: _large_density(m, a, x) * _large_slope(m, a, x),
    )


def gamma_sample_gradient(m: Arithmetic, a: Number, x: Number) -> Number:
    """-(∂P/∂a) / (∂P/∂x), from the slopes alone: the common factor would underflow."""
    return _by_size(
        m,
        a,
        x,
        at_zero=0.0,
        at_infinity=math.nan,
        moderate=lambda m, a, x: x * _by_method(m, a, x, lambda m, a, x: -_series_slope(m, a, x) / a, _fraction_slope),
        large=lambda m, a, x: -x / a * m.exp(m.stirling_remainder(a)) * _large_slope(m, a, x),
    )


def _by_size(
    m: Arithmetic,
    a: Number,
    x: Number,
    *,
    at_zero: float,
    at_infinity: float,
    of_zero: float = math.nan,
    moderate: Method,
    large: Method,
) -> Number:
    """The value by the method for the size of `a`; at x = 0, at x = ∞, and the limit as `a` goes to 0, as given."""
    valid = (a > 0) & (x > 0) & m.is_finite(a) & m.is_finite(x)
    small = a < LARGE
    return m.piecewise(
        (a, x),
        (valid & small, lambda a, x: moderate(m, a, x), (1.0, 0.5)),
        (valid & ~small, lambda a, x: large(m, a, x), (LARGE, LARGE)),
        (~valid, lambda a, x: m.like(a, math.nan), None),
        ((a > 0) & (x == 0), lambda a, x: m.like(a, at_zero), None),
        (m.is_finite(a) & (a > 0) & (x == math.inf), lambda a, x: m.like(a, at_infinity), None),
        ((a == 0) & (x > 0), lambda a, x: m.like(a, of_zero), None),
        ((a == math.inf) & (x >= 0) & m.is_finite(x), lambda a, x: m.like(a, at_zero), None),
    )


def _by_method(m: Arithmetic, a: Number, x: Number, series: Method, fraction: Method) -> Number:
    below = x < a + 1
    return m.piecewise(
        (a, x),
        (below, lambda a, x: series(m, a, x), (1.0, 0.5)),
        (~below, lambda a, x: fraction(m, a, x), (1.0, 3.0)),
    )


def _part(m: Arithmetic, a: Number, x: Number) -> Number:
    """P below x = a + 1, Q above."""
    return _power(m, a, x) * _by_method(m, a, x, _series, lambda m, a, x: a * _fraction(m, a, x))


def _p_moderate(m: Arithmetic, a: Number, x: Number) -> Number:
    part = _part(m, a, x)
    return m.where(x < a + 1, part, 1 - part)


def _q_regular(m: Arithmetic, a: Number, x: Number) -> Number:
    part = _part(m, a, x)
    return m.where(x < a + 1, 1 - part, part)


def _q_moderate(m: Arithmetic, a: Number, x: Number) -> Number:
    # Where x is small and P near 1, the difference from 1 is computed as such.
    small = (x < 1.5) & (a < 0.5)
    return m.piecewise(
        (a, x),
        (~small, lambda a, x: _q_regular(m, a, x), (1.0, 0.5)),
        (small, lambda a, x: _q_small(m, a, x), (0.25, 0.5)),
    )


def _power(m: Arithmetic, a: Number, x: Number) -> Number:
    """x^a e^(-x) / Γ(a + 1)."""
    return m.piecewise(
        (a, x),
        (a < STIRLING_FROM, lambda a, x: m.exp(a * m.log(x) - x - m.lgamma_1p(a)), (1.0, 1.0)),
        (a >= STIRLING_FROM, lambda a, x: _large_power(m, a, x), (10.0, 10.0)),
    )


def _large_power(m: Arithmetic, a: Number, x: Number) -> Number:
    return m.exp(a * _exponent(m, a, x) - m.stirling_remainder(a)) / m.sqrt(2 * math.pi * a)


def _exponent(m: Arithmetic, a: Number, x: Number) -> Number:
    """log(x / a) - (x - a) / a, which is -η² / 2 below."""
    return m.piecewise(
        (a, x),
        (2 * x >= a, lambda a, x: log1p_minus(m, (x - a) / a), (1.0, 1.0)),
        (2 * x < a, lambda a, x: m.log(x / a) - (x - a) / a, (1.0, 1.0)),
    )


def log1p_minus(m: Arithmetic, x: Number) -> Number:
    """log(1 + x) - x, to full relative accuracy near 0 too."""
    near = m.abs(x) < 0.5
    return m.piecewise(
        (x,),
        (~near, lambda x: m.log1p(x) - x, (1.0,)),
        (near, lambda x: _log1p_minus_series(m, x), (0.0,)),
    )


_ODD_RECIPROCALS = tuple([1 / k for k in range(37, 1, -2)])


def _log1p_minus_series(m: Arithmetic, x: Number) -> Number:
    # With s = x / (2 + x): log(1 + x) = 2 (s + s³/3 + s⁵/5 + …), and 2 s - x = -s x.
    s = x / (2 + x)
    square = s * s
    return 2 * s * square * m.polynomial(square, _ODD_RECIPROCALS) - s * x


# --- the series ---


def _series(m: Arithmetic, a: Number, x: Number) -> Number:
    """Σ xⁿ / (a + 1)…(a + n)."""

    def step(n: Number, a: Number, x: Number, term: Number, total: Number) -> Step:
        term = term * (x / (a + n))
        total = total + term
        return (a, x, term, total), term <= _EPSILON * total

    one = m.like(a, 1.0)
    return m.converge(step, (a, x, one, one), _STEPS)[-1]


def _series_with_slope(m: Arithmetic, a: Number, x: Number) -> tuple[Number, Number]:
    """The same, and its derivative with respect to a."""

    def step(n: Number, a: Number, x: Number, term: Number, total: Number, slope: Number, total_slope: Number) -> Step:
        factor = 1 / (a + n)
        slope = (slope - term * factor) * (x * factor)
        term = term * (x * factor)
        total, total_slope = total + term, total_slope + slope
        finished = (term <= _EPSILON * total) & (m.abs(slope) <= _EPSILON * m.abs(total_slope))
        return (a, x, term, total, slope, total_slope), finished

    one, zero = m.like(a, 1.0), m.like(a, 0.0)
    *_, total, _, total_slope = m.converge(step, (a, x, one, one, zero, zero), _STEPS)
    return total, total_slope


def _series_slope(m: Arithmetic, a: Number, x: Number) -> Number:
    total, slope = _series_with_slope(m, a, x)
    return (m.log(x) - m.digamma(a + 1)) * total + slope


def _q_small(m: Arithmetic, a: Number, x: Number) -> Number:
    # P = x^a / Γ(a + 1) · (1 + a Σ (-x)ⁿ / ((a + n) n!)), with 24 terms for x < 1.5.
    excess = m.expm1(a * m.log(x) - m.lgamma_1p(a))
    total, term = m.like(x, 0.0), m.like(x, 1.0)
    for n in range(1, 25):
        term = term * (-x / n)
        total = total + term / (a + n)
    return -excess - (1 + excess) * a * total


# --- the continued fraction ---


def _fraction(m: Arithmetic, a: Number, x: Number) -> Number:
    """Q(a, x) Γ(a) / (x^a e^(-x))."""

    def step(n: Number, a: Number, x: Number, p1: Number, p2: Number, q1: Number, q2: Number, value: Number) -> Step:
        product, z = (n + 1 - a) * n, x + 2 * n + 2 - a
        p, q = p1 * z - p2 * product, q1 * z - q2 * product
        new = p / q
        scale = _scale(m, p)
        finished = m.abs(new - value) <= _EPSILON * m.abs(new)
        return (a, x, p * scale, p1 * scale, q * scale, q1 * scale, new), finished

    width = x + 2 - a
    state = (a, x, x + 1, m.like(a, 1.0), width * x, x, (x + 1) / (width * x))
    return m.converge(step, state, _STEPS)[-1]


def _scale(m: Arithmetic, p: Number) -> Number:
    """What keeps numerators and denominators, which grow without bound, within range."""
    return m.where(m.abs(p) > _BIG, m.like(p, _EPSILON), m.like(p, 1.0))


def _fraction_with_slope(m: Arithmetic, a: Number, x: Number) -> tuple[Number, Number]:
    """The same, and its derivative with respect to a."""

    def step(n: Number, *state: Number) -> Step:
        a, x, p1, p2, q1, q2, dp1, dp2, dq1, dq2, value, slope = state
        product, z = (n + 1 - a) * n, x + 2 * n + 2 - a
        p, q = p1 * z - p2 * product, q1 * z - q2 * product
        dp = dp1 * z - p1 - dp2 * product + p2 * n
        dq = dq1 * z - q1 - dq2 * product + q2 * n
        new = p / q
        new_slope = (dp - new * dq) / q
        steady = m.abs(new - value) <= _EPSILON * m.abs(new)
        finished = steady & (m.abs(new_slope - slope) <= _EPSILON * m.abs(new_slope))
        scale = _scale(m, p)
        scaled = [part * scale for part in (p, p1, q, q1, dp, dp1, dq, dq1)]
        return (a, x, *scaled, new, new_slope), finished

    one, zero = m.like(a, 1.0), m.like(a, 0.0)
    width = x + 2 - a
    start = (x + 1) / (width * x)
    state = (a, x, x + 1, one, width * x, x, zero, zero, -x, zero, start, start / width)
    *_, value, slope = m.converge(step, state, _STEPS)
    return value, slope


def _fraction_slope(m: Arithmetic, a: Number, x: Number) -> Number:
    value, slope = _fraction_with_slope(m, a, x)
    return (m.log(x) - m.digamma(a)) * value + slope


# --- Temme's expansion ---
# With λ = x / a, μ = λ - 1, η² / 2 = μ - log λ: P = erfc(-η √(a/2)) / 2 - e^(-aη²/2) / √(2πa) · Σ cₖ(η) a⁻ᵏ. Three
# terms suffice from a = 10⁴, and where |η| > 1 the exponential is 0.


def _derivative(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    top = len(coefficients) - 1
    return tuple([c * (top - k) for k, c in enumerate(coefficients[:-1])])


def _eta(m: Arithmetic, a: Number, x: Number) -> tuple[Number, Number]:
    mu = (x - a) / a
    return mu, m.copysign(m.sqrt(-2 * _exponent(m, a, x)), mu)


def _near(m: Arithmetic, eta: Number) -> Number:
    return m.minimum(m.maximum(eta, m.like(eta, -1.0)), m.like(eta, 1.0))


def _large_density(m: Arithmetic, a: Number, x: Number) -> Number:
    _, eta = _eta(m, a, x)
    return m.exp(-0.5 * a * eta * eta) / m.sqrt(2 * math.pi * a)


def _large_correction(m: Arithmetic, a: Number, eta: Number) -> Number:
    near = _near(m, eta)
    terms = m.polynomial(near, TEMME_0) + (m.polynomial(near, TEMME_1) + m.polynomial(near, TEMME_2) / a) / a
    return m.exp(-0.5 * a * eta * eta) / m.sqrt(2 * math.pi * a) * terms


def _p_large(m: Arithmetic, a: Number, x: Number) -> Number:
    _, eta = _eta(m, a, x)
    return 0.5 * m.erfc(-eta * m.sqrt(0.5 * a)) - _large_correction(m, a, eta)


def _q_large(m: Arithmetic, a: Number, x: Number) -> Number:
    _, eta = _eta(m, a, x)
    return 0.5 * m.erfc(eta * m.sqrt(0.5 * a)) + _large_correction(m, a, eta)


def _large_slope(m: Arithmetic, a: Number, x: Number) -> Number:
    """The derivative of P with respect to a, without the factor `_large_density`; dη/da = -μ / (a η)."""
    mu, eta = _eta(m, a, x)
    near = _near(m, eta)
    at_mean = m.abs(eta) < 1e-8
    one = m.like(eta, 1.0)
    ratio = m.where(at_mean, one, mu / m.where(at_mean, one, eta))
    c0, c1, c2 = m.polynomial(near, TEMME_0), m.polynomial(near, TEMME_1), m.polynomial(near, TEMME_2)
    total = c0 + (c1 + c2 / a) / a
    by_eta = m.polynomial(near, _derivative(TEMME_0)) + m.polynomial(near, _derivative(TEMME_1)) / a
    by_a = -(c1 + 2 * c2 / a) / (a * a)
    return 0.5 * eta - ratio - (total * (mu - 0.5 * eta * eta - 0.5 / a) - by_eta * ratio / a + by_a)


# --- the incomplete beta function ---


def betainc(m: Arithmetic, a: Number, b: Number, x: Number) -> Number:
    """Iₓ(a, b), by a continued fraction on the side of the mean where it converges fast."""
    positive = (a > 0) & (b > 0)
    valid = positive & (x > 0) & (x < 1) & m.is_finite(a) & m.is_finite(b)
    below = x < (a + 1) / (a + b + 2)
    safe = (1.0, 1.0, 0.5)
    at_one = ((a == math.inf) & (b >= 0) & (b < math.inf)) | ((b == 0) & (a > 0))
    at_zero = ((b == math.inf) & (a >= 0) & (a < math.inf)) | ((a == 0) & (b > 0))

    def rise(a: Number, b: Number, x: Number) -> Number:
        return _beta_fraction(m, a, b, x, 1 - x, m.log(x), m.log1p(-x))

    def fall(a: Number, b: Number, x: Number) -> Number:
        return 1 - _beta_fraction(m, b, a, 1 - x, x, m.log1p(-x), m.log(x))

    def full(value: float) -> Callable[..., Number]:
        return lambda a, b, x: m.like(a, value)

    return m.piecewise(
        (a, b, x),
        (valid & below, rise, safe),
        (valid & ~below, fall, safe),
        (~valid, full(math.nan), None),
        (positive & (x == 0), full(0.0), None),
        (positive & (x == 1), full(1.0), None),
        # All of the mass is at 1 where a is infinite or b 0, and at 0 the other way round.
        (at_one & (x >= 0) & (x < 1), full(0.0), None),
        (at_zero & (x > 0) & (x <= 1), full(1.0), None),
        (at_one & (x == 1), full(1.0), None),
        (at_zero & (x == 0), full(0.0), None),
    )


def _beta_fraction(m: Arithmetic, a: Number, b: Number, x: Number, y: Number, log_x: Number, log_y: Number) -> Number:
    """x^a y^b / (a B(a, b)) times the continued fraction, by the modified method of Lentz; y = 1 - x."""

    def away_from_zero(value: Number) -> Number:
        return m.where(m.abs(value) < _TINY, m.like(value, _TINY), value)

    def step(n: Number, a: Number, b: Number, x: Number, c: Number, d: Number, value: Number) -> Step:
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        d = 1 / away_from_zero(1 + even * d)
        c = away_from_zero(1 + even / c)
        value = value * (c * d)
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        d = 1 / away_from_zero(1 + odd * d)
        c = away_from_zero(1 + odd / c)
        factor = c * d
        return (a, b, x, c, d, value * factor), m.abs(factor - 1) <= _EPSILON

    start = 1 / away_from_zero(1 - (a + b) * x / (a + 1))
    *_, value = m.converge(step, (a, b, x, m.like(a, 1.0), start, start), 20 * _STEPS)
    return _beta_power(m, a, b, x, y, log_x, log_y) * value


def _beta_power(m: Arithmetic, a: Number, b: Number, x: Number, y: Number, log_x: Number, log_y: Number) -> Number:
    """x^a y^b / (a B(a, b))."""
    large = m.minimum(a, b) >= STIRLING_FROM

    def direct(a: Number, b: Number, x: Number, y: Number, log_x: Number, log_y: Number) -> Number:
        return m.exp(a * log_x + b * log_y - _log_beta(m, a, b)) / a

    return m.piecewise(
        (a, b, x, y, log_x, log_y),
        (~large, direct, (1.0, 1.0, 0.5, 0.5, -0.7, -0.7)),
        (large, lambda a, b, x, y, *_: _large_beta_power(m, a, b, x, y), (10.0, 10.0, 0.5, 0.5, -0.7, -0.7)),
    )


def _log_beta(m: Arithmetic, a: Number, b: Number) -> Number:
    """log B(a, b), where the lesser parameter is below `STIRLING_FROM`."""
    small, great = m.minimum(a, b), m.maximum(a, b)
    return m.piecewise(
        (small, great),
        (great < STIRLING_FROM, lambda s, g: m.lgamma(s) + m.lgamma(g) - m.lgamma(s + g), (1.0, 1.0)),
        (great >= STIRLING_FROM, lambda s, g: m.lgamma(s) + _log_gamma_ratio(m, g, s), (1.0, 10.0)),
    )


def _log_gamma_ratio(m: Arithmetic, a: Number, b: Number) -> Number:
    """log Γ(a) / Γ(a + b) for large a, without the difference of large numbers."""
    remainder = m.stirling_remainder(a) - m.stirling_remainder(a + b)
    return remainder + b - b * m.log(a) - (a + b - 0.5) * m.log1p(b / a)


def _large_beta_power(m: Arithmetic, a: Number, b: Number, x: Number, y: Number) -> Number:
    """The same where both parameters are large: around the mean a / (a + b), where x^a y^b is greatest."""
    total = a + b
    distance = m.where(x < y, a - total * x, total * y - b)  # a y - b x
    exponent = a * log1p_minus(m, -distance / a) + b * log1p_minus(m, distance / b)
    remainder = m.stirling_remainder(a) + m.stirling_remainder(b) - m.stirling_remainder(total)
    return m.exp(exponent - remainder - HALF_LOG_2PI) * m.sqrt(b / (a * total))
