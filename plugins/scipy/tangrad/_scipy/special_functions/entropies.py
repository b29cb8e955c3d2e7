"""Products with logarithms, and what maps probabilities: `xlogy`, `entr`, `kl_div`, `logit`, `boxcox`, `softmax`, …"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.definitions import defined
from tangrad._scipy.special_functions.elementwise import polynomial, with_derivatives
from tangrad.core import Array
from tangrad.extend import nn
from tangrad.extend.lax import logistic
from tangrad.extend.numpy import asarray, strong
from tangrad.typing import ArrayLike, Value

MADE_FOR = "scipy.special"


def _times_log(x: Value, y: Value) -> Value:
    """x log y, and 0 where x is 0, in derivatives too: the cotangent of y is x / y."""
    return tnp.where(x == 0, tnp.zeros_like(x), x * tnp.log(tnp.where(x == 0, 1.0, y)))


@with_derivatives(lambda t, ans, x, y: t * tnp.log(y), lambda t, ans, x, y: t * x / y)
def _xlogy(x: Value, y: Value) -> Value:
    return tnp.where(tnp.isnan(y), y, _times_log(x, y))


@with_derivatives(lambda t, ans, x, y: t * tnp.log1p(y), lambda t, ans, x, y: t * x / (1 + y))
def _xlog1py(x: Value, y: Value) -> Value:
    return tnp.where(tnp.isnan(y), y, tnp.where(x == 0, tnp.zeros_like(x), x * tnp.log1p(tnp.where(x == 0, 1.0, y))))


@defined(0.0, 0.0, gives="Array(0., dtype=float32, weak_type=True)", weak="as promoted", complex_too=True)
def xlogy(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(y), and 0 where x is 0."""
    return _xlogy(x, y)


@defined(0.0, -1.0, gives="Array(0., dtype=float32, weak_type=True)", weak="as promoted", complex_too=True)
def xlog1py(x: ArrayLike, y: ArrayLike) -> Array:
    """x log(1 + y), and 0 where x is 0."""
    return _xlog1py(x, y)


@with_derivatives(lambda t, ans, x: t * tnp.where(x < 0, 0.0, -1 - tnp.log(tnp.where(x < 0, 1.0, x))))
def _entropy(x: Array) -> Array:
    safe = tnp.where(x < 0, 1.0, x)
    return tnp.where(x < 0, -math.inf, -_xlogy(safe, safe))


@defined(0.5, gives="0.3466")
def entr(x: ArrayLike) -> Array:
    """-x log(x): the part of one outcome in an entropy; 0 at 0, -inf below."""
    return _entropy(x)


def _relative(p: Any, q: Any) -> Array:
    """p log(p / q); inf outside of where it is defined."""
    both = (p > 0) & (q > 0)
    one, other = tnp.where(both, p, 1.0), tnp.where(both, q, 1.0)
    value = one * (tnp.log(one) - tnp.log(other))
    value = tnp.where(both, value, tnp.where((p == 0) & (q >= 0), 0.0, math.inf))
    return tnp.where(tnp.isnan(p) | tnp.isnan(q), math.nan, value)


@defined(2.0, 1.0, gives="1.3863")
def rel_entr(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q): the part of one outcome in a relative entropy; inf for negative numbers, and where only q is 0."""
    return _relative(p, q)


def _divergence(p: Any, q: Any) -> Array:
    relative = _relative(p, q)
    return tnp.where((relative == math.inf) & (p < math.inf), math.inf, relative - p + q)


@defined(2.0, 1.0, gives="0.3863")
def kl_div(p: ArrayLike, q: ArrayLike) -> Array:
    """p log(p / q) - p + q, which is nowhere negative; inf for negative numbers, and where only q is 0."""
    return _divergence(p, q)


@defined(0.0, gives="Array(0.5, dtype=float32, weak_type=True)", complex_too=True)
def expit(x: ArrayLike) -> Array:
    """The logistic function, 1 / (1 + exp(-x))."""
    return logistic(x)


@defined(
    0.5,
    gives="Array(0., dtype=float32, weak_type=True)",
    complex_too=True,
    returns="NaN of real numbers outside of [0, 1]",
)
def logit(x: ArrayLike) -> Array:
    """log(x / (1 - x)), the inverse of `expit`."""
    return _logit(x)


# As a sum of two quotients: the product of small numbers would underflow, and its inverse be differentiated.
@with_derivatives(lambda t, ans, x: t * (1 / x + 1 / (1 - x)))
def _logit(x: Array) -> Array:
    return tnp.log(x / (1 - x))


# --- Box and Cox ---------------------------------------------------------------------------------------------------

# (exp(u) (u - 1) + 1) / u² = Σ uᵏ (k + 1) / (k + 2)!
_SLOPE = tuple([(k + 1) / math.factorial(k + 2) for k in range(18, -1, -1)])


def _power_slope(t: Array, ans: Array, logarithm: Array, exponent: Array) -> Array:
    u = exponent * logarithm
    near = abs(u) < 1
    small = tnp.where(near, u, 0.0)
    safe = tnp.where(near, 1.0, exponent)
    finite = tnp.where(near, 0.0, logarithm)
    far = (finite * tnp.exp(tnp.where(near, 0.0, u)) - ans) / safe
    return t * tnp.where(near, logarithm * logarithm * polynomial(small, _SLOPE), far)


@with_derivatives(lambda t, ans, logarithm, exponent: t * tnp.exp(exponent * logarithm), _power_slope)
def _power_less_one(logarithm: Array, exponent: ArrayLike) -> Array:
    """(exp(λ L) - 1) / λ, and L where λ is 0."""
    flat = exponent == 0
    value = tnp.expm1(tnp.where(flat, 0.0, exponent * logarithm)) / tnp.where(flat, 1.0, exponent)
    return tnp.where(flat, logarithm, value)


@defined(2.0, 1.0, gives="Array(1., dtype=float32, weak_type=True)", weak="as promoted", returns="NaN for negative `x`")
def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The transformation of Box and Cox, (xᵏ - 1) / k with k = lmbda; log(x) where that is 0."""
    return _power_less_one(tnp.log(x), lmbda)


@defined(1.0, 1.0, gives="Array(1., dtype=float32, weak_type=True)", weak="as promoted", returns="NaN for `x` below -1")
def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """The transformation of Box and Cox of 1 + x, accurate near 0."""
    return _power_less_one(tnp.log1p(x), lmbda)


# --- along an axis -------------------------------------------------------------------------------------------------


def softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """exp(x) / sum(exp(x)), over all elements unless an axis is given.

    Args:
        x: an array.
        axis: the axis, several of them, or None for all.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: there is no such axis.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> special.softmax(np.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)
    """
    return nn.softmax(strong(asarray(x)), axis)


def log_softmax(x: ArrayLike, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """The logarithm of `softmax`, over all elements unless an axis is given.

    Args:
        x: an array.
        axis: the axis, several of them, or None for all.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: there is no such axis.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.special as special
    >>> special.log_softmax(np.array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    return nn.log_softmax(strong(asarray(x)), axis)
