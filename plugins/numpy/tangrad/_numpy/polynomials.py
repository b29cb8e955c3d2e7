"""Polynomials as vectors of coefficients, the highest power first: `tangrad.numpy.polyval`, `polyfit`, …"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np

from tangrad._numpy.analytic import sqrt
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import ones, zeros
from tangrad._numpy.fusing import as_one
from tangrad._numpy.joining import concatenate
from tangrad._numpy.linear_systems import inv, lstsq
from tangrad._numpy.matrices import vander
from tangrad._numpy.matrix_factors import eigvals
from tangrad._numpy.numerical import convolve
from tangrad._numpy.operands import (
    array_operand,
    broadcast,
    broadcast_to_shape,
    check_array_like,
    index_argument,
    promote,
    promote_inexact,
)
from tangrad._numpy.shapes import atleast_1d
from tangrad._numpy.tiling import trim_zeros
from tangrad.core import Array, dtypes, transfers
from tangrad.errors import ArgumentError
from tangrad.extend.lax import add_p, mul_p, neg_p
from tangrad.typing import ArrayLike, Value

# ----------------------------------------------------------------------------------------------------------------------
# Polynomials as vectors of coefficients, the highest power first: `tangrad.numpy.polyval`, `polymul`, `polyder`, …


# Of what transfer guards ask: how often is no operand.
COPIES_FROM_HOST = {
    "polydiv": True,
    "polyder": lambda given: transfers.is_from_host(given["p"]),
    "polyint": lambda given: transfers.is_from_host([given["p"], given["k"]]),
    "roots": True,
}


def _coefficients(name: str, value: Value, position: int = 0) -> Array:
    x = atleast_1d(array_operand(name, value, position))
    if x.ndim != 1:
        raise ValueError(f"{name}: coefficients must have one dimension, got shape {x.aval.shape}")
    return x


@as_one("unroll")
def polyval(p: ArrayLike, x: ArrayLike, *, unroll: int = 16) -> Array:
    """Evaluate a polynomial by Horner's rule.

    Args:
        p: the coefficients, the highest power first; further dimensions are broadcast against `x`.
        x: where.
        unroll: ignored.

    Returns:
        An array of the shape of `x`.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.polyval(tangrad.numpy.array([1.0, 0.0, -1.0]), 3.0)
    Array(8., dtype=float32)
    """
    del unroll
    check_array_like("polyval", p, x)
    factors, place = promote("polyval", p, x)
    factors, place = array_operand("polyval", factors), array_operand("polyval", place)
    shape = np.broadcast_shapes(factors.aval.shape[1:], place.aval.shape)
    result = zeros(shape, factors.aval.dtype)
    for i in range(factors.aval.shape[0]):
        product, factor = broadcast("polyval", [mul_p.bind(*broadcast("polyval", [result, place])), factors[i]])
        result = add_p.bind(product, factor)
    return result


def _padded(name: str, a1: object, a2: object) -> tuple[Array, Array]:
    check_array_like(name, a1, a2)
    first, second = [_coefficients(name, value) for value in promote(name, a1, a2)]
    length = max(first.aval.shape[0], second.aval.shape[0])
    longer = lambda x: concatenate([zeros(length - x.aval.shape[0], x.aval.dtype), x])
    return longer(first), longer(second)


@as_one()
def polyadd(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Add polynomials.

    Args:
        a1, a2: coefficients, the highest power first.

    Returns:
        The coefficients of the sum.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.polyadd(tangrad.numpy.array([1, 2]), tangrad.numpy.array([1, 0, 0]))
    Array([1, 1, 2], dtype=int32)
    """
    first, second = _padded("polyadd", a1, a2)
    return add_p.bind(first, second)


@as_one()
def polysub(a1: ArrayLike, a2: ArrayLike) -> Array:
    """Subtract polynomials.

    Args:
        a1, a2: coefficients, the highest power first.

    Returns:
        The coefficients of the difference.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.polysub(tangrad.numpy.array([1, 2]), tangrad.numpy.array([1, 0, 0]))
    Array([-1,  1,  2], dtype=int32)
    """
    first, second = _padded("polysub", a1, a2)
    return add_p.bind(first, neg_p.bind(second))


def polymul(a1: ArrayLike, a2: ArrayLike, *, trim_leading_zeros: bool = False) -> Array:
    """Multiply polynomials.

    Args:
        a1, a2: coefficients, the highest power first.
        trim_leading_zeros: whether to leave out leading zeros, which must be known then.

    Returns:
        The coefficients of the product, floating or complex.

    Raises:
        TypeError: for what is no array.

    >>> import tangrad
    >>> tangrad.numpy.polymul(tangrad.numpy.array([1, 1]), tangrad.numpy.array([1, -1]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    check_array_like("polymul", a1, a2)
    first, second = [_coefficients("polymul", value) for value in promote_inexact("polymul", a1, a2)]
    if trim_leading_zeros:
        first, second = trim_zeros(first, "f"), trim_zeros(second, "f")
    first = first if first.aval.shape[0] else zeros(1, first.aval.dtype)
    second = second if second.aval.shape[0] else zeros(1, second.aval.dtype)
    return convolve(first, second, mode="full")


def polydiv(u: ArrayLike, v: ArrayLike, *, trim_leading_zeros: bool = False) -> tuple[Array, Array]:
    """Divide polynomials.

    Args:
        u, v: coefficients, the highest power first.
        trim_leading_zeros: whether to leave out leading zeros of the remainder, which must be known then.

    Returns:
        The coefficients of the quotient, and of the remainder.

    Raises:
        TypeError: for what is no array.
        ValueError: for a `v` of no coefficients.

    >>> import tangrad
    >>> tangrad.numpy.polydiv(tangrad.numpy.array([1.0, 0.0, -1.0]), tangrad.numpy.array([1.0, 1.0]))[0]
    Array([ 1., -1.], dtype=float32)
    """
    check_array_like("polydiv", u, v)
    dividend, divisor = [_coefficients("polydiv", value) for value in promote_inexact("polydiv", u, v)]
    if not divisor.aval.shape[0]:
        raise ValueError("polydiv: v has no coefficients")
    steps = dividend.aval.shape[0] - divisor.aval.shape[0] + 1
    quotient = []
    for k in range(max(steps, 0)):
        factor = dividend[k] / divisor[0]
        quotient.append(factor)
        dividend = dividend.at[k : k + divisor.aval.shape[0]].add(-factor * divisor)
    result = concatenate([x[None] for x in quotient]) if quotient else zeros(1, dividend.aval.dtype)
    return result, trim_zeros(dividend, "f") if trim_leading_zeros else dividend


@as_one("m")
def polyder(p: ArrayLike, m: int = 1) -> Array:
    """Differentiate a polynomial.

    Args:
        p: coefficients, the highest power first.
        m: how often.

    Returns:
        The coefficients of the derivative, floating or complex.

    Raises:
        TypeError: for what is no array, and an `m` that is no integer.
        ValueError: `m` is negative.

    >>> import tangrad
    >>> tangrad.numpy.polyder(tangrad.numpy.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    times = index_argument("polyder", m, "m")
    if times < 0:
        raise ValueError(f"polyder: m must not be negative, got {m}")
    x = _coefficients("polyder", promote_inexact("polyder", p)[0])
    for _ in range(times):
        powers = np.arange(x.aval.shape[0] - 1, 0, -1)
        x = x[:-1] * asarray(powers, dtype=x.aval.dtype)
    return x


@as_one("m")
def polyint(p: ArrayLike, m: int = 1, k: ArrayLike | None = None) -> Array:
    """Integrate a polynomial.

    Args:
        p: coefficients, the highest power first.
        m: how often.
        k: the constants of integration: a number, or one for each time; default 0.

    Returns:
        The coefficients of the integral, floating or complex.

    Raises:
        TypeError: for what is no array, and an `m` that is no integer.
        ValueError: `m` is negative, or the constants do not fit.

    >>> import tangrad
    >>> tangrad.numpy.polyint(tangrad.numpy.array([2.0, 2.0]))
    Array([1., 2., 0.], dtype=float32)
    """
    times = index_argument("polyint", m, "m")
    if times < 0:
        raise ValueError(f"polyint: m must not be negative, got {m}")
    given = [p] if k is None else [p, asarray(k)]
    x, *rest = [_coefficients("polyint", value) for value in promote_inexact("polyint", *given)]
    constants = zeros(times, x.aval.dtype) if not rest else rest[0]
    if constants.aval.shape[0] == 1 and times != 1:
        constants = broadcast_to_shape(constants, (times,)) if times else constants[:0]
    if constants.aval.shape[0] != times:
        raise ValueError(f"polyint: k must be a number or {times} of them, got {constants.aval.shape[0]}")
    for i in range(times):
        powers = asarray(np.arange(x.aval.shape[0], 0, -1), dtype=x.aval.dtype)
        x = concatenate([x / powers, constants[i : i + 1]])
    return x


def poly(seq_of_zeros: ArrayLike) -> Array:
    """Find the polynomial with given roots.

    Args:
        seq_of_zeros: an array of one dimension, or a square matrix, whose eigenvalues are the roots.

    Returns:
        The coefficients, the highest power, whose is 1, first; complex for a matrix.

    Raises:
        TypeError: for what is no array.
        ValueError: for other shapes.

    >>> import tangrad
    >>> tangrad.numpy.poly(tangrad.numpy.array([1.0, -1.0]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    roots = array_operand("poly", promote_inexact("poly", seq_of_zeros)[0])
    if roots.ndim == 2 and roots.aval.shape[0] == roots.aval.shape[1]:
        roots = eigvals(roots)
    if roots.ndim > 1:
        raise ValueError(f"poly requires a vector of roots or a square matrix, got shape {roots.aval.shape}")
    roots = atleast_1d(roots)
    result = ones(1, roots.aval.dtype)
    for i in range(roots.aval.shape[0]):
        zero = zeros(1, roots.aval.dtype)
        result = concatenate([result, zero]) - concatenate([zero, result * roots[i]])
    return result


# --- Polynomials from points and from coefficients: `tangrad.numpy.polyfit` and `roots` ---


# Of what transfer guards ask: these bring numbers of their own.


@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    cov: Literal[False] = False,
) -> Array: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    *,
    full: Literal[True],
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> tuple[Array, Array, Array, Array, Array]: ...
@overload
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: Literal[False] = False,
    w: ArrayLike | None = None,
    *,
    cov: Literal[True, "unscaled"],
) -> tuple[Array, Array]: ...
def polyfit(
    x: ArrayLike,
    y: ArrayLike,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: ArrayLike | None = None,
    cov: bool | str = False,
) -> Array | tuple[Array, ...]:
    """The polynomial of a degree that fits points best, by least squares.

    Args:
        x: where, an array (n,).
        y: the values, an array (n,), or (n, k) for k polynomials.
        deg: the degree.
        rcond: singular values below this share of the greatest count as 0; None: n times the dtype's precision.
        full: whether to return how the equations were solved, too.
        w: weights of the residuals, an array (n,).
        cov: whether to return the covariances of the coefficients, too; "unscaled": for weights that are 1 / σ.

    Returns:
        The coefficients, the highest power first, an array (deg + 1,) or (deg + 1, k). With `full` also the sums of the
        squared residuals, the rank, the singular values, and `rcond`; with `cov` also the covariances.

    Raises:
        TypeError: `deg` is no integer; `x` is no vector, or empty; `y` has three dimensions.
        ValueError: a negative degree, arrays of different lengths, too few points for covariances.

    >>> import tangrad.numpy as np
    >>> np.round(np.polyfit(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), 1), 3)
    Array([2., 1.], dtype=float32)
    """
    return (_fit_with_more if full or cov else _fit_alone)(x, y, deg, rcond, full, w, cov)


def _fit(
    x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None, full: bool, w: ArrayLike | None, cov: object
) -> tuple[Array, ...]:
    """The coefficients, and what else was asked for."""
    degree = index_argument("polyfit", deg, "deg")
    if degree < 0:
        raise ValueError(f"polyfit: deg must not be negative, got {deg}")
    check_array_like("polyfit", x, y)
    places, values = [asarray(v) for v in promote_inexact("polyfit", x, y)]
    if places.ndim != 1 or not places.size:
        raise TypeError(f"polyfit: x must be a vector that is not empty, got shape {places.shape}")
    if values.ndim not in (1, 2):
        raise TypeError(f"polyfit: y must have one or two dimensions, got shape {values.shape}")
    if values.shape[0] != places.shape[0]:
        raise ArgumentError(f"polyfit: x and y must be of one length, got shapes {places.shape} and {values.shape}")
    count = places.shape[0]
    if rcond is None:
        rcond = count * float(dtypes.finfo(places.dtype).eps)
    matrix, right = vander(places, degree + 1), values
    if w is not None:
        weights = asarray(w).astype(places.dtype)
        if weights.shape != places.shape:
            raise ValueError(f"polyfit: w must have the shape of x, {places.shape}, got {weights.shape}")
        matrix = matrix * weights[:, None]
        right = right * (weights if right.ndim == 1 else weights[:, None])
    # Columns of one size, so that the singular values depend on the polynomial and not on the unit of x.
    scale = sqrt((abs(matrix) ** 2).sum(0))
    solution, residuals, rank, singular = lstsq(matrix / scale, right, rcond)
    coefficients = (solution.T / scale).T
    if full:
        return coefficients, residuals, rank, singular, asarray(rcond)
    if not cov:
        return (coefficients,)
    covariances = inv(matrix.T @ matrix)
    factor: Array | int = 1
    if cov != "unscaled":
        free = count - (degree + 1)
        if free <= 0:
            raise ValueError(f"polyfit: covariances need more than {degree + 1} points, got {count}")
        # The residuals themselves: lstsq leaves their sums out where the rank is short.
        factor = (abs(right - matrix @ coefficients) ** 2).sum(0) / free
    return coefficients, (covariances if values.ndim == 1 else covariances[:, :, None]) * factor


_fit_with_more = as_one("deg", "rcond", "full", "cov", name="polyfit", several=True)(_fit)


@as_one("deg", "rcond", "full", "cov", name="polyfit")
def _fit_alone(
    x: ArrayLike, y: ArrayLike, deg: int, rcond: float | None, full: bool, w: ArrayLike | None, cov: bool | str
) -> Array:
    return _fit(x, y, deg, rcond, full, w, cov)[0]


def roots(p: ArrayLike, *, strip_zeros: bool = True) -> Array:
    """The roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
        p: the coefficients, the highest power first, an array (n,).
        strip_zeros: whether coefficients 0 at both ends are left out first, for which they must be known. Without it
            the results are NaN where the first one is 0.

    Returns:
        A complex array of as many roots as the polynomial has.

    Raises:
        ValueError: `p` is no vector.
        TracerArrayConversionError: with `strip_zeros`, coefficients that are traced.

    >>> import tangrad.numpy as np
    >>> np.sort(np.roots(np.array([1.0, -3.0, 2.0])).real)
    Array([1., 2.], dtype=float32)
    """
    check_array_like("roots", p)
    coefficients = asarray(promote_inexact("roots", p)[0])
    if coefficients.ndim != 1:
        raise ValueError(f"roots: p must have one dimension, got shape {coefficients.shape}")
    at_zero = 0
    if strip_zeros:
        known = np.flatnonzero(np.asarray(coefficients))
        if not known.size:
            return zeros(0, dtypes.to_complex_dtype(coefficients.dtype))
        at_zero = coefficients.shape[0] - 1 - int(known[-1])
        coefficients = coefficients[int(known[0]) : int(known[-1]) + 1]
    degree = coefficients.shape[0] - 1
    if degree < 1:
        return zeros(at_zero, dtypes.to_complex_dtype(coefficients.dtype))
    return _eigenvalues_of_companion(coefficients, at_zero)


@as_one("at_zero", name="roots")
def _eigenvalues_of_companion(coefficients: Array, at_zero: int) -> Array:
    """The roots of a polynomial whose first coefficient is not 0, and as many zeros."""
    kind = dtypes.to_complex_dtype(coefficients.dtype)
    below = np.eye(coefficients.shape[0] - 1, k=-1)
    companion = asarray(below, coefficients.dtype).at[0].set(-coefficients[1:] / coefficients[0])
    return concatenate([eigvals(companion).astype(kind), zeros(at_zero, kind)])
