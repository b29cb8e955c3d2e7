"""Bessel functions, Legendre functions, and spherical harmonics."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined, reals
from tangrad._scipy.special_functions.elementwise import polynomial, with_derivatives
from tangrad.core import Array, as_array, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import complex as complex_of
from tangrad.extend.lax import fori_loop, scan, stop_gradient
from tangrad.extend.numpy import asarray, broadcast_shape, broadcast_to, index_argument, is_kind
from tangrad.typing import ArrayLike, Value

# --- Bessel functions and spherical harmonics: `i0`, `i1`, `bessel_jn`, `sph_harm_y`, … -------------------------------


MADE_FOR = "scipy.special"


@defined(0.0, gives="Array(1., dtype=float32, weak_type=True)")
def i0e(x: ArrayLike) -> Array:
    """exp(-|x|) I₀(x): the modified Bessel function of order 0, scaled."""
    return p.bessel_i0e_p.bind(x)


@defined(0.0, gives="Array(0., dtype=float32, weak_type=True)")
def i1e(x: ArrayLike) -> Array:
    """exp(-|x|) I₁(x): the modified Bessel function of order 1, scaled."""
    return p.bessel_i1e_p.bind(x)


def _finite(x: Array) -> Array:
    """x, not beyond what is finite: the scaled functions are 0 at infinity only."""
    greatest = float(np.finfo(x.dtype).max)
    return tnp.clip(x, -greatest, greatest)


@with_derivatives(lambda t, ans, x: t * _i1(x))
def _i0(x: Array) -> Value:
    return tnp.exp(abs(x)) * p.bessel_i0e_p.bind(_finite(x))


# I₁'(x) in powers of x² / 4, from I₁(x) = Σ (x / 2)²ᵏ⁺¹ / (k! (k + 1)!).
_I1_SLOPE = tuple([(2 * k + 1) / (2 * math.factorial(k) * math.factorial(k + 1)) for k in range(8, -1, -1)])


def _i1_slope(t: Array, ans: Array, x: Array) -> Array:
    """I₀ - I₁ / x: near 0 by a series, and where both are infinite, I₁ itself."""
    near, beyond = abs(x) < 1, abs(ans) == math.inf
    small, safe = tnp.where(near, x, 0.0), tnp.where(near | beyond, 2.0, x)
    middle = _i0(safe) - tnp.where(near | beyond, 0.0, ans) / safe
    value = tnp.where(near, polynomial(0.25 * small * small, _I1_SLOPE), middle)
    return t * tnp.where(beyond, tnp.sign(x) * ans, value)


@with_derivatives(_i1_slope)
def _i1(x: Array) -> Array:
    return tnp.exp(abs(x)) * p.bessel_i1e_p.bind(_finite(x))


@defined(0.0, gives="Array(1., dtype=float32, weak_type=True)")
def i0(x: ArrayLike) -> Array:
    """The modified Bessel function I₀."""
    return _i0(x)


@defined(0.0, gives="Array(0., dtype=float32, weak_type=True)")
def i1(x: ArrayLike) -> Array:
    """The modified Bessel function I₁."""
    return _i1(x)


# --- J of orders 0, …, v -------------------------------------------------------------------------------------------


@lru_cache(64)
def _orders(count: int, start: int) -> Callable[..., Array]:
    """J₀, …, J of the order `count` - 1, stacked."""

    def slope(tangent: Array, answer: object, z: object) -> Array:
        above = _orders(count + 1, start)(z)
        return tangent * tnp.concatenate([-above[1:2], 0.5 * (above[: count - 1] - above[2:])])

    @with_derivatives(slope)
    def function(z: Array) -> Array:
        return _by_recurrence(z, count, max(start, count) + 1)

    return function


def _by_recurrence(z: Array, count: int, start: int) -> Array:
    """Miller's algorithm in quotients rₖ = Jₖ / Jₖ₋₁ = z / (2k - z rₖ₊₁), which do not overflow.

    The sum 1 = J₀ + 2 J₂ + 2 J₄ + … (DLMF 10.12.4) is J₀ (1 + 2 r₁ r₂ (1 + r₃ r₄ (1 + …))).
    """

    def quotient(order: Array, above: Array) -> Array:
        below = 2 * order - z * above
        return z / tnp.where(below == 0, float(dtypes.finfo(z.dtype).tiny), below)

    pairs = (start + 1) // 2

    def body(i: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        kept, above, tail = carry
        order = 2 * (pairs - i)
        even = quotient(order.astype(z.dtype), above)
        odd = quotient((order - 1).astype(z.dtype), even)
        for place, value in ((order, even), (order - 1, odd)):
            kept = tnp.where((tnp.arange(count) == place).reshape((count,) + (1,) * z.ndim), value, kept)
        return kept, odd, 1 + odd * even * tail

    start_values = tnp.zeros((count, *z.shape), z.dtype), tnp.zeros_like(z), tnp.ones_like(z)
    kept, _, tail = fori_loop(0, pairs, body, start_values)
    values = [1 / (2 * tail - 1)]
    for k in range(1, count):
        values.append(values[-1] * kept[k])
    return tnp.stack(values)


def bessel_jn(z: ArrayLike, *, v: int, n_iter: int = 50) -> Array:
    """The Bessel functions of the first kind of the orders 0, …, v.

    Args:
        z: an array or number, real; integers become floats. It is accurate where |z| is well below `n_iter`.
        v: the greatest order, an integer.
        n_iter: from which order the recurrence goes down.

    Returns:
        An array of shape (v + 1, *z.shape).

    Raises:
        TypeError: for complex numbers; `v` or `n_iter` is no integer.
        ValueError: one of them is negative.

    Source: Miller's algorithm, DLMF 3.6(v).

    >>> import tangrad.scipy.special as special
    >>> special.bessel_jn(0.0, v=1)
    Array([1., 0.], dtype=float32)
    """
    order, start = index_argument("bessel_jn", v, "v"), index_argument("bessel_jn", n_iter, "n_iter")
    if order < 0 or start < 0:
        raise ValueError(f"bessel_jn: v and n_iter must not be negative, got {v} and {n_iter}")
    return _orders(order + 1, start)(*reals("bessel_jn", z))


# --- spherical harmonics -------------------------------------------------------------------------------------------


def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: int | None = None, n_max: int | None = None
) -> Array:
    """The spherical harmonics Yₙᵐ(θ, φ), with the phase of Condon and Shortley.

    Args:
        n: the degree, an array or number, integer, not negative.
        m: the order, an array or number, integer; 0 where its absolute value is above `n`.
        theta: the polar angle in radians, from 0 to π; below 0, -theta is meant, as in SciPy.
        phi: the azimuth in radians.
        diff_n: must be None: `grad` has derivatives.
        n_max: the greatest degree; None: that of `n`, whose values must then be known.

    Returns:
        A complex array of the shape to which the arguments broadcast.

    Raises:
        NotImplementedError: `diff_n` is given.
        TypeError: `n` or `m` is not of integers.
        ValueError: for shapes that do not fit.

    Source: the recurrence of normalised associated Legendre functions, DLMF 14.10.3 and 14.30.1.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> f"{special.sph_harm_y(0, 0, 0.0, 0.0).real:.4f}"
    '0.2821'
    """
    if diff_n is not None:
        raise NotImplementedError(f"sph_harm_y: diff_n is not supported, got {diff_n!r}; grad has derivatives")
    degree, order = [as_array(asarray(value)) for value in (n, m)]
    for name, value in (("n", degree), ("m", order)):
        if not is_kind(value, np.integer):
            raise TypeError(f"sph_harm_y: {name} must be integers, got {value.aval.str_short()}")
    limit = index_argument("sph_harm_y", int(degree.max()) if n_max is None and degree.size else n_max or 0, "n_max")
    polar, azimuth = reals("sph_harm_y", theta, phi)
    shape = broadcast_shape("sph_harm_y", [x.shape for x in (degree, order, polar)])
    degree, order, polar, azimuth = [broadcast_to(x, shape) for x in (degree, order, polar, azimuth)]
    return _harmonics(degree, order, polar, azimuth, limit)


def _harmonics(degree: object, order: Array, polar: Array, azimuth: Array, limit: int) -> Array:
    size = abs(order)
    value = _legendre(degree, size, tnp.where(polar < 0, -polar, polar), limit)
    negative = (order < 0) & (size % 2 == 1)
    value = tnp.where(negative, -value, value)
    angle = stop_gradient(order).astype(polar.dtype) * azimuth
    return complex_of(value * tnp.cos(angle), value * tnp.sin(angle))


def _legendre(degree: object, order: Array, polar: ArrayLike, limit: int) -> Array:
    """The normalised associated Legendre functions, for 0 ≤ order."""
    sine, cosine = tnp.sin(polar), tnp.cos(polar)

    def diagonal(k: Array, value: Array) -> Array:
        factor = -tnp.sqrt((2 * k + 1) / (2 * k)).astype(sine.dtype)
        return tnp.where(k <= order, value * factor * sine, value)

    start = tnp.full_like(sine, math.sqrt(0.25 / math.pi))
    first = fori_loop(1, limit + 1, diagonal, start)
    m = order.astype(sine.dtype)

    def climb(k: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        found, last, previous = carry
        top = m + tnp.asarray(k, sine.dtype)
        square, below = top * top, (top - 1) * (top - 1)
        spread = square - m * m
        scale = tnp.sqrt((4 * square - 1) / spread)
        step = tnp.sqrt((below - m * m) / tnp.where(top == 0.5, 1.0, 4 * below - 1))
        value = scale * (cosine * last - tnp.where(k == 1, 0.0, step) * previous)
        return tnp.where(order + k == degree, value, found), value, last

    zeros = tnp.zeros_like(first)
    return fori_loop(1, limit + 1, climb, (tnp.where(order == degree, first, zeros), first, zeros))[0]


# --- Associated Legendre functions of all degrees and orders at once: `lpmn`, `lpmn_values` ---------------------------


def lpmn_values(m: int, n: int, z: ArrayLike, is_normalized: bool) -> Array:
    """The associated Legendre functions Pₗᵐ(z) of every order up to `m` and every degree up to `n`.

    Args:
        m: the greatest order.
        n: the greatest degree.
        z: a vector of floats, from -1 to 1.
        is_normalized: whether they have the factor of spherical harmonics, √((2l+1)/(4π) (l-m)!/(l+m)!), with which
            high orders do not overflow.

    Returns:
        An array of shape `(m + 1, n + 1, len(z))`: 0 where the order is above the degree.

    Raises:
        TypeError: `m` or `n` is no integer, `z` is not of floats.
        ValueError: `m` or `n` is negative, `z` is no vector.

    Source: DLMF 14.7.15 and 14.10.3, with the phase of Condon and Shortley.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> special.lpmn_values(1, 1, np.array([0.5]), False).round(3)
    Array([[[ 1.   ],
            [ 0.5  ]],
    <BLANKLINE>
           [[ 0.   ],
            [-0.866]]], dtype=float32)
    """
    order, degree, x = _arguments("lpmn_values", m, n, z)
    return _climbed(x, *_tables(order, degree, bool(is_normalized)), derivatives=False)[0]


def lpmn(m: int, n: int, z: ArrayLike) -> tuple[Array, Array]:
    """The associated Legendre functions of every order up to `m` and every degree up to `n`, and their derivatives.

    Args:
        m, n, z: as of `lpmn_values`.

    Returns:
        Two arrays of shape `(m + 1, n + 1, len(z))`: Pₗᵐ(z), and its derivative by `z`.

    Raises as `lpmn_values` does.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> values, slopes = special.lpmn(0, 2, np.array([0.5]))
    >>> values[0, :, 0]
    Array([ 1.   ,  0.5  , -0.125], dtype=float32)
    >>> slopes[0, 1:, 0]
    Array([1. , 1.5], dtype=float32)
    """
    order, degree, x = _arguments("lpmn", m, n, z)
    values, slopes = _climbed(x, *_tables(order, degree, False), derivatives=True)
    return values, slopes


def _arguments(name: str, m: object, n: object, z: object) -> tuple[int, int, Array]:
    order, degree = index_argument(name, m, "m"), index_argument(name, n, "n")
    if order < 0 or degree < 0:
        raise ValueError(f"{name}: m and n must not be negative, got m={order} and n={degree}")
    x = as_array(asarray(z))
    if not np.issubdtype(x.dtype, np.floating):
        raise TypeError(f"{name}: z must be of floats, got {x.aval.str_short()}")
    if x.ndim != 1:
        raise ValueError(f"{name}: z must have one dimension, got shape {x.shape}")
    return order, degree, x


def _tables(order: int, degree: int, normalized: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By degree (rows) and order: the factor of the last degree, that of the one before; by order that of the first."""
    orders = np.arange(order + 1.0)
    degrees = np.arange(degree + 1.0)[:, None]
    above = degrees > orders
    with np.errstate(all="ignore"):
        if normalized:
            last = np.sqrt((4 * degrees**2 - 1) / (degrees**2 - orders**2))
            before = last * np.sqrt(((degrees - 1) ** 2 - orders**2) / (4 * (degrees - 1) ** 2 - 1))
            steps = -np.sqrt((2 * orders[1:] + 1) / (2 * orders[1:]))
            first = math.sqrt(0.25 / math.pi) * np.cumprod([1.0, *steps])
        else:
            last = (2 * degrees - 1) / (degrees - orders)
            before = (degrees + orders - 1) / (degrees - orders)
            first = np.cumprod([1.0, *(1 - 2 * orders[1:])])
    two_above = degrees > orders + 1
    return np.where(above, last, 0), np.where(two_above, before, 0), first


def _climbed(
    x: Array, last: np.ndarray, before: np.ndarray, first: np.ndarray, *, derivatives: bool
) -> tuple[Array, ...]:
    """Degree after degree by the recurrence, all orders at once; the first degree of an order is (1 - x²)^(m/2)."""
    dtype = x.dtype
    orders = np.arange(len(first))[:, None]
    square = (1 - x) * (1 + x)
    factor = tnp.asarray(first, dtype)[:, None]
    starts = factor * tnp.where(orders == 0, 1, square ** tnp.asarray(orders / 2, dtype))
    shrinking = tnp.asarray(np.where(orders == 0, 0, orders / 2 - 1), dtype)
    slopes = factor * -tnp.asarray(orders, dtype) * x * square**shrinking if derivatives else starts
    begins = np.arange(len(last))[:, None] == np.arange(len(first))

    def step(carry: Any, row: Any) -> Any:
        value, previous, slope, previous_slope = carry
        one, two, here = [part[:, None] for part in row]
        found = tnp.where(here, starts, one * x * value - two * previous)
        if not derivatives:
            return (found, value, slope, previous_slope), found
        rising = one * (value + x * slope) - tnp.where(two == 0, 0, two * previous_slope)
        rising = tnp.where(here, slopes, tnp.where(tnp.isinf(slope), x * slope, rising))
        return (found, value, rising, slope), (found, rising)

    none = tnp.zeros_like(starts)
    rows = (tnp.asarray(last, dtype), tnp.asarray(before, dtype), tnp.asarray(begins))
    _, found = scan(step, (none, none, none, none), rows)
    if not derivatives:
        return (tnp.swapaxes(found, 0, 1),)
    return tuple([tnp.swapaxes(part, 0, 1) for part in found])
