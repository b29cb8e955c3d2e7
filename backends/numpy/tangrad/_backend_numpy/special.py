"""The special functions in NumPy: vectorised, in double precision, to a few units in the last place.

Each function takes one-dimensional arrays of float64, of one size, and returns one; `lower/special.py` brings other
dtypes and shapes. Elements are sorted by the method that suits them, and each method runs on its elements alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad.extend.lax import (
    BESSEL_I0_FAR,
    BESSEL_I0_NEAR,
    BESSEL_I1_FAR,
    BESSEL_I1_NEAR,
    DIGAMMA_NEAR_2,
    DIGAMMA_TAIL,
    EULER_MACLAURIN,
    HALF_LOG_2PI,
    NEAR_2,
    STIRLING,
    STIRLING_FROM,
)

Piece = tuple[Any, ...]


def piecewise(arguments: Sequence[np.ndarray], *pieces: Piece) -> np.ndarray:
    """Each element by the function whose mask holds for it.

    Args:
        arguments: arrays of one dimension and size.
        pieces: `(mask, function)`; the function gets the arguments' elements where its mask holds. The masks cover all
            elements; where they overlap the last wins. What follows the function is for other backends.
    """
    out = np.empty_like(arguments[0])
    if not out.size:  # of no elements every mask holds for all, and methods that call each other would never end
        return out
    for mask, function, *_ in pieces:
        if mask.all():
            out[...] = function(*arguments)
        elif mask.any():
            out[mask] = function(*[argument[mask] for argument in arguments])
    return out


def constant(value: float) -> Callable[..., float]:
    """The function that is the same everywhere."""
    return lambda *_: value


def polynomial(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """The polynomial with these coefficients, the highest power first."""
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


def chebyshev(x: np.ndarray, coefficients: Sequence[float]) -> np.ndarray:
    """The sum of `coefficients[k]` Tₖ(x), by Clenshaw's recurrence."""
    twice = 2 * x
    later = latest = np.zeros_like(x)
    for coefficient in reversed(coefficients[1:]):
        later, latest = latest, twice * latest - later + coefficient
    return x * latest - later + coefficients[0]


def converge(
    step: Callable[..., tuple[tuple[Any, ...], Any]], state: tuple[Any, ...], limit: int
) -> tuple[np.ndarray, ...]:
    """Iterate on many elements at once, each until it has converged.

    Args:
        step: `(n, *state) -> (state, finished)` for n = 1, 2, …; elements that are finished may go through more steps.
        state: arrays of one dimension and size.
        limit: the most steps.

    Returns:
        the state of each element when it was finished, or at the limit.
    """
    finals = tuple([array.copy() for array in state])
    places = np.arange(state[0].size)
    for n in range(1, limit + 1):
        state, finished = step(n, *state)
        if n % 8 == 0 or n == limit:  # looking costs as much as a step
            for final, array in zip(finals, state):
                final[places] = array
            going = ~finished
            if not going.any():
                break
            places = places[going]
            state = tuple([array[going] for array in state])
    return finals


# The rational approximations of FDLIBM, the freely distributable C library of Sun Microsystems (s_erf.c, 1993; see
# NOTICE), whose errors are below one unit in the last place. Highest power first.
_ERF_P = (
    -2.37630166566501626084e-05, -5.77027029648944159157e-03, -2.84817495755985104766e-02, -3.25042107247001499370e-01,
    1.28379167095512558561e-01,
)  # fmt: skip
_ERF_Q = (
    -3.96022827877536812320e-06, 1.32494738004321644526e-04, 5.08130628187576562776e-03, 6.50222499887672944485e-02,
    3.97917223959155352819e-01, 1.0,
)  # fmt: skip
_ERF_NEAR_1 = 8.45062911510467529297e-01
_NEAR_1_P = (
    -2.16637559486879084300e-03, 3.54783043256182359371e-02, -1.10894694282396677476e-01, 3.18346619901161753674e-01,
    -3.72207876035701323847e-01, 4.14856118683748331666e-01, -2.36211856075265944077e-03,
)  # fmt: skip
_NEAR_1_Q = (
    1.19844998467991074170e-02, 1.36370839120290507362e-02, 1.26171219808761642112e-01, 7.18286544141962662868e-02,
    5.40397917702171048937e-01, 1.06420880400844228286e-01, 1.0,
)  # fmt: skip
_MIDDLE_P = (
    -9.81432934416914548592e+00, -8.12874355063065934246e+01, -1.84605092906711035994e+02, -1.62396669462573470355e+02,
    -6.23753324503260060396e+01, -1.05586262253232909814e+01, -6.93858572707181764372e-01, -9.86494403484714822705e-03,
)  # fmt: skip
_MIDDLE_Q = (
    -6.04244152148580987438e-02, 6.57024977031928170135e+00, 1.08635005541779435134e+02, 4.29008140027567833386e+02,
    6.45387271733267880336e+02, 4.34565877475229228821e+02, 1.37657754143519042600e+02, 1.96512716674392571292e+01, 1.0,
)  # fmt: skip
_TAIL_P = (
    -4.83519191608651397019e+02, -1.02509513161107724954e+03, -6.37566443368389627722e+02, -1.60636384855821916062e+02,
    -1.77579549177547519889e+01, -7.99283237680523006574e-01, -9.86494292470009928597e-03,
)  # fmt: skip
_TAIL_Q = (
    -2.24409524465858183362e+01, 4.74528541206955367215e+02, 2.55305040643316442583e+03, 3.19985821950859553908e+03,
    1.53672958608443695994e+03, 3.25792512996573918826e+02, 3.03380607434824582924e+01, 1.0,
)  # fmt: skip


def erf(x: np.ndarray) -> np.ndarray:
    """The error function."""
    size = np.abs(x)
    return piecewise(
        (x,),
        (size < 0.84375, lambda x: x + x * _central(x)),
        ((size >= 0.84375) & (size < 1.25), lambda x: np.copysign(_ERF_NEAR_1 + _near_1(x), x)),
        ((size >= 1.25) & (size < 6), lambda x: np.copysign(1 - _tail(np.abs(x)), x)),
        (size >= 6, lambda x: np.copysign(1.0, x)),
        (np.isnan(x), lambda x: x),
    )


def erfc(x: np.ndarray) -> np.ndarray:
    """1 - erf(x)."""
    size = np.abs(x)
    return piecewise(
        (x,),
        (size < 0.84375, _central_complement),
        ((size >= 0.84375) & (size < 1.25), _near_1_complement),
        ((x >= 1.25) & (x < 28), lambda x: _tail(x)),
        ((x <= -1.25) & (x > -6), lambda x: 2 - _tail(-x)),
        (x >= 28, constant(0.0)),
        (x <= -6, constant(2.0)),
        (np.isnan(x), lambda x: x),
    )


def _central(x: np.ndarray) -> np.ndarray:
    square = x * x
    return polynomial(square, _ERF_P) / polynomial(square, _ERF_Q)


def _central_complement(x: np.ndarray) -> np.ndarray:
    ratio = x * _central(x)
    return np.where(x < 0.25, 1 - (x + ratio), 0.5 - (x - 0.5 + ratio))


def _near_1(x: np.ndarray) -> np.ndarray:
    beyond = np.abs(x) - 1
    return polynomial(beyond, _NEAR_1_P) / polynomial(beyond, _NEAR_1_Q)


def _near_1_complement(x: np.ndarray) -> np.ndarray:
    ratio = _near_1(x)
    return np.where(x > 0, 1 - _ERF_NEAR_1 - ratio, 1 + (_ERF_NEAR_1 + ratio))


def _tail(x: np.ndarray) -> np.ndarray:
    """erfc(x) for x from 1.25."""
    near = x < 1 / 0.35
    square = 1 / (x * x)
    ratio = piecewise(
        (square,),
        (near, lambda s: polynomial(s, _MIDDLE_P) / polynomial(s, _MIDDLE_Q)),
        (~near, lambda s: polynomial(s, _TAIL_P) / polynomial(s, _TAIL_Q)),
    )
    # exp(-x²) from a shorter x, whose square is exact, and the rest.
    short = (x.view(np.int64) & -(1 << 32)).view(np.float64)
    return np.exp(-short * short - 0.5625) * np.exp((short - x) * (short + x) + ratio) / x


# --- the inverse ---

# M. Giles, "Approximating the erfinv function", GPU Computing Gems, Jade edition, 2011, chapter 10; single precision.
_GILES_CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
    0.246640727, 1.50140941,
)  # fmt: skip
_GILES_TAIL = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
    1.00167406, 2.83297682,
)  # fmt: skip


INVERSE_BLOCK = 1 << 15  # elements: the few arrays of a block stay in the cache, which is a third of the time


def erf_inv_single(x: np.ndarray) -> np.ndarray:
    """The inverse of erf in float32, by the same polynomials as XLA, so that normal samples agree.

    Of all numbers of 23 bits in (-1, 1) 94 % are bit for bit XLA's, and none is off by more than two units in the last
    place; polynomials in double precision agree less often, and take longer.
    """
    out = np.empty_like(x)
    for start in range(0, len(x), INVERSE_BLOCK):
        part = slice(start, start + INVERSE_BLOCK)
        erf_inv_block(x[part], out[part])
    return out


def erf_inv_block(x: np.ndarray, out: np.ndarray) -> None:
    """As `erf_inv_single`, into `out`, which must not be `x`. The polynomials are in log(1 - x²), or in its root."""
    np.multiply(x, x, out)
    np.negative(out, out)
    np.log1p(out, out)
    w = np.subtract(-2.5, out)
    factor = np.multiply(w, _GILES_CENTRAL[0])
    factor += _GILES_CENTRAL[1]
    for coefficient in _GILES_CENTRAL[2:]:
        factor *= w
        factor += coefficient
    rare = np.flatnonzero(out <= -5)
    if rare.size:
        log = out[rare]
        tail = polynomial(np.sqrt(-log) - np.float32(3), _GILES_TAIL)
        factor[rare] = np.where(log == -np.inf, np.float32(np.inf), tail)
    np.multiply(factor, x, out)


def erf_inv(x: np.ndarray) -> np.ndarray:
    """The inverse of erf: the single-precision approximation, improved by Halley's method."""
    size = np.abs(x)
    y = piecewise((size,), (size < 1, _inverse), (size == 1, constant(np.inf)), (~(size <= 1), constant(np.nan)))
    return np.copysign(y, x)


def _inverse(x: np.ndarray) -> np.ndarray:
    w = -np.log((1 - x) * (1 + x))
    root = np.where(w < 5, w - 2.5, np.sqrt(w) - 3)
    y = x * np.where(w < 5, polynomial(root, _GILES_CENTRAL), polynomial(root, _GILES_TAIL))
    # Beyond single precision: from erfc(y) ≈ exp(-y²) / (y √π).
    log = -np.log(1 - x)
    y = np.where(w < 16, y, np.sqrt(np.maximum(log - 0.5 * np.log(np.pi * np.maximum(log, 1)), 1)))
    for _ in range(3):
        # The residual is taken on the side where it keeps its digits: 1 - x is exact for x from 1/2.
        residual = piecewise((x, y), (x < 0.5, lambda x, y: erf(y) - x), (x >= 0.5, lambda x, y: (1 - x) - erfc(y)))
        step = residual * (np.sqrt(np.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    return y


def stirling_remainder(x: np.ndarray) -> np.ndarray:
    """log Γ(x) - (x - 1/2) log x + x - log(2π) / 2, for x from `STIRLING_FROM`."""
    return polynomial(1 / (x * x), STIRLING) / x


# --- log Γ ---


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


# --- ψ ---


def digamma(x: np.ndarray) -> np.ndarray:
    """The derivative of log Γ; NaN at its poles, 0 and the negative integers, as on XLA up to jaxlib 0.10."""
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
    return np.where((distance == 0) | np.isinf(x), np.nan, finite)


# --- ζ ---

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


def bessel_i0e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I₀(x)."""
    size = np.abs(x)
    return piecewise(
        (size,),
        (size <= 8, lambda x: chebyshev(x / 4 - 1, BESSEL_I0_NEAR)),
        (~(size <= 8), lambda x: chebyshev(16 / x - 1, BESSEL_I0_FAR) / np.sqrt(x)),
    )


def bessel_i1e(x: np.ndarray) -> np.ndarray:
    """exp(-|x|) I₁(x)."""
    size = np.abs(x)
    value = piecewise(
        (size,),
        (size <= 8, lambda x: x * chebyshev(x / 4 - 1, BESSEL_I1_NEAR)),
        (~(size <= 8), lambda x: chebyshev(16 / x - 1, BESSEL_I1_FAR) / np.sqrt(x)),
    )
    return np.copysign(value, x)


exp, log, log1p, expm1, sqrt, abs = np.exp, np.log, np.log1p, np.expm1, np.sqrt, np.abs
minimum, maximum, copysign, where, is_finite = np.minimum, np.maximum, np.copysign, np.where, np.isfinite


def like(x: np.ndarray, number: float) -> np.ndarray:
    """An array full of a number."""
    return np.full_like(x, number)
