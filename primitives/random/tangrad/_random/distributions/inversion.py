"""Distributions drawn by the inverse of their distribution function: `exponential`, `gumbel`, `laplace`, `cauchy`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.distributions.stream import Stream, draw, float_dtype, random_uniform_p, sampler
from tangrad._random.distributions.uniform import between
from tangrad._random.functions import stated_shape
from tangrad._random.named_shapes import takes_named_shapes
from tangrad.core import Array, Primitive, dtypes
from tangrad.extend import lax
from tangrad.extend.lax import index_in_dim, takes_out_sharding
from tangrad.typing import Dimensions, DType, DTypeLike, Key, ShardingLike, Value


def _number(value: float, dtype: Any) -> np.ndarray:
    return np.array(value, dtype)[()]


def _sample(
    name: str, primitive: Primitive, key: Value, shape: Sequence[int], dtype: DTypeLike | None, **params: str
) -> Array:
    """What the functions below have in common."""
    kind = float_dtype(name, dtype)
    return draw(name, primitive, key, shape=stated_shape(name, shape), dtype=kind, **params)


# --- exponential ---


def _exponential(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    # 1 - u is never 0.
    return lax.neg(lax.log1p(lax.neg(stream.draw(random_uniform_p, shape=shape, dtype=dtype))))


random_exponential_p = sampler("random_exponential", _exponential, "Numbers of density exp(-x).")


@takes_named_shapes
@takes_out_sharding
def exponential(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Exponentially distributed numbers, of density exp(-x) for x ≥ 0.

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype.

    >>> import tangrad
    >>> tangrad.random.exponential(tangrad.random.key(0))
    Array(2.950128, dtype=float32)
    """
    return _sample("random.exponential", random_exponential_p, key, shape, dtype)


# --- gumbel ---


def _gumbel(stream: Stream, *, shape: Dimensions, dtype: DType, mode: str) -> Array:
    information = dtypes.finfo(dtype)
    if mode == "low":
        unit = between(stream, shape, dtype, _number(information.tiny, dtype), _number(1, dtype))
        return lax.neg(lax.log(lax.neg(lax.log(unit))))
    if mode == "highest" and dtype == np.float32:
        return _exact_gumbel(stream, shape)
    both = stream.draw(random_uniform_p, shape=(2, *shape), dtype=dtype)
    high, low = _halves(both)
    # A sample in the lower half has room for as many bits again.
    fine = lax.add(lax.add(high, lax.mul(low, 2.0 ** -int(information.nmant))), float(information.tiny))
    unit = lax.select(lax.ge(high, 0.5), high, fine)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(unit)))))


def _halves(both: Value) -> tuple[Array, Array]:
    first, second = [index_in_dim(both, i, 0, keepdims=False) for i in range(2)]
    return first, second


def _exact_gumbel(stream: Stream, shape: tuple[int, ...]) -> Array:
    """From 64 bits as a fraction: the distance to the nearer end of (0, 1), as a float as exact as floats are."""
    bits = stream.bits((2, *shape))
    high, low = _halves(bits)
    lower_half = lax.lt(high, np.uint32(1 << 31))
    # The two's complement of the 64 bits: one minus the fraction.
    flipped_high, flipped_low = lax.bitwise_not(high), lax.bitwise_not(low)
    carry = lax.convert_element_type(lax.eq(flipped_low, np.uint32(0xFFFFFFFF)), np.uint32)
    flipped_high, flipped_low = lax.add(flipped_high, carry), lax.add(flipped_low, np.uint32(1))
    x = _fraction(lax.select(lower_half, high, flipped_high), lax.select(lower_half, low, flipped_low))
    near_0 = lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(x)))))
    near_1 = lax.neg(lax.log(lax.neg(lax.log(x))))
    return lax.select(lower_half, near_0, near_1)


def _fraction(high: Value, low: Value) -> Array:
    """The float32 below (high · 2³² + low) / 2⁶⁴, for numbers in (0, 1): its leading 24 bits and where they begin."""
    high_zeros, low_zeros = lax.clz(high), lax.clz(low)
    empty = lax.eq(high_zeros, np.uint32(32))
    rest = lax.select(
        empty,
        lax.shift_left(low, low_zeros),
        lax.shift_right_logical(low, lax.sub(np.uint32(32), high_zeros)),
    )
    leading = lax.bitwise_or(lax.shift_left(high, high_zeros), rest)
    mantissa = lax.bitwise_and(lax.shift_right_logical(leading, np.uint32(8)), np.uint32((1 << 23) - 1))
    zeros = lax.select(empty, lax.add(low_zeros, np.uint32(32)), high_zeros)
    exponent = lax.shift_left(lax.sub(np.uint32(126), zeros), np.uint32(23))
    exponent = lax.bitwise_and(exponent, np.uint32((1 << 30) - (1 << 22)))
    return lax.bitcast_convert_type(lax.bitwise_or(exponent, mantissa), np.float32)


random_gumbel_p = sampler("random_gumbel", _gumbel, "Numbers of density exp(-(x + exp(-x))).")
MODES = ("highest", "high", "low")


@takes_named_shapes
@takes_out_sharding
def gumbel(
    key: Key,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Gumbel's distribution, of density exp(-(x + exp(-x))).

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        mode: "low" (the default: in float32 no sample is beyond 16), "high" (beyond 32), or "highest"; both take twice
            the bits.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype or mode.

    >>> import tangrad
    >>> tangrad.random.gumbel(tangrad.random.key(0))
    Array(2.9233725, dtype=float32)
    """
    return _sample("random.gumbel", random_gumbel_p, key, shape, dtype, mode=gumbel_mode(mode))


def gumbel_mode(mode: str | None) -> str:
    """A valid mode; "low" for None."""
    if mode is None:
        return "low"
    if mode not in MODES:
        raise ValueError(f"random.gumbel: mode must be one of {MODES}, got {mode!r}")
    return mode


# --- on both sides of 0 ---


def _laplace(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    low = _number(-1.0 + float(dtypes.finfo(dtype).epsneg), dtype)
    unit = between(stream, shape, dtype, low, _number(1, dtype))
    return lax.mul(lax.sign(unit), lax.log1p(lax.neg(lax.abs(unit))))


random_laplace_p = sampler("random_laplace", _laplace, "Numbers of density exp(-|x|) / 2.")


@takes_named_shapes
@takes_out_sharding
def laplace(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Numbers of Laplace's distribution, of density exp(-|x|) / 2.

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.laplace(tangrad.random.key(0))
    Array(-2.2569816, dtype=float32)
    """
    return _sample("random.laplace", random_laplace_p, key, shape, dtype)


def _logistic(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    unit = between(stream, shape, dtype, _number(dtypes.finfo(dtype).tiny, dtype), _number(1, dtype))
    return lax.sub(lax.log(unit), lax.log1p(lax.neg(unit)))


random_logistic_p = sampler("random_logistic", _logistic, "Numbers of density exp(-x) / (1 + exp(-x))².")


@takes_named_shapes
@takes_out_sharding
def logistic(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Numbers of the logistic distribution, of density exp(-x) / (1 + exp(-x))².

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.logistic(tangrad.random.key(0))
    Array(2.896376, dtype=float32)
    """
    return _sample("random.logistic", random_logistic_p, key, shape, dtype)


def _cauchy(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    unit = between(stream, shape, dtype, _number(dtypes.finfo(dtype).eps, dtype), _number(1, dtype))
    return lax.tan(lax.mul(_number(np.pi, dtype), lax.sub(unit, 0.5)))


random_cauchy_p = sampler("random_cauchy", _cauchy, "Numbers of density 1 / (π (1 + x²)).")


@takes_named_shapes
@takes_out_sharding
def cauchy(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Numbers of Cauchy's distribution, of density 1 / (π (1 + x²)).

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.cauchy(tangrad.random.key(0))
    Array(6.0274944, dtype=float32)
    """
    return _sample("random.cauchy", random_cauchy_p, key, shape, dtype)
