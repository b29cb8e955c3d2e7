"""The error function and its relatives: `erfcx`, `wofz`, `dawsn`, `fresnel`, `ndtr`, `owens_t`, …"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined, numbers, reals
from tangrad._scipy.special_functions.elementwise import polynomial, with_derivatives
from tangrad.core import Array, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import complex as complex_of
from tangrad.extend.lax import fori_loop
from tangrad.extend.numpy import Fused, as_one, is_complex
from tangrad.typing import ArrayLike, Value

MADE_FOR = "scipy.special"

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2 = math.sqrt(2)


@defined(0.5, gives="Array(0.5204999, dtype=float32, weak_type=True)")
def erf(x: ArrayLike) -> Array:
    """The error function, 2/√π ∫₀ˣ exp(-t²) dt."""
    return p.erf_p.bind(x)


@defined(3.0, gives="2.2090e-05")
def erfc(x: ArrayLike) -> Array:
    """The complementary error function 1 - erf(x), accurate where it is small."""
    return p.erfc_p.bind(x)


@defined(0.5, gives="0.4769")
def erfinv(x: ArrayLike) -> Array:
    """The inverse of the error function; infinite at ±1, NaN beyond."""
    return p.erf_inv_p.bind(x)


# --- Weideman's expansion ------------------------------------------------------------------------------------------
# J.A.C. Weideman, Computation of the complex error function, SIAM J. Numer. Anal. 31 (1994) 1497: in the upper half
# plane, w(z) = 2 p(Z) / (L - iz)² + 1 / (√π (L - iz)), with Z = (L + iz) / (L - iz) and a polynomial p whose
# coefficients are those of the Fourier series of exp(-t²) (L² + t²), t = L tan(θ / 2).

_TERMS = 64


@cache
def _expansion() -> tuple[float, tuple[float, ...]]:
    """L and the coefficients of p, the highest power first."""
    length = math.sqrt(_TERMS / math.sqrt(2))
    count = 4 * _TERMS
    theta = np.arange(1 - count // 2, count // 2) * (2 * np.pi / count)
    t = length * np.tan(theta / 2)
    values = np.concatenate([[0.0], np.exp(-t * t) * (length * length + t * t)])
    coefficients = np.fft.fft(np.fft.fftshift(values)).real / count
    return length, tuple(coefficients[_TERMS:0:-1].tolist())


def _upper_half(iz: Value) -> Value:
    """w(z) for iz = i z with Re iz ≤ 0."""
    length, coefficients = _expansion()
    infinite = tnp.isinf(iz)  # there w is 0, and what follows is inf / inf
    near = tnp.where(infinite, 0, iz)
    below = 1 / (length - near)
    value = (2 * polynomial((length + near) * below, coefficients) * below + 1 / _ROOT_PI) * below
    return tnp.where(infinite, 0, value)


@with_derivatives(lambda t, ans, z: t * (2j / _ROOT_PI - 2 * z * ans))
def _wofz(z: Array) -> Array:
    lower = z.imag < 0
    upper = tnp.where(lower, -z, z)
    value = _upper_half(1j * upper)
    square = tnp.where(lower, -z * z, tnp.zeros_like(z))
    return tnp.where(lower, 2 * tnp.exp(square) - value, value)


@as_one()
def wofz(z: ArrayLike) -> Array:
    """The Faddeeva function w(z) = exp(-z²) erfc(-iz).

    Args:
        z: an array or number, real or complex.

    Returns:
        A complex array of the shape of `z`.

    Source: Weideman, Computation of the complex error function, SIAM J. Numer. Anal. 31 (1994).

    >>> import tangrad.scipy.special as special
    >>> f"{special.wofz(1j):.4f}"
    '0.4276+0.0000j'
    """
    (made,) = numbers("wofz", z)
    return _wofz(made.astype(dtypes.to_complex_dtype(made.aval.dtype)))


# --- far out, where the differential equations of these functions are differences of large numbers ------------------

# √π x exp(x²) erfc(x) and 2 x F(x), Dawson's, are Σ (∓1)ᵏ (2k - 1)!! (2x²)⁻ᵏ (DLMF 7.12.1 and, by 7.5.1, the other).
_DOUBLE_FACTORIALS = tuple([float(math.prod(range(1, 2 * k, 2))) / 2**k for k in range(16)])
_ALTERNATING = tuple([(-1) ** k * c for k, c in enumerate(_DOUBLE_FACTORIALS)])


def _far(x: Value) -> tuple[Array, Array, Array]:
    """Where x is large, its inverse there, and x elsewhere; with safe numbers in their places."""
    large = x > (6.0 if np.finfo(x.dtype).bits < 64 else 13.0)
    return large, 1 / tnp.where(large, x, 13.0), tnp.where(large, 1.0, x)


def _far_slope(inverse: Array, coefficients: tuple[float, ...]) -> Array:
    """The derivative of the sum of c[k] x^(-2k - 1)."""
    square = inverse * inverse
    return -square * polynomial(square, tuple([(2 * k + 1) * c for k, c in enumerate(coefficients)][::-1]))


def _erfcx_slope(t: Array, ans: Array, x: Array) -> Array:
    large, inverse, near = _far(x)
    far = _far_slope(inverse, _ALTERNATING) / _ROOT_PI
    return t * tnp.where(large, far, 2 * near * tnp.where(large, 0.0, ans) - 2 / _ROOT_PI)


@with_derivatives(_erfcx_slope)
def _erfcx(x: Value) -> Array:
    value = _upper_half(-abs(x))
    return tnp.where(x < 0, 2 * tnp.exp(tnp.where(x < 0, x * x, 0.0)) - value, value)


@defined(100.0, gives="0.005642", weak="never", complex_too=True)
def erfcx(x: ArrayLike) -> Array:
    """The scaled complementary error function exp(x²) erfc(x)."""
    return _wofz(tnp.multiply(1j, x)) if is_complex(x) else _erfcx(x)


def _dawsn_slope(t: Array, ans: Array, x: Array) -> Array:
    large, inverse, _ = _far(abs(x))
    far = 0.5 * _far_slope(inverse, _DOUBLE_FACTORIALS)
    return t * tnp.where(large, far, 1 - 2 * tnp.where(large, 0.0, x) * tnp.where(large, 0.0, ans))


@with_derivatives(_dawsn_slope)
def _dawsn(x: Value) -> Value:
    # F(x) = x Σ (-2 x²)ᵏ / (2k + 1)!! near 0, where the imaginary part of w(x) has no relative accuracy.
    near = abs(x) < 1
    small = tnp.where(near, x, 0.0)
    total = polynomial(-2 * small * small, _DAWSON)
    far = _upper_half(complex_of(tnp.zeros_like(x), tnp.where(near, 1.0, x)))
    return tnp.where(near, small * total, 0.5 * _ROOT_PI * far.imag)


_DAWSON = tuple([1 / math.prod(range(1, 2 * k + 2, 2)) for k in range(20, -1, -1)])


@defined(1.0, gives="0.5381", weak="never")
def dawsn(x: ArrayLike) -> Array:
    """Dawson's integral, exp(-x²) ∫₀ˣ exp(t²) dt."""
    return _dawsn(x)


# --- Fresnel's integrals -------------------------------------------------------------------------------------------


def _quarter_phase(x: Array) -> Array:
    """π x² / 2 up to multiples of 2π, without the rounding of a large square."""
    even = 2 * tnp.round(x / 2)
    part = x - even
    turns = even / 2 * part
    return 0.5 * math.pi * (4 * (turns - tnp.round(turns)) + part * part)


@with_derivatives(lambda t, ans, x: t * complex_of(tnp.cos(_quarter_phase(x)), tnp.sin(_quarter_phase(x))))
def _fresnel(x: Array) -> Array:
    """C(x) + i S(x): Σ (i π x² / 2)ᵏ x / (k! (2k + 1)), or (1 + i) / 2 erf(√π (1 - i) x / 2) (DLMF 7.5.8)."""
    near = abs(x) < 1.5
    small = tnp.where(near, x, 0.0)
    u = 0.5 * math.pi * small * small
    cosine, sine = polynomial(u * u, _FRESNEL_C), polynomial(u * u, _FRESNEL_S)
    large = tnp.where(tnp.isfinite(x), tnp.where(near, 2.0, abs(x)), 2.0)
    phase = _quarter_phase(large)
    faddeeva = _upper_half(0.5 * _ROOT_PI * complex_of(-large, large))
    rest = complex_of(tnp.cos(phase), tnp.sin(phase)) * faddeeva
    value = complex_of(tnp.full_like(x, 0.5), tnp.full_like(x, 0.5)) * (1 - rest)
    value = tnp.where(tnp.isinf(x), 0.5 + 0.5j, value).astype(value.dtype)
    value = tnp.where(x < 0, -value, value)
    value = tnp.where(near, complex_of(small * cosine, small * u * sine), value)
    return tnp.where(tnp.isnan(x), complex_of(x, x), value)


_FRESNEL_C = tuple([(-1) ** k / (math.factorial(2 * k) * (4 * k + 1)) for k in range(12, -1, -1)])
_FRESNEL_S = tuple([(-1) ** k / (math.factorial(2 * k + 1) * (4 * k + 3)) for k in range(12, -1, -1)])


def _fresnel_pair(x: object) -> Any:
    both = _fresnel(x)
    return both.imag, both.real


_fresnel_pair = Fused("fresnel", _fresnel_pair, multiple_results=True)


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Fresnel's integrals S = ∫₀ˣ sin(π t² / 2) dt and C = ∫₀ˣ cos(π t² / 2) dt.

    Args:
        x: an array or number, real; integers become floats.

    Returns:
        S and C, arrays of the shape of `x`.

    Raises:
        TypeError: for complex numbers.

    >>> import tangrad.scipy.special as special
    >>> s, c = special.fresnel(1.0)
    >>> f"{s:.4f} {c:.4f}"
    '0.4383 0.7799'
    """
    (made,) = reals("fresnel", x)
    if made.aval.dtype.itemsize > 2:
        return tuple(_fresnel_pair(made))
    return tuple([part.astype(made.aval.dtype) for part in _fresnel_pair(made.astype(np.float32))])


# --- the normal distribution ---------------------------------------------------------------------------------------


@defined(1.96, gives="0.9750", weak="never")
def ndtr(x: ArrayLike) -> Array:
    """The probability that a normal variable is below x."""
    return 0.5 * p.erfc_p.bind(tnp.multiply(x, -math.sqrt(0.5)))


def _hazard(x: Value) -> Value:
    """φ(x) / Φ(x), the derivative of log Φ: three formulas, each with derivatives where it is used."""
    left, inverse, _ = _far(-x)
    right = x > 0
    middle = tnp.where(left | right, -1.0, x)
    # -x + c / -x + …: Mills' ratio turned over, so that what the derivative is about stands by itself.
    square = inverse * inverse
    ratio = polynomial(square, _MILLS[:0:-1]) / polynomial(square, _MILLS[::-1])
    far = tnp.where(left, -x, 13.0) - inverse * ratio
    above = tnp.clip(tnp.where(right, x, 0.0), 0.0, 60.0)
    bell = tnp.exp(-0.5 * above * above) / math.sqrt(2 * math.pi)
    density = bell / (0.5 * p.erfc_p.bind(-math.sqrt(0.5) * above))
    near = math.sqrt(2 / math.pi) / _erfcx(-math.sqrt(0.5) * middle)
    return tnp.where(left, far, tnp.where(right, density, near))


# x (1 - Φ(x)) / φ(x) = Σ (-1)ᵏ (2k - 1)!! x⁻²ᵏ.
_MILLS = tuple([(-1) ** k * float(math.prod(range(1, 2 * k, 2))) for k in range(16)])


@with_derivatives(lambda t, ans, x: t * _hazard(x))
def _log_ndtr(x: Value) -> Value:
    below = tnp.minimum(x, 0.0)
    left = tnp.log(0.5 * _erfcx(-math.sqrt(0.5) * below)) - 0.5 * below * below
    left = tnp.where(x == -math.inf, -math.inf, left)
    return tnp.where(x < 0, left, tnp.log1p(-0.5 * p.erfc_p.bind(math.sqrt(0.5) * tnp.maximum(x, 0.0))))


@as_one("series_order")
def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of `ndtr`, accurate in both tails.

    Args:
        x: an array or number, real; integers become floats.
        series_order: has no effect: no asymptotic series is used. At least 0.

    Returns:
        An array of the shape of `x`.

    Raises:
        TypeError: for complex numbers, and a `series_order` that is no integer.
        ValueError: for a negative `series_order`.

    >>> import tangrad.scipy.special as special
    >>> f"{special.log_ndtr(-100.0):.3f}"
    '-5005.524'
    """
    if not isinstance(series_order, int):
        raise TypeError(f"log_ndtr: series_order must be an integer, got {series_order!r}")
    if series_order < 0:
        raise ValueError(f"log_ndtr: series_order must not be negative, got {series_order}")
    return _log_ndtr(*reals("log_ndtr", x, weak="never"))


@with_derivatives(lambda t, ans, p: t * (math.sqrt(2 * math.pi) * tnp.exp(0.5 * ans * ans)))
def _ndtri(p: Value) -> Value:
    """A rational approximation (Abramowitz and Stegun 26.2.22), then two steps of Halley on log Φ(x) = log p."""
    lower = tnp.where(p < 0.5, p, 1 - p)
    logarithm = tnp.log(tnp.where((lower > 0) & (lower < 1), lower, 0.5))
    t = tnp.sqrt(-2 * logarithm)
    x = (2.30753 + 0.27061 * t) / (1 + (0.99229 + 0.04481 * t) * t) - t
    for _ in range(2):
        slope = _hazard(x)
        newton = (_log_ndtr(x) - logarithm) / slope
        x = x - newton / (1 + 0.5 * newton * (x + slope))
    x = tnp.where(p < 0.5, x, -x)
    x = tnp.where(p == 0.5, 0.0, x)
    x = tnp.where(p == 0, -math.inf, tnp.where(p == 1, math.inf, x))
    return tnp.where((p >= 0) & (p <= 1), x, math.nan)


@defined(0.975, gives="1.9600", weak="never")
def ndtri(p: ArrayLike) -> Array:
    """The inverse of `ndtr`; infinite at 0 and 1, NaN beyond."""
    return _ndtri(p)


@defined(0.5, gives="0.4769", weak="never")
def erfcinv(y: ArrayLike) -> Array:
    """The inverse of `erfc`, accurate where that is small; infinite at 0 and 2, NaN beyond."""
    return _erfcinv(y)


def _erfcinv(y: Any) -> Array:
    in_tail = y < 0.5  # above it 1 - y is exact
    tail = _ndtri(0.5 * tnp.where(in_tail, y, 0.25))
    return tnp.where(in_tail, tail * (-1 / _ROOT_2), p.erf_inv_p.bind(1 - tnp.where(in_tail, 1.0, y)))


# --- Owen's T ------------------------------------------------------------------------------------------------------

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_REACH = 9.0  # beyond h x = 9 the integrand is below 1e-17 of its greatest value


def _owens_t_by_h(t: Array, ans: object, h: Array, a: Array) -> Array:
    return t * (-0.5 / math.sqrt(2 * math.pi) * tnp.exp(-0.5 * h * h) * p.erf_p.bind(math.sqrt(0.5) * a * h))


def _owens_t_by_a(t: Array, ans: object, h: Array, a: Array) -> Array:
    return t * (tnp.exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)))


@with_derivatives(_owens_t_by_h, _owens_t_by_a)
def _owens_t(h: Array, a: Array) -> Array:
    high, slope = abs(h), abs(a)
    product = tnp.where(high == 0, 0.0, high * slope)
    steep = slope > 1
    # T(h, a) = (Q(h) + Q(ah)) / 2 - Q(h) Q(ah) - T(ah, 1/a), with the upper tails Q.
    q, r = [0.5 * p.erfc_p.bind(math.sqrt(0.5) * x) for x in (high, product)]
    integral = _owens_integral(tnp.where(steep, product, high), tnp.where(steep, 1 / slope, slope))
    value = tnp.where(steep, 0.5 * (q + r) - q * r - integral, integral)
    return tnp.where(a < 0, -value, value)


def _owens_integral(h: ArrayLike, a: ArrayLike) -> Array:
    """1/(2π) ∫₀ᵃ exp(-h² (1 + x²) / 2) / (1 + x²) dx for 0 ≤ a ≤ 1, by Gauss and Legendre."""
    h = tnp.minimum(h, 1e3)
    end = tnp.minimum(a, _REACH / tnp.maximum(h, 1.0))
    nodes, weights = [tnp.asarray(array, h.dtype) for array in (0.5 * _NODES + 0.5, 0.5 * _WEIGHTS)]

    def add(k: object, total: Array) -> Array:
        x = end * nodes[k]
        square = 1 + x * x
        return total + weights[k] * tnp.exp(-0.5 * h * h * square) / square

    return fori_loop(0, len(_NODES), add, tnp.zeros_like(h)) * end / (2 * math.pi)


@defined(
    1.0,
    0.5,
    gives="0.04306",
    source="Patefield and Tandy, Fast and accurate calculation of Owen's T function, J. Stat. Softw. 5 (2000): the "
    "reflection to |a| ≤ 1 and Gaussian quadrature",
)
def owens_t(h: ArrayLike, a: ArrayLike) -> Array:
    """Owen's function T(h, a): the probability that X > h and 0 < Y < a X, of two independent normal variables."""
    return _owens_t(h, a)
