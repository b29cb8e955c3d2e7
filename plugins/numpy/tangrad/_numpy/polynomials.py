"""Polynomials as vectors of coefficients, the highest power first: `tangrad.numpy.polyval`, `polymul`, `polyder`, …"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import ones, zeros
from tangrad._numpy.fusing import as_one
from tangrad._numpy.joining import concatenate
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
from tangrad.core import Array, transfers
from tangrad.extend.lax import add_p, mul_p, neg_p
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: how often is no operand.
COPIES_FROM_HOST = {
    "polydiv": True,
    "polyder": lambda given: transfers.is_from_host(given["p"]),
    "polyint": lambda given: transfers.is_from_host([given["p"], given["k"]]),
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


def _padded(name: str, a1: Any, a2: Any) -> tuple[Any, Any]:
    check_array_like(name, a1, a2)
    first, second = [_coefficients(name, value) for value in promote(name, a1, a2)]
    length = max(first.aval.shape[0], second.aval.shape[0])
    return tuple(  # type: ignore[return-value]
        [concatenate([zeros(length - x.aval.shape[0], x.aval.dtype), x]) for x in (first, second)]
    )


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
        seq_of_zeros: an array of one dimension.

    Returns:
        The coefficients, the highest power, whose is 1, first.

    Raises:
        TypeError: for what is no array.
        ValueError: for other numbers of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.poly(tangrad.numpy.array([1.0, -1.0]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    roots = array_operand("poly", promote_inexact("poly", seq_of_zeros)[0])
    if roots.ndim > 1:
        raise ValueError(f"poly requires the roots as a vector, got shape {roots.aval.shape}")
    roots = atleast_1d(roots)
    result = ones(1, roots.aval.dtype)
    for i in range(roots.aval.shape[0]):
        zero = zeros(1, roots.aval.dtype)
        result = concatenate([result, zero]) - concatenate([zero, result * roots[i]])
    return result
