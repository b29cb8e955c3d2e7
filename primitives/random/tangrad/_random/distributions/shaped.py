"""Distributions with parameters, drawn from uniform, exponential or normal numbers: `pareto`, `rayleigh`, `wald`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.distributions.inversion import exponential, random_exponential_p
from tangrad._random.distributions.normal import random_normal_p
from tangrad._random.distributions.stream import (
    Stream,
    converted,
    draw,
    draw_broadcast,
    fitted,
    int_dtype,
    random_uniform_p,
    sample_shape,
    sampler,
)
from tangrad.core import Array, as_operand, dtypes
from tangrad.extend import lax
from tangrad.extend.lax import FLOATING, full_like, takes_out_sharding
from tangrad.extend.numpy import power
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, ShardingLike, Value

# --- pareto, rayleigh, weibull ---


def _pareto(stream: Stream, b: Value, *, shape: Dimensions, dtype: DType) -> Value:
    return lax.exp(lax.div(stream.draw(random_exponential_p, shape=shape, dtype=dtype), b))


random_pareto_p = sampler("random_pareto", _pareto, "Numbers of density b / x^(b + 1) for x ≥ 1.")


@takes_out_sharding
def pareto(
    key: Key,
    b: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Pareto's distribution, of density b / x^(b + 1) for x ≥ 1.

    Args:
        key: a key.
        b: positive: a number, or an array. Differentiable.
        shape: of the result, to which `b` broadcasts; None: that of `b`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.pareto(tangrad.random.key(0), 2.0)
    Array(4.3713155, dtype=float32)
    """
    return draw_broadcast("random.pareto", random_pareto_p, key, shape, dtype, b=b)


def _rayleigh(stream: Stream, scale: Value, *, shape: Dimensions, dtype: DType) -> Array:
    unit = stream.draw(random_uniform_p, shape=shape, dtype=dtype)
    return lax.mul(scale, lax.sqrt(lax.mul(lax.log(unit), -2)))


random_rayleigh_p = sampler("random_rayleigh", _rayleigh, "Numbers of density x / σ² exp(-x² / 2σ²) for x ≥ 0.")


@takes_out_sharding
def rayleigh(
    key: Key,
    scale: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Rayleigh's distribution, of density x / σ² exp(-x² / 2σ²) for x ≥ 0.

    Args:
        key: a key.
        scale: σ: a number, or an array. Differentiable.
        shape: of the result, to which `scale` broadcasts; None: that of `scale`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.rayleigh(tangrad.random.key(0), 1.0)
    Array(0.32787833, dtype=float32)
    """
    return draw_broadcast("random.rayleigh", random_rayleigh_p, key, shape, dtype, scale=scale)


def weibull_min(
    key: Key, scale: ArrayLike, concentration: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None
) -> Array:
    """Numbers of Weibull's distribution, of density ∝ x^(c - 1) exp(-(x / σ)^c) for x ≥ 0.

    Args:
        key: a key.
        scale: σ: a number, or an array. Differentiable.
        concentration: c: a number, or an array. Differentiable.
        shape: of what is drawn; with it the parameters broadcast to the shape of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.

    Returns:
        An array of `dtype`.

    >>> import tangrad
    >>> tangrad.random.weibull_min(tangrad.random.key(0), 1.0, 2.0)
    Array(1.7175937, dtype=float32)
    """
    sample = exponential(key, shape, dtype)
    exponent = _own(concentration)
    if isinstance(exponent, (int, float)) and exponent == 0:
        exponent = as_operand(float(exponent))  # 1 / 0 is infinite in arrays
    return power(sample, 1.0 / exponent) * _own(scale)


def _own(value: object) -> Any:
    return value if isinstance(value, (int, float)) else as_operand(value)


# --- wald, geometric, triangular ---


def _wald(stream: Stream, mean: Value, *, shape: Dimensions, dtype: DType) -> Value:
    """Michael, Schucany and Haas, 1976: one root of a quadratic equation, or the other."""
    for_normal, for_choice = stream.split()
    square = lax.integer_pow(for_normal.draw(random_normal_p, shape=shape, dtype=dtype), 2)
    choice = for_choice.draw(random_uniform_p, shape=shape, dtype=dtype)
    mean_square = lax.integer_pow(mean, 2)
    root = lax.sqrt(
        lax.add(
            lax.mul(lax.mul(mean, 4.0), square),
            lax.mul(mean_square, lax.integer_pow(square, 2)),
        )
    )
    middle = lax.add(mean, lax.div(lax.mul(mean_square, square), 2.0))
    x = lax.sub(middle, lax.mul(lax.div(mean, 2.0), root))
    return lax.select(lax.le(choice, lax.div(mean, lax.add(mean, x))), x, lax.div(mean_square, x))


random_wald_p = sampler("random_wald", _wald, "Wald's (inverse Gaussian) numbers of mean μ and scale 1.")


@takes_out_sharding
def wald(
    key: Key,
    mean: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Wald's distribution (the inverse Gaussian), of density (2π x³)^(-1/2) exp(-(x - μ)² / (2 μ² x)).

    Args:
        key: a key.
        mean: μ: a number, or an array. Differentiable.
        shape: of the result, to which `mean` broadcasts; None: that of `mean`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.wald(tangrad.random.key(0), 1.0)
    Array(0.3805977, dtype=float32)
    """
    return draw_broadcast("random.wald", random_wald_p, key, shape, dtype, mean=mean)


def _geometric(stream: Stream, p: Value, *, shape: Dimensions, dtype: np.dtype) -> Array:
    unit = stream.draw(random_uniform_p, shape=shape, dtype=p.aval.dtype)
    unit = lax.select(lax.eq(unit, 0), full_like(unit, 1), unit)  # the logarithm must be finite
    trials = lax.floor(lax.div(lax.log(unit), lax.log1p(lax.neg(p))))
    return lax.convert_element_type(lax.add(trials, 1), dtype)


random_geometric_p = sampler(
    "random_geometric", _geometric, "The number of trials until the first success.", accepts=FLOATING
)


@takes_out_sharding
def geometric(
    key: Key,
    p: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of trials until the first success: k with probability p (1 - p)^(k - 1).

    Args:
        key: a key.
        p: the probability of success: a number, or an array.
        shape: of the result, to which `p` broadcasts; None: that of `p`.
        dtype: an integer dtype; None: int32, or int64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype.

    >>> import tangrad
    >>> tangrad.random.geometric(tangrad.random.key(0), 0.25)
    Array(1, dtype=int32)
    """
    kind = int_dtype("random.geometric", dtype)
    sizes = sample_shape("random.geometric", shape, p)
    operand = as_operand(p)
    inexact = dtypes.to_inexact_dtype(operand.aval.dtype)
    success = fitted("random.geometric", converted(operand, inexact), sizes)
    return draw("random.geometric", random_geometric_p, key, success, shape=sizes, dtype=kind)


def _triangular(stream: Stream, left: Value, mode: Value, right: Value, *, shape: Dimensions, dtype: DType) -> Value:
    width = lax.sub(right, left)
    rising = lax.sub(mode, left)
    unit = stream.draw(random_uniform_p, shape=shape, dtype=dtype)
    low = lax.add(left, lax.sqrt(lax.mul(lax.mul(unit, width), rising)))
    falling = lax.mul(lax.mul(lax.sub(1.0, unit), width), lax.sub(right, mode))
    high = lax.sub(right, lax.sqrt(falling))
    return lax.select(lax.lt(unit, lax.div(rising, width)), low, high)


random_triangular_p = sampler(
    "random_triangular", _triangular, "Numbers whose density rises from left to mode, and falls to right."
)


@takes_out_sharding
def triangular(
    key: Key,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers whose density rises in a line from `left` to `mode`, and falls in a line to `right`.

    Args:
        key: a key.
        left, mode, right: numbers, or arrays that broadcast together, with left ≤ mode ≤ right. Differentiable.
        shape: of the result, to which they broadcast; None: that of all together.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.triangular(tangrad.random.key(0), 0.0, 1.0, 2.0)
    Array(1.6764787, dtype=float32)
    """
    return draw_broadcast(
        "random.triangular",
        random_triangular_p,
        key,
        shape,
        dtype,
        left=left,
        mode=mode,
        right=right,
    )
