"""The gamma distribution and what is made of it: `gamma`, `loggamma`, `beta`, `dirichlet`, `chisquare`, `t`, …"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.ciphers import check_keys, random
from tangrad._random.distributions.cubes import accepted_cubes
from tangrad._random.distributions.inversion import random_exponential_p
from tangrad._random.distributions.normal import random_normal_p
from tangrad._random.distributions.stream import (
    Stream,
    check_fits,
    converted,
    draw,
    draw_broadcast,
    fitted,
    float_dtype,
    parameter,
    random_uniform_p,
    sample_shape,
    sampler,
)
from tangrad._random.distributions.uniform import random_bernoulli_p
from tangrad._random.primitives import random_split_p
from tangrad.core import Array, ShapedArray, as_operand, dtypes, literal
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import (
    FLOATING,
    broadcast_in_dim,
    broadcast_in_dim_p,
    check_dtype,
    full,
    reduce_max,
    reduce_sum,
    reshape,
    stop_gradient,
    takes_out_sharding,
)
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, ShardingLike, Value

# --- the sampler ---


def _gamma(keys: Value, a: Value, *, log_space: bool, partitionable: bool) -> Value:
    """Marsaglia and Tsang, A simple method for generating gamma variables, 2000; each element has a key of its own."""
    shape, lead = a.aval.shape, math.prod(keys.aval.shape)
    size = math.prod(shape)
    own = random_split_p.bind(reshape(keys, (lead,)), shape=(size // max(lead, 1),), partitionable=partitionable)
    flat = reshape(a, (size,))
    drawn = _gamma_of_each(Stream(reshape(own, (size,)), partitionable), flat, log_space)
    return reshape(drawn, shape)


def _gamma_of_each(stream: Stream, a: Value, log_space: bool) -> Value:
    """Below 1 a sample of a + 1 is multiplied by U^(1/a): in log space, where that would underflow."""
    dtype, shape = a.aval.dtype, a.aval.shape
    small = lax.lt(a, 1)
    boosted = lax.select(small, lax.add(a, 1), a)
    d = lax.sub(boosted, 1 / 3)
    c = lax.div(np.array(1 / 3, dtype)[()], lax.sqrt(d))
    stream, for_boost = stream.split()
    cube = accepted_cubes(stream, c, d)
    if log_space:
        log_uniform = lax.neg(for_boost.draw(random_exponential_p, shape=(), dtype=dtype))
        boost = lax.mul(log_uniform, lax.div(np.array(1, dtype)[()], a))
        boost = lax.select(lax.bitwise_and(small, lax.ne(log_uniform, 0)), boost, full(shape, 0, dtype))
        return lax.add(lax.add(lax.log(d), lax.log(cube)), boost)
    uniform = lax.sub(np.array(1, dtype)[()], for_boost.draw(random_uniform_p, shape=(), dtype=dtype))
    boost = lax.pow(uniform, lax.div(np.array(1, dtype)[()], a))
    return lax.mul(lax.mul(d, cube), lax.select(small, boost, full(shape, 1, dtype)))


@random.primitive(name="random_gamma", weak_type="never", decompose=_gamma)
def random_gamma_p(keys: ShapedArray, a: ShapedArray, *, log_space: bool, partitionable: bool) -> ShapedArray:
    """Gamma distributed numbers, or their logarithms; keys for the leading dimensions of the parameter."""
    check_keys("random_gamma", keys)
    check_dtype("random_gamma", a, (FLOATING,), "a")
    if a.shape[: len(keys.shape)] != keys.shape:
        raise ValueError(f"random_gamma: keys of shape {keys.shape} do not lead those of a parameter {a.str_short()}")
    return ShapedArray(a.shape, a.dtype)


# --- gamma and loggamma ---


@takes_out_sharding
def gamma(
    key: Key,
    a: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of the gamma distribution, of density ∝ x^(a - 1) exp(-x) for x ≥ 0.

    Args:
        key: a key.
        a: positive: a number, or an array. Differentiable.
        shape: of the result, to which `a` broadcasts; None: that of `a`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype, or a shape that `a` does not fit.

    >>> import tangrad
    >>> tangrad.random.gamma(tangrad.random.key(0), 2.0, (3,)).shape
    (3,)
    """
    return _gamma_sample("random.gamma", key, a, shape, dtype, False)


@takes_out_sharding
def loggamma(
    key: Key,
    a: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """The logarithms of the numbers that `gamma` draws: they do not underflow where `a` is small.

    Args:
        key: a key.
        a: positive: a number, or an array. Differentiable.
        shape: of the result, to which `a` broadcasts; None: that of `a`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype, or a shape that `a` does not fit.

    >>> import tangrad
    >>> tangrad.random.loggamma(tangrad.random.key(0), 1e-3, (3,)).shape
    (3,)
    """
    return _gamma_sample("random.loggamma", key, a, shape, dtype, True)


def _gamma_sample(
    name: str, key: Value, a: ArrayLike, shape: object, dtype: DTypeLike | None, log_space: bool
) -> Array:
    kind = float_dtype(name, dtype)
    sizes = sample_shape(name, shape, a)
    whole = _filled(parameter(name, a, kind, sizes, "a"), sizes)
    return draw(name, random_gamma_p, key, whole, log_space=log_space)


def _filled(x: Value, shape: tuple[int, ...]) -> Value:
    """An operand of rank 0 or of `shape` as one of `shape`."""
    return x if x.aval.shape == shape else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=())


# --- ratios of gamma numbers ---


def _drawn(stream: Stream, a: Value, shape: tuple[int, ...], log_space: bool) -> Value:
    return stream.draw(random_gamma_p, _filled(a, shape), log_space=log_space)


def _beta(stream: Stream, a: Value, b: Value, *, shape: Dimensions, dtype: DType) -> Value:
    first, second = [_drawn(own, x, shape, True) for own, x in zip(stream.split(), (a, b))]
    # The ratio of the greater one to both cannot overflow.
    greatest = lax.max(first, second)
    first, second = lax.exp(lax.sub(first, greatest)), lax.exp(lax.sub(second, greatest))
    return lax.div(first, lax.add(first, second))


random_beta_p = sampler("random_beta", _beta, "Numbers of density ∝ x^(a - 1) (1 - x)^(b - 1).")


@takes_out_sharding
def beta(
    key: Key,
    a: ArrayLike,
    b: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of the beta distribution, of density ∝ x^(a - 1) (1 - x)^(b - 1) between 0 and 1.

    Args:
        key: a key.
        a, b: positive: numbers, or arrays that broadcast together. Differentiable.
        shape: of the result, to which they broadcast; None: that of both together.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.beta(tangrad.random.key(0), 2.0, 3.0, (3,)).shape
    (3,)
    """
    return draw_broadcast("random.beta", random_beta_p, key, shape, dtype, a=a, b=b)


def _dirichlet(stream: Stream, alpha: Value, *, shape: Dimensions, dtype: DType) -> Value:
    logs = _drawn(stream, alpha, shape, True)
    axis, every = (len(shape) - 1,), tuple(range(len(shape) - 1))
    greatest = broadcast_in_dim(reduce_max(logs, axis), shape, every)
    powers = lax.exp(lax.sub(logs, stop_gradient(greatest)))
    return lax.div(powers, broadcast_in_dim(reduce_sum(powers, axis), shape, every))


random_dirichlet_p = sampler("random_dirichlet", _dirichlet, "Positive numbers whose sum along the last axis is 1.")


@takes_out_sharding
def dirichlet(
    key: Key,
    alpha: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Vectors of Dirichlet's distribution: positive numbers whose sum is 1, of density ∝ ∏ xᵢ^(αᵢ - 1).

    Args:
        key: a key.
        alpha: positive: an array of vectors. Differentiable.
        shape: of the array of vectors, to which the shape of `alpha` without its last dimension broadcasts; None: that.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `dtype`, and of `shape` + the length of the vectors.

    Raises:
        ValueError: `alpha` has no dimension, or does not fit `shape`.

    >>> import tangrad
    >>> tangrad.random.dirichlet(tangrad.random.key(0), tangrad.numpy.ones(4), (3,)).shape
    (3, 4)
    """
    kind = float_dtype("random.dirichlet", dtype)
    operand = converted(as_operand(alpha), kind)
    if not operand.aval.shape:
        raise ValueError("random.dirichlet: alpha must have a dimension at least, got a scalar")
    *batch, length = operand.aval.shape
    sizes = tuple(batch) if shape is None else canonicalize_shape(shape)
    check_fits("random.dirichlet", sizes, tuple(batch))
    whole = fitted("random.dirichlet", operand, (*sizes, length))
    return draw("random.dirichlet", random_dirichlet_p, key, whole, shape=(*sizes, length), dtype=kind)


def _chisquare(stream: Stream, df: Value, *, shape: Dimensions, dtype: DType) -> Value:
    return lax.mul(lax.exp(_drawn(stream, lax.div(df, 2.0), shape, True)), 2.0)


random_chisquare_p = sampler("random_chisquare", _chisquare, "Sums of the squares of df normal numbers.")


@takes_out_sharding
def chisquare(
    key: Key,
    df: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of the χ² distribution: sums of the squares of `df` normal numbers.

    Args:
        key: a key.
        df: the degrees of freedom: a positive number, or an array. Differentiable.
        shape: of the result, to which `df` broadcasts; None: that of `df`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.chisquare(tangrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return draw_broadcast("random.chisquare", random_chisquare_p, key, shape, dtype, df=df)


def _f(stream: Stream, dfnum: Value, dfden: Value, *, shape: Dimensions, dtype: DType) -> Value:
    for_denominator, for_numerator = stream.split()
    numerator = lax.div(_chisquare(for_numerator, dfnum, shape=shape, dtype=dtype), dfnum)
    return lax.div(numerator, lax.div(_chisquare(for_denominator, dfden, shape=shape, dtype=dtype), dfden))


random_f_p = sampler("random_f", _f, "Ratios of two χ² numbers, each divided by its degrees of freedom.")


@takes_out_sharding
def f(
    key: Key,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of the F distribution: ratios of two χ² numbers, each divided by its degrees of freedom.

    Args:
        key: a key.
        dfnum, dfden: the degrees of freedom: numbers, or arrays that broadcast together. Differentiable.
        shape: of the result, to which they broadcast; None: that of both together.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.f(tangrad.random.key(0), 3.0, 5.0, (3,)).shape
    (3,)
    """
    return draw_broadcast("random.f", random_f_p, key, shape, dtype, dfnum=dfnum, dfden=dfden)


def _t(stream: Stream, df: Value, *, shape: Dimensions, dtype: DType) -> Value:
    for_normal, for_gamma = stream.split()
    # So many degrees of freedom are as good as infinitely many, which the gamma distribution has no number for.
    half = lax.div(lax.min(df, min(1e16, 0.5 * float(dtypes.finfo(dtype).max))), 2.0)
    numbers = for_normal.draw(random_normal_p, shape=shape, dtype=dtype)
    return lax.mul(numbers, lax.sqrt(lax.div(half, _drawn(for_gamma, half, shape, False))))


random_t_p = sampler("random_t", _t, "Student's numbers with df degrees of freedom.")


@takes_out_sharding
def t(
    key: Key,
    df: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of Student's t distribution.

    Args:
        key: a key.
        df: the degrees of freedom: a positive number, or an array. Differentiable.
        shape: of the result, to which `df` broadcasts; None: that of `df`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.t(tangrad.random.key(0), 3.0, (3,)).shape
    (3,)
    """
    return draw_broadcast("random.t", random_t_p, key, shape, dtype, df=df)


# --- balls ---


def _generalized_normal(stream: Stream, p: Value, *, shape: Dimensions, dtype: Any, sign_dtype: DType) -> Array:
    """`sign_dtype`: of the uniform numbers that decide the signs. It hangs on `enable_x64`, so it is a parameter."""
    for_size, for_sign = stream.split()
    power = lax.div(1.0, p)
    size = lax.pow(_drawn(for_size, power, shape, False), power)
    positive = for_sign.draw(random_bernoulli_p, literal(0.5, sign_dtype), shape=shape, dtype=np.dtype(bool))
    return lax.mul(lax.sub(lax.mul(lax.convert_element_type(positive, dtype), 2), 1), size)


def _ball(stream: Stream, p: Value, *, shape: Dimensions, dtype: DType, sign_dtype: DType) -> Value:
    for_point, for_radius = stream.split()
    point = _generalized_normal(for_point, p, shape=shape, dtype=dtype, sign_dtype=sign_dtype)
    rank = len(shape) - 1
    total = reduce_sum(lax.pow(lax.abs(point), p), (rank,))
    total = lax.add(total, for_radius.draw(random_exponential_p, shape=shape[:-1], dtype=dtype))
    return lax.div(point, broadcast_in_dim(lax.pow(total, lax.div(1.0, p)), shape, range(rank)))


random_generalized_normal_p = sampler(
    "random_generalized_normal", _generalized_normal, "Numbers of density ∝ exp(-|x|^p)."
)
random_ball_p = sampler("random_ball", _ball, "Points in the unit ball of the p-norm, along the last axis.")


@takes_out_sharding
def generalized_normal(
    key: Key,
    p: ArrayLike,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers of density ∝ exp(-|x|^p).

    Args:
        key: a key.
        p: a positive number. Differentiable.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.generalized_normal(tangrad.random.key(0), 1.5, (3,)).shape
    (3,)
    """
    kind = float_dtype("random.generalized_normal", dtype)
    sizes = canonicalize_shape(shape)
    exponent = parameter("random.generalized_normal", p, kind, (), "p")
    return draw(
        "random.generalized_normal",
        random_generalized_normal_p,
        key,
        exponent,
        shape=sizes,
        dtype=kind,
        sign_dtype=dtypes.canonicalize_dtype(float),
    )


@takes_out_sharding
def ball(
    key: Key,
    d: int,
    p: ArrayLike = 2,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Points uniformly distributed in a ball of radius 1: vectors whose p-norm is at most 1.

    Args:
        key: a key.
        d: the length of the vectors.
        p: which norm: a positive number. Differentiable.
        shape: of the array of vectors.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `dtype`, and of `shape` + (d,).

    Source: Barthe et al., A probabilistic approach to the geometry of the lₚⁿ-ball, 2005.

    >>> import tangrad
    >>> tangrad.random.ball(tangrad.random.key(0), 3, shape=(2,)).shape
    (2, 3)
    """
    kind = float_dtype("random.ball", dtype)
    try:
        length = operator.index(d)
    except TypeError:
        raise TypeError(f"random.ball: d must be an integer, got {d!r}") from None
    sizes = (*canonicalize_shape(shape), length)
    norm = parameter("random.ball", p, kind, (), "p")
    sign_dtype = dtypes.canonicalize_dtype(float)
    return draw("random.ball", random_ball_p, key, norm, shape=sizes, dtype=kind, sign_dtype=sign_dtype)
