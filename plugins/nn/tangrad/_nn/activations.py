"""Activation functions: `tangrad.nn.relu`, `gelu`, `silu`, …

Integers become floats where the formula makes them; a Python number gives a weakly typed array.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tangrad.numpy as tnp
from tangrad._nn.primitives import gelu_p, gelu_tanh_p, log1mexp_p, mish_p, relu6_p, relu_p, silu_p, softplus_p
from tangrad.core import Array, dtypes
from tangrad.extend import lax
from tangrad.extend.numpy import array_operand, as_one, check_promotion, promote_inexact, strong
from tangrad.typing import ArrayLike

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["gelu"], True)


def _is_floating(x: Any) -> bool:
    """Whether an argument is an array of floats, which primitives take as it is."""
    aval = x.aval if hasattr(type(x), "aval") else None
    return aval is not None and (aval.dtype.kind == "f" or dtypes.issubdtype(aval.dtype, np.floating))


# --- as they are, or 0 ---


def identity(x: ArrayLike) -> Array:
    """The argument itself.

    Args:
        x: an array or number.

    Returns:
        It, as an array.

    >>> import tangrad
    >>> tangrad.nn.identity(2.0)
    Array(2., dtype=float32, weak_type=True)
    """
    return array_operand("identity", x)


def relu(x: ArrayLike) -> Array:
    """max(x, 0), with the derivative 0 at 0.

    Args:
        x: an array or number.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: `x` is neither.

    Source: for the derivative, Bertoin et al., Numerical influence of ReLU'(0) on backpropagation, NeurIPS 2021.

    >>> import tangrad
    >>> tangrad.nn.relu(tangrad.numpy.array([-1.0, 2.0]))
    Array([0., 2.], dtype=float32)
    """
    if _is_floating(x):
        return relu_p.bind(x)
    return relu_p.bind(array_operand("relu", x)) if isinstance(x, float) else tnp.maximum(x, 0)


def relu6(x: ArrayLike) -> Array:
    """min(max(x, 0), 6), with the derivative 0 at 0 and at 6.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.relu6(tangrad.numpy.array([-1.0, 2.0, 8.0]))
    Array([0., 2., 6.], dtype=float32)
    """
    if _is_floating(x):
        return relu6_p.bind(x)
    return relu6_p.bind(array_operand("relu6", x)) if isinstance(x, float) else tnp.minimum(tnp.maximum(x, 0), 6.0)


@as_one()
def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """x where it is not negative, `negative_slope` · x elsewhere.

    Args:
        x: an array or number.
        negative_slope: a number, or an array.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.leaky_relu(tangrad.numpy.array([-1.0, 2.0]))
    Array([-0.01,  2.  ], dtype=float32)
    """
    check_promotion("leaky_relu", x, negative_slope)
    made = array_operand("leaky_relu", x)
    return tnp.where(made >= 0, made, negative_slope * made)


def hard_tanh(x: ArrayLike) -> Array:
    """x, but not below -1 and not above 1.

    Args:
        x: an array or number.

    Returns:
        An array of the shape and dtype of `x`.

    >>> import tangrad
    >>> tangrad.nn.hard_tanh(tangrad.numpy.array([-3.0, 0.5]))
    Array([-1. ,  0.5], dtype=float32)
    """
    made = array_operand("hard_tanh", x)
    if made.dtype.kind == "u":
        return tnp.minimum(made, 1)
    return tnp.where(made > 1, 1, tnp.where(made < -1, -1, made))


# --- between 0 and 1 ---


def sigmoid(x: ArrayLike) -> Array:
    """1 / (1 + exp(-x)).

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for integers.

    >>> import tangrad
    >>> tangrad.nn.sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return lax.logistic(x)


def hard_sigmoid(x: ArrayLike) -> Array:
    """relu6(x + 3) / 6: straight lines in place of sigmoid's curve.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.hard_sigmoid(0.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return relu6(array_operand("hard_sigmoid", x) + 3.0) / 6.0


def sparse_sigmoid(x: ArrayLike) -> Array:
    """(x + 1) / 2, but not below 0 and not above 1.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.sparse_sigmoid(0.5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return 0.5 * tnp.clip(array_operand("sparse_sigmoid", x) + 1.0, 0.0, 2.0)


def log_sigmoid(x: ArrayLike) -> Array:
    """log(sigmoid(x)), for any x.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.log_sigmoid(0.0)
    Array(-0.6931472, dtype=float32, weak_type=True)
    """
    return -softplus(-array_operand("log_sigmoid", x))


@as_one()
def soft_sign(x: ArrayLike) -> Array:
    """x / (|x| + 1).

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.soft_sign(1.0)
    Array(0.5, dtype=float32, weak_type=True)
    """
    made = array_operand("soft_sign", x)
    if not _is_floating(made):
        return made / (tnp.abs(made) + 1)
    # Far out by the inverse, which is 0 at infinity and has derivatives whose squares do not overflow.
    large = tnp.abs(made) > 1
    far = 1 / (tnp.sign(made) + 1 / tnp.where(large, made, 1))
    near = tnp.where(large, 0, made)
    return tnp.where(large, tnp.where(made == -np.inf, -1, far), near / (tnp.abs(near) + 1))


# --- x times a gate ---


def silu(x: ArrayLike) -> Array:
    """x · sigmoid(x), also called swish.

    Args:
        x: an array or number, floating or complex.

    Returns:
        An array of the shape and dtype of `x`.

    Raises:
        TypeError: for integers.

    >>> import tangrad
    >>> tangrad.nn.silu(1.0)
    Array(0.7310586, dtype=float32, weak_type=True)
    """
    made = x if _is_floating(x) else array_operand("silu", x)
    return silu_p.bind(made) if _is_floating(made) else lax.mul(made, lax.logistic(made))


swish = silu


@as_one()
def hard_silu(x: ArrayLike) -> Array:
    """x · hard_sigmoid(x), also called hard_swish.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.hard_silu(1.0)
    Array(0.6666667, dtype=float32, weak_type=True)
    """
    made = array_operand("hard_silu", x)
    inner = tnp.where(made <= -3.0, -3.0, tnp.where(made >= 3.0, 3.0, made))
    return tnp.where(made >= 3.0, made, inner * ((inner + 3.0) / 6.0))


hard_swish = hard_silu


def mish(x: ArrayLike) -> Array:
    """x · tanh(softplus(x)).

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    Source: D. Misra, Mish: a self regularized non-monotonic activation function, 2019.

    >>> import tangrad
    >>> tangrad.nn.mish(1.0)
    Array(0.8650984, dtype=float32, weak_type=True)
    """
    made = array_operand("mish", x)
    return mish_p.bind(made) if _is_floating(made) else made * tnp.tanh(softplus(made))


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """x · Φ(x), where Φ is the distribution function of the normal distribution.

    Args:
        x: an array or number.
        approximate: whether Φ is approximated by a tanh.

    Returns:
        An array of the shape of `x`, not weakly typed; integers become floats.

    Source: Hendrycks and Gimpel, Gaussian error linear units, 2016.

    >>> import tangrad
    >>> tangrad.nn.gelu(1.0)
    Array(0.841192, dtype=float32)
    """
    made = strong(promote_inexact("gelu", x)[0])
    if _is_floating(made):
        return (gelu_tanh_p if approximate else gelu_p).bind(made)
    if not approximate:
        raise TypeError(f"gelu: complex numbers have an approximation by a tanh only, got {made.aval.str_short()}")
    return made * (0.5 * (1.0 + tnp.tanh(math.sqrt(2 / math.pi) * (made + 0.044715 * (made**3)))))


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """The first half along an axis, times the sigmoid of the second.

    Args:
        x: a floating array.
        axis: the axis, of even size.

    Returns:
        An array with half the size along the axis.

    Raises:
        ValueError: the size is odd, or there is no such axis.

    Source: Dauphin et al., Language modeling with gated convolutional networks, 2017.

    >>> import tangrad
    >>> tangrad.nn.glu(tangrad.numpy.array([1.0, 2.0, 0.0, 0.0]))
    Array([0.5, 1. ], dtype=float32)
    """
    made = array_operand("glu", x)
    if not -made.ndim <= axis < made.ndim:
        raise ValueError(f"glu: axis {axis} is out of bounds for an array of {made.ndim} dimensions")
    if made.shape[axis] % 2:
        raise ValueError(f"glu: axis {axis} must be of even size, got shape {made.shape}")
    first, second = tnp.split(made, 2, axis)
    return first * sigmoid(second)


# --- soft corners ---


def softplus(x: ArrayLike) -> Array:
    """log(1 + exp(x)).

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.softplus(0.0)
    Array(0.6931472, dtype=float32, weak_type=True)
    """
    if _is_floating(x):
        return softplus_p.bind(x)
    return softplus_p.bind(array_operand("softplus", x)) if isinstance(x, float) else tnp.logaddexp(x, 0)


@as_one()
def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """(x + √(x² + b)) / 2.

    Args:
        x: an array or number.
        b: how round the corner is: 0 gives relu, 4 nearly softplus.

    Returns:
        An array of the shape of `x`; integers become floats.

    Source: J. T. Barron, Squareplus: a softplus-like algebraic rectifier, 2021.

    >>> import tangrad
    >>> tangrad.nn.squareplus(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    check_promotion("squareplus", x, b)
    made = array_operand("squareplus", x)
    roundness: Any = b if type(b) in (int, float) else array_operand("squareplus", b, 1)  # a number is beside any array
    if not _is_floating(made):
        return (made + tnp.sqrt(tnp.square(made) + roundness)) / 2
    size = tnp.abs(made)
    large = size > 1
    # Far out what is above relu is b / 2 / (|x| + √(x² + b)), in which neither squares overflow nor terms cancel.
    inverse = 1 / tnp.where(large, size, 1)
    above = inverse * (0.5 * roundness) / (1 + tnp.sqrt(1 + roundness * tnp.square(inverse)))
    near = tnp.where(large, 1, made)
    return tnp.where(large, tnp.where(made > 0, made, 0) + above, (near + tnp.sqrt(tnp.square(near) + roundness)) / 2)


@as_one()
def sparse_plus(x: ArrayLike) -> Array:
    """0 up to -1, x from 1 on, (x + 1)² / 4 between.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.sparse_plus(0.0)
    Array(0.25, dtype=float32, weak_type=True)
    """
    made = array_operand("sparse_plus", x)
    inner = tnp.clip(made, -1.0, 1.0)
    return tnp.where(made <= -1.0, 0.0, tnp.where(made >= 1.0, made, (inner + 1.0) ** 2 / 4))


# --- exponential for negative x ---


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """x where it is positive, `alpha` · (exp(x) - 1) elsewhere.

    Args:
        x: an array or number.
        alpha: a number, or an array.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.elu(tangrad.numpy.array([-1.0, 2.0]))
    Array([-0.63212055,  2.        ], dtype=float32)
    """
    check_promotion("elu", x, alpha)
    made = array_operand("elu", x)
    positive = made > 0
    # What is not used must not overflow: its derivative would be NaN.
    return tnp.where(positive, made, alpha * tnp.expm1(tnp.where(positive, 0.0, made)))


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """max(x, 0) + `alpha` · (exp(min(x, 0) / `alpha`) - 1).

    Args:
        x: an array or number.
        alpha: a number, or an array.

    Returns:
        An array of the shape of `x`; integers become floats.

    >>> import tangrad
    >>> tangrad.nn.celu(tangrad.numpy.array([-1.0, 2.0]), 2.0)
    Array([-0.78693867,  2.        ], dtype=float32)
    """
    check_promotion("celu", x, alpha)
    return tnp.maximum(x, 0.0) + alpha * tnp.expm1(tnp.minimum(x, 0.0) / alpha)


SELU_ALPHA = 1.6732632423543772848170429916717
SELU_SCALE = 1.0507009873554804934193349852946


def selu(x: ArrayLike) -> Array:
    """1.0507 · elu(x, 1.6733), which keeps mean 0 and variance 1 from layer to layer.

    Args:
        x: an array or number.

    Returns:
        An array of the shape of `x`; integers become floats.

    Source: Klambauer et al., Self-normalizing neural networks, 2017.

    >>> import tangrad
    >>> tangrad.nn.selu(1.0)
    Array(1.050701, dtype=float32, weak_type=True)
    """
    return SELU_SCALE * elu(x, SELU_ALPHA)


def log1mexp(x: ArrayLike) -> Array:
    """log(1 - exp(-x)) for x > 0, accurate for small and for large x.

    Args:
        x: an array or number, positive.

    Returns:
        An array of the shape of `x`; integers become floats.

    Source: M. Mächler, Accurately computing log(1 − exp(−|a|)), 2012.

    >>> import tangrad
    >>> round(float(tangrad.nn.log1mexp(1.0)), 5)
    -0.45868
    """
    return log1mexp_p.bind(*promote_inexact("log1mexp", x))
