"""Products with logarithms, and what maps probabilities: `xlogy`, `entr`, `kl_div`, `logit`, `boxcox`, `softmax`, …"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tangrad.numpy as tnp
from tangrad._scipy.special_functions.elementwise import numbers, polynomial, reals, with_derivatives
from tangrad.extend import nn
from tangrad.extend.lax import logistic
from tangrad.extend.numpy import as_one, asarray, strong


def _times_log(x: Any, y: Any) -> Any:
    """x log y, and 0 where x is 0, in derivatives too: the cotangent of y is x / y."""
    return tnp.where(x == 0, tnp.zeros_like(x), x * tnp.log(tnp.where(x == 0, 1.0, y)))


@with_derivatives(lambda t, ans, x, y: t * tnp.log(y), lambda t, ans, x, y: t * x / y)
def _xlogy(x: Any, y: Any) -> Any:
    return tnp.where(tnp.isnan(y), y, _times_log(x, y))


@with_derivatives(lambda t, ans, x, y: t * tnp.log1p(y), lambda t, ans, x, y: t * x / (1 + y))
def _xlog1py(x: Any, y: Any) -> Any:
    return tnp.where(tnp.isnan(y), y, tnp.where(x == 0, tnp.zeros_like(x), x * tnp.log1p(tnp.where(x == 0, 1.0, y))))


@as_one()
def xlogy(x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is 0.

    Args:
        x, y: arrays or numbers, broadcast against each other.

    Returns:
        An array of their common shape.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> special.xlogy(0.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return _xlogy(*numbers("xlogy", x, y))


@as_one()
def xlog1py(x: Any, y: Any) -> Any:
    """x log(1 + y), and 0 where x is 0.

    Args:
        x, y: arrays or numbers, broadcast against each other.

    Returns:
        An array of their common shape.

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> special.xlog1py(0.0, -1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return _xlog1py(*numbers("xlog1py", x, y))


@with_derivatives(lambda t, ans, x: t * tnp.where(x < 0, 0.0, -1 - tnp.log(tnp.where(x < 0, 1.0, x))))
def _entropy(x: Any) -> Any:
    safe = tnp.where(x < 0, 1.0, x)
    return tnp.where(x < 0, -math.inf, -_xlogy(safe, safe))


@as_one()
def entr(x: Any) -> Any:
    """-x log(x): the part of one outcome in an entropy; 0 at 0, -inf below.

    Args:
        x: an array or number, real; integers become floats.

    Returns:
        An array of the shape of `x`.

    Raises:
        TypeError: for complex numbers.

    >>> import tangrad.scipy.special as special
    >>> f"{special.entr(0.5):.4f}"
    '0.3466'
    """
    (made,) = reals("entr", x)
    return _entropy(made)


def _relative(p: Any, q: Any) -> Any:
    """p log(p / q); inf outside of where it is defined."""
    both = (p > 0) & (q > 0)
    one, other = tnp.where(both, p, 1.0), tnp.where(both, q, 1.0)
    value = one * (tnp.log(one) - tnp.log(other))
    value = tnp.where(both, value, tnp.where((p == 0) & (q >= 0), 0.0, math.inf))
    return tnp.where(tnp.isnan(p) | tnp.isnan(q), math.nan, value)


@as_one()
def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q): the part of one outcome in a relative entropy; inf for negative numbers, and where only q is 0.

    Args:
        p, q: arrays or numbers, real, broadcast against each other.

    Returns:
        An array of their common shape.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> f"{special.rel_entr(2.0, 1.0):.4f}"
    '1.3863'
    """
    return _relative(*reals("rel_entr", p, q))


@as_one()
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, which is nowhere negative; inf for negative numbers, and where only q is 0.

    Args:
        p, q: arrays or numbers, real, broadcast against each other.

    Returns:
        An array of their common shape.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> f"{special.kl_div(2.0, 1.0):.4f}"
    '0.3863'
    """
    p, q = reals("kl_div", p, q)
    relative = _relative(p, q)
    return tnp.where((relative == math.inf) & (p < math.inf), math.inf, relative - p + q)


@as_one()
def expit(x: Any) -> Any:
    """The logistic function, 1 / (1 + exp(-x)).

    Args:
        x: an array or number, real or complex; integers become floats.

    Returns:
        An array of the shape of `x`.

    >>> import tangrad.scipy.special as special
    >>> special.expit(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return logistic(*numbers("expit", x))


@as_one()
def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of `expit`.

    Args:
        x: an array or number, real or complex; integers become floats.

    Returns:
        An array of the shape of `x`; NaN of real numbers outside of [0, 1].

    >>> import tangrad.scipy.special as special
    >>> special.logit(0.5)
    Array(0., dtype=float32, weak_type=True)
    """
    return _logit(*numbers("logit", x))


# As a sum of two quotients: the product of small numbers would underflow, and its inverse be differentiated.
@with_derivatives(lambda t, ans, x: t * (1 / x + 1 / (1 - x)))
def _logit(x: Any) -> Any:
    return tnp.log(x / (1 - x))


# --- Box and Cox ---------------------------------------------------------------------------------------------------

# (exp(u) (u - 1) + 1) / u² = Σ uᵏ (k + 1) / (k + 2)!
_SLOPE = tuple([(k + 1) / math.factorial(k + 2) for k in range(18, -1, -1)])


def _power_slope(t: Any, ans: Any, logarithm: Any, exponent: Any) -> Any:
    u = exponent * logarithm
    near = abs(u) < 1
    small = tnp.where(near, u, 0.0)
    safe = tnp.where(near, 1.0, exponent)
    finite = tnp.where(near, 0.0, logarithm)
    far = (finite * tnp.exp(tnp.where(near, 0.0, u)) - ans) / safe
    return t * tnp.where(near, logarithm * logarithm * polynomial(small, _SLOPE), far)


@with_derivatives(lambda t, ans, logarithm, exponent: t * tnp.exp(exponent * logarithm), _power_slope)
def _power_less_one(logarithm: Any, exponent: Any) -> Any:
    """(exp(λ L) - 1) / λ, and L where λ is 0."""
    flat = exponent == 0
    value = tnp.expm1(tnp.where(flat, 0.0, exponent * logarithm)) / tnp.where(flat, 1.0, exponent)
    return tnp.where(flat, logarithm, value)


@as_one()
def boxcox(x: Any, lmbda: Any) -> Any:
    """The transformation of Box and Cox, (xᵏ - 1) / k with k = lmbda; log(x) where that is 0.

    Args:
        x, lmbda: arrays or numbers, real, broadcast against each other.

    Returns:
        An array of their common shape; NaN for negative `x`.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> special.boxcox(2.0, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    made, exponent = reals("boxcox", x, lmbda)
    return _power_less_one(tnp.log(made), exponent)


@as_one()
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """The transformation of Box and Cox of 1 + x, accurate near 0.

    Args:
        x, lmbda: arrays or numbers, real, broadcast against each other.

    Returns:
        An array of their common shape; NaN for `x` below -1.

    Raises:
        TypeError: for complex numbers.
        ValueError: for shapes that do not fit.

    >>> import tangrad.scipy.special as special
    >>> special.boxcox1p(1.0, 1.0)
    Array(1., dtype=float32, weak_type=True)
    """
    made, exponent = reals("boxcox1p", x, lmbda)
    return _power_less_one(tnp.log1p(made), exponent)


# --- along an axis -------------------------------------------------------------------------------------------------


def softmax(x: Any, /, *, axis: int | Sequence[int] | None = None) -> Any:
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


def log_softmax(x: Any, /, *, axis: int | Sequence[int] | None = None) -> Any:
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
