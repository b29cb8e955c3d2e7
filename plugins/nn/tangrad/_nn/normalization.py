"""Sums of exponentials and what is divided by them: `softmax`, `log_softmax`, `logsumexp`; and `standardize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

import tangrad.numpy as tnp
from tangrad._nn.primitives import repeated, softmax_p
from tangrad.core import Array, dtypes
from tangrad.extend import lax
from tangrad.extend.lax import expand_dims, full_like, reduce_max, reduce_sum, stop_gradient
from tangrad.extend.numpy import array_operand, canonical_axes, promote_inexact, split_names
from tangrad.typing import ArrayLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["logsumexp", "softmax"], True)

Axis = int | Sequence[int] | None


def softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """exp(x) / sum(exp(x)): numbers between 0 and 1 whose sum along the axis is 1.

    Args:
        x: an array; integers become floats.
        axis: the axis, several of them, or None for all.
        where: a boolean array: which elements count. The others become 0.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: there is no such axis.

    >>> import tangrad
    >>> tangrad.nn.softmax(tangrad.numpy.array([0.0, 0.0]))
    Array([0.5, 0.5], dtype=float32)
    """
    made = array_operand("softmax", x)
    if where is not None or split_names(axis)[0]:
        return _masked_softmax(made, axis, True if where is None else where)
    axes = canonical_axes("softmax", axis, made.aval.ndim)
    return softmax_p.bind(_inexact("softmax", made), axes=axes)


def _inexact(name: str, x: Value) -> Value:
    """An array, integers as floats."""
    if x.aval.dtype == np.bool_:
        raise TypeError(f"{name} takes numbers, got {x.aval.str_short()}")
    if not dtypes.issubdtype(x.aval.dtype, np.inexact):
        x = promote_inexact(name, x)[0]
    return lax.convert_element_type(x, x.aval.dtype) if x.aval.weak_type else x  # shares are of no Python number


def _masked_softmax(x: Value, axis: Axis, where: object) -> Array:
    where = tnp.asarray(where)
    greatest = tnp.max(stop_gradient(x), axis, where=where, initial=-np.inf, keepdims=True)
    powers = tnp.exp(tnp.where(where, x, -np.inf) - greatest)
    return tnp.where(where, powers / tnp.sum(powers, axis, where=where, keepdims=True), 0)


def log_softmax(x: ArrayLike, axis: Axis = -1, where: ArrayLike | None = None) -> Array:
    """log(softmax(x)), without the zeros that softmax rounds to.

    Args:
        x: an array; integers become floats.
        axis: the axis, several of them, or None for all.
        where: a boolean array: which elements count. The others become -inf.

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: there is no such axis.

    >>> import tangrad
    >>> tangrad.nn.log_softmax(tangrad.numpy.array([0.0, 0.0]))
    Array([-0.6931472, -0.6931472], dtype=float32)
    """
    made = array_operand("log_softmax", x)
    if where is None and not split_names(axis)[0]:
        return _log_softmax(made, canonical_axes("log_softmax", axis, made.aval.ndim))
    where = tnp.asarray(True if where is None else where)
    greatest = tnp.max(stop_gradient(made), axis, where=where, initial=-np.inf, keepdims=True)
    shifted = tnp.where(where, made, -np.inf) - greatest
    result = shifted - tnp.log(tnp.sum(tnp.exp(shifted), axis, where=where, keepdims=True))
    return tnp.where(where, result, -np.inf)


def _log_softmax(x: Value, axes: tuple[int, ...]) -> Array:
    x = _inexact("log_softmax", x)
    shape = x.aval.shape
    shifted = lax.sub(x, repeated(stop_gradient(reduce_max(x, axes)), axes, shape))
    total = reduce_sum(lax.exp(shifted), axes)
    return lax.sub(shifted, repeated(lax.log(total), axes, shape))


@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: Literal[False] = False,
    where: ArrayLike | None = None,
) -> Array: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    *,
    return_sign: Literal[True],
    where: ArrayLike | None = None,
) -> tuple[Array, Array]: ...
@overload
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]: ...
def logsumexp(
    a: ArrayLike,
    axis: Axis = None,
    b: ArrayLike | None = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """log(sum(b · exp(a))), without overflow.

    Args:
        a: an array or number; integers become floats.
        axis: along which axes the sum goes; None: all.
        b: factors, which broadcast to `a`; None: 1.
        keepdims: whether the axes stay, with size 1.
        return_sign: whether to return the logarithm of the sum's absolute value, and its sign. Without it the logarithm
            of a negative sum is NaN.
        where: a boolean array: which elements count.

    Returns:
        An array, or two with `return_sign`.

    >>> import tangrad
    >>> tangrad.nn.logsumexp(tangrad.numpy.array([1000.0, 1000.0]))
    Array(1000.6932, dtype=float32)
    """
    if where is not None:
        a = tnp.where(where, a, 0)
    if b is None:
        (powers,) = promote_inexact("logsumexp", a)
    else:
        powers, b = promote_inexact("logsumexp", a, b)
        powers = tnp.where(b != 0, powers, -np.inf)
    names, positions = split_names(axis)
    axes = canonical_axes("logsumexp", positions, powers.aval.ndim)
    reduced = (*names, *axes)
    greatest = tnp.max(stop_gradient(tnp.real(powers)), reduced, where=where, initial=-np.inf, keepdims=keepdims)
    greatest = lax.select(tnp.isfinite(greatest), greatest, full_like(greatest, 0))
    shift = greatest if keepdims else expand_dims(greatest, axes)
    exponentials = lax.exp(tnp.subtract(powers, lax.convert_element_type(shift, powers.aval.dtype)))
    if b is not None:
        exponentials = tnp.multiply(exponentials, b)
    total = tnp.sum(exponentials, reduced, keepdims=keepdims, where=where)
    sign = lax.sign(total)
    if return_sign or not dtypes.issubdtype(powers.aval.dtype, np.complexfloating):
        total = tnp.abs(total)
    result = lax.add(lax.log(total), lax.convert_element_type(greatest, total.aval.dtype))
    if return_sign:
        return result, sign
    if b is not None and not dtypes.issubdtype(result.aval.dtype, np.complexfloating):
        return tnp.where(sign < 0, np.nan, result)
    return result


def logmeanexp(x: ArrayLike, axis: Axis = None, where: ArrayLike | None = None, keepdims: bool = False) -> Array:
    """log(mean(exp(x))), without overflow.

    Args:
        x: an array or number; integers become floats.
        axis: along which axes the mean goes; None: all.
        where: a boolean array: which elements count.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array.

    >>> import tangrad
    >>> tangrad.nn.logmeanexp(tangrad.numpy.array([1000.0, 1000.0]))
    Array(1000., dtype=float32)
    """
    total = logsumexp(x, axis, where=where, keepdims=keepdims)
    return total - tnp.log(_count(x, axis, where, keepdims, total.aval.dtype))


def _count(x: object, axis: Axis, where: ArrayLike | None, keepdims: bool, dtype: np.dtype) -> Array:
    made = array_operand("logmeanexp", x)
    if where is not None:
        mask = tnp.broadcast_to(where, made.shape)
        return tnp.sum(mask, axis, dtype=dtype, keepdims=keepdims)
    count: Any = 1
    for position in canonical_axes("logmeanexp", axis, made.ndim):
        count = count * made.shape[position]
    return tnp.asarray(count, dtype)


def standardize(
    x: ArrayLike,
    axis: Axis = -1,
    mean: ArrayLike | None = None,
    variance: Array | float | None = None,
    epsilon: float = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """(x - mean) / √(variance + epsilon).

    Args:
        x: an array.
        axis: along which axes mean and variance are taken; None: all.
        mean, variance: arrays that broadcast to `x`; None: those of `x`.
        epsilon: keeps the root from 0.
        where: a boolean array: which elements count for mean and variance.
        algorithm: of the variance: "fast", mean(x²) - mean², or "stable", mean((x - mean)²).

    Returns:
        An array of the shape of `x`.

    Raises:
        ValueError: for another algorithm.

    >>> import tangrad
    >>> tangrad.nn.standardize(tangrad.numpy.array([1.0, 3.0]), epsilon=0.0)
    Array([-1.,  1.], dtype=float32)
    """
    made = array_operand("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"standardize: algorithm must be 'fast' or 'stable', got {algorithm!r}")
    if mean is None:
        mean = tnp.mean(made, axis, keepdims=True, where=where)
    if variance is None and algorithm == "stable":
        variance = tnp.mean(tnp.square(tnp.subtract(made, mean)), axis, keepdims=True, where=where)
    elif variance is None:
        # A difference, which rounding can make negative.
        difference = tnp.mean(tnp.square(made), axis, keepdims=True, where=where) - tnp.square(mean)
        variance = tnp.clip(difference, 0)
    return tnp.subtract(made, mean) * lax.rsqrt(variance + epsilon)
