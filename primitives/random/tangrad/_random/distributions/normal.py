"""The normal distribution and what is made of it: `normal`, `truncated_normal`, `maxwell`, `orthogonal`, …"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tangrad._random.distributions.stream import (
    Stream,
    check_fits,
    check_safe_cast,
    converted,
    draw,
    float_dtype,
    parameter,
    sample_shape,
    sampler,
)
from tangrad._random.distributions.uniform import between, random_bernoulli_p
from tangrad._random.functions import one_key, stated_shape
from tangrad._random.named_shapes import takes_named_shapes
from tangrad._random.settings import threefry_partitionable
from tangrad.core import Array, as_operand, dtypes, literal
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import (
    broadcast_in_dim,
    broadcast_shapes,
    cholesky,
    dot_general,
    erf,
    erf_inv,
    reduce_sum,
    stop_gradient,
    takes_out_sharding,
)
from tangrad.extend.numpy import diagonal, eigh, index_argument, matrix_transpose, qr, sign, svd
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, ShardingLike, Value

# --- normal ---


def _normal(stream: Stream, *, shape: Dimensions, dtype: np.dtype) -> Array:
    if dtypes.issubdtype(dtype, np.complexfloating):
        return _complex_normal(stream, shape, dtype)
    low = np.nextafter(np.array(-1, dtype), np.array(0, dtype))[()]
    unit = between(stream, shape, dtype, low, dtypes.as_dtype(dtype).type(1))
    return lax.mul(np.array(np.sqrt(2), dtype)[()], erf_inv(unit))


def _complex_normal(stream: Stream, shape: object, dtype: np.dtype) -> Array:
    """Real and imaginary part have half of the variance each."""
    real = dtypes.to_floating_dtype(dtype)
    parts = [
        lax.convert_element_type(part.draw(random_normal_p, shape=shape, dtype=real), dtype) for part in stream.split()
    ]
    one_i, root = np.array(1j, dtype)[()], np.array(np.sqrt(2), dtype)[()]
    return lax.div(lax.add(parts[0], lax.mul(parts[1], one_i)), root)


random_normal_p = sampler("random_normal", _normal, "Standard normal numbers; complex ones of variance 1.")


@takes_named_shapes
@takes_out_sharding
def normal(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Standard normal numbers, of mean 0 and variance 1.

    Args:
        key: a key.
        shape: of the result.
        dtype: a float or complex dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype.

    >>> import tangrad
    >>> tangrad.random.normal(tangrad.random.key(0), (2,))
    Array([1.6226422, 2.0252647], dtype=float32)
    """
    return random_normal_p.bind(
        one_key("random.normal", key),
        shape=stated_shape("random.normal", shape),
        dtype=float_dtype("random.normal", dtype, np.inexact),
        partitionable=threefry_partitionable.value,
    )


# --- truncated ---


def _truncated_normal(stream: Stream, lower: Value, upper: Value, *, shape: Dimensions, dtype: np.dtype) -> Value:
    root, infinity = np.array(np.sqrt(2), dtype)[()], np.array(np.inf, dtype)[()]
    unit = between(stream, shape, dtype, erf(lax.div(lower, root)), erf(lax.div(upper, root)))
    drawn = lax.mul(root, erf_inv(unit))
    # Rounding must not push a sample out of the open interval.
    least = lax.nextafter(stop_gradient(lower), infinity)
    greatest = lax.nextafter(stop_gradient(upper), -infinity)
    return lax.min(lax.max(drawn, least), greatest)


random_truncated_normal_p = sampler(
    "random_truncated_normal", _truncated_normal, "Standard normal numbers, given that they are in (lower, upper)."
)


@takes_named_shapes
@takes_out_sharding
def truncated_normal(
    key: Key,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Standard normal numbers, given that they are in the open interval (lower, upper).

    Args:
        key: a key.
        lower, upper: numbers, or arrays that broadcast together. Differentiable.
        shape: of the result, to which they broadcast; None: that of both together.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype, or bounds that do not fit.

    >>> import tangrad
    >>> tangrad.random.truncated_normal(tangrad.random.key(0), -2.0, 2.0, (2,))
    Array([1.4559592, 1.7147487], dtype=float32)
    """
    kind = float_dtype("random.truncated_normal", dtype)
    sizes = sample_shape("random.truncated_normal", shape, lower, upper)
    low = parameter("random.truncated_normal", lower, kind, sizes, "lower")
    high = parameter("random.truncated_normal", upper, kind, sizes, "upper")
    return draw("random.truncated_normal", random_truncated_normal_p, key, low, high, shape=sizes, dtype=kind)


# --- functions of normal numbers ---


def _lognormal(stream: Stream, sigma: Value, *, shape: Dimensions, dtype: DType) -> Value:
    return lax.exp(lax.mul(stream.draw(random_normal_p, shape=shape, dtype=dtype), sigma))


random_lognormal_p = sampler("random_lognormal", _lognormal, "exp of normal numbers of standard deviation sigma.")


@takes_out_sharding
def lognormal(
    key: Key,
    sigma: ArrayLike = 1.0,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Numbers whose logarithm is normal, with mean 0 and standard deviation `sigma`.

    Args:
        key: a key.
        sigma: a number, or an array of them. Differentiable.
        shape: of the result, to which `sigma` broadcasts; None: that of `sigma`.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.lognormal(tangrad.random.key(0), 0.5)
    Array(2.2508798, dtype=float32)
    """
    kind = float_dtype("random.lognormal", dtype, np.inexact)
    sizes = sample_shape("random.lognormal", shape, sigma)
    check_safe_cast("random.lognormal", kind, sigma=sigma)
    scale = parameter("random.lognormal", sigma, kind, sizes, "sigma")
    return draw("random.lognormal", random_lognormal_p, key, scale, shape=sizes, dtype=kind)


def _maxwell(stream: Stream, *, shape: Dimensions, dtype: DType) -> Array:
    parts = stream.draw(random_normal_p, shape=(*shape, 3), dtype=dtype)
    return lax.sqrt(reduce_sum(lax.mul(parts, parts), (len(parts.aval.shape) - 1,)))


random_maxwell_p = sampler("random_maxwell", _maxwell, "The length of a vector of three standard normal numbers.")


@takes_out_sharding
def maxwell(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Numbers of the Maxwell distribution: lengths of vectors of three standard normal numbers.

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.maxwell(tangrad.random.key(0))
    Array(2.6310966, dtype=float32)
    """
    kind = float_dtype("random.maxwell", dtype)
    return draw("random.maxwell", random_maxwell_p, key, shape=stated_shape("random.maxwell", shape), dtype=kind)


def _double_sided_maxwell(
    stream: Stream, loc: Value, scale: Value, *, shape: Dimensions, dtype: np.dtype, sign_dtype: DType
) -> Value:
    for_length, for_sign = stream.split()
    length = for_length.draw(random_maxwell_p, shape=shape, dtype=dtype)
    positive = for_sign.draw(random_bernoulli_p, literal(0.5, sign_dtype), shape=shape, dtype=_BOOL)
    sign = lax.sub(lax.mul(lax.convert_element_type(positive, dtype), 2), 1)
    return lax.add(lax.mul(lax.mul(sign, length), scale), loc)


_BOOL = dtypes.as_dtype(bool)
random_double_sided_maxwell_p = sampler(
    "random_double_sided_maxwell", _double_sided_maxwell, "± Maxwell's lengths, times scale, plus loc."
)


def double_sided_maxwell(
    key: Key, loc: ArrayLike, scale: ArrayLike, shape: Sequence[int] = (), dtype: DTypeLike | None = None
) -> Array:
    """Numbers of the Maxwell distribution with random signs, times `scale`, plus `loc`.

    Args:
        key: a key.
        loc, scale: numbers, or arrays that broadcast together. Differentiable.
        shape: dimensions before theirs; () is theirs once.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.

    Returns:
        An array of `dtype`, and of shape `shape` + that of `loc` and `scale` together, for an empty `shape` theirs
        twice.

    >>> import tangrad
    >>> tangrad.random.double_sided_maxwell(tangrad.random.key(0), 1.0, 2.0)
    Array(4.091442, dtype=float32)
    """
    kind = float_dtype("random.double_sided_maxwell", dtype)
    own = sample_shape("random.double_sided_maxwell", None, loc, scale)
    sizes = (canonicalize_shape(shape) or own) + own
    center = parameter("random.double_sided_maxwell", loc, kind, sizes, "loc")
    width = parameter("random.double_sided_maxwell", scale, kind, sizes, "scale")
    return draw(
        "random.double_sided_maxwell",
        random_double_sided_maxwell_p,
        key,
        center,
        width,
        shape=sizes,
        dtype=kind,
        sign_dtype=dtypes.canonicalize_dtype(float),
    )


# --- several dimensions ---


@takes_out_sharding
def multivariate_normal(
    key: Key,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Sequence[int] | None = None,
    dtype: DTypeLike | None = None,
    method: str = "cholesky",
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Normal vectors with a mean and a covariance.

    Args:
        key: a key.
        mean: an array of vectors. Differentiable.
        cov: an array of positive definite matrices (semidefinite ones, by "svd" and "eigh"). Differentiable.
        shape: of the array of vectors, to which those of `mean` and `cov` broadcast; None: that of both together.
        dtype: of the normal numbers; None: that of `mean` and `cov`.
        method: how the matrices are taken apart: "cholesky", or "svd" or "eigh", which semidefinite ones have too.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` + the length of the vectors.

    Raises:
        ValueError: for shapes that do not fit each other, or another dtype or method.

    >>> import tangrad
    >>> mean, cov = tangrad.numpy.zeros(2), tangrad.numpy.eye(2)
    >>> tangrad.random.multivariate_normal(tangrad.random.key(0), mean, cov, (3,)).shape
    (3, 2)
    """
    if method not in _FACTORS:
        raise ValueError(f"random.multivariate_normal: method must be 'cholesky', 'svd' or 'eigh', got {method!r}")
    operands = as_operand(mean), as_operand(cov)
    inexact = dtypes.to_inexact_dtype(dtypes.result_type(*operands))
    center, matrices = [converted(x, inexact) for x in operands]
    kind = inexact if dtype is None else float_dtype("random.multivariate_normal", dtype)
    if not dtypes.issubdtype(kind, np.floating):
        raise ValueError(f"random.multivariate_normal: dtype must be a float dtype, got {dtypes.dtype_name(kind)}")
    batch = _batch_shape(center.aval.shape, matrices.aval.shape)
    sizes = batch if shape is None else canonicalize_shape(shape)
    check_fits("random.multivariate_normal", sizes, batch)
    numbers = normal(key, (*sizes, center.aval.shape[-1]), kind)
    moved = lax.convert_element_type(_times(_FACTORS[method](matrices), numbers, inexact), inexact)
    return lax.add(_spread(center, moved.aval.shape), moved)


def _factor_by_svd(matrices: Value) -> Array:
    left, values, _ = svd(matrices)
    return _scaled_columns(left, values)


def _factor_by_eigh(matrices: ArrayLike) -> Array:
    values, vectors = eigh(matrices)
    return _scaled_columns(vectors, values)


def _scaled_columns(vectors: Value, variances: Array) -> Array:
    """Columns times the roots of what each contributes to the variance."""
    shape = vectors.aval.shape
    rows = broadcast_in_dim(lax.sqrt(variances), shape, (*range(len(shape) - 2), len(shape) - 1))
    return lax.mul(vectors, rows)


# How a matrix C is taken apart into F with F Fᵀ = C.
_FACTORS: dict[str, Callable[..., Value]] = {"cholesky": cholesky, "svd": _factor_by_svd, "eigh": _factor_by_eigh}


def _batch_shape(mean: tuple[object, ...], cov: tuple[object, ...]) -> tuple[int, ...]:
    if not mean or cov[-2:] != (mean[-1], mean[-1]):
        raise ValueError(
            "random.multivariate_normal takes mean of shape (..., n) and cov of shape (..., n, n), "
            f"got {mean} and {cov}"
        )
    return broadcast_shapes(mean[:-1], cov[:-2])


def _spread(x: Value, shape: Dimensions) -> Array:
    own = x.aval.shape
    return broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))


def _times(matrices: Value, vectors: Value, dtype: np.dtype) -> Array:
    """Each matrix times the vector at its place."""
    *batch, size = vectors.aval.shape
    vectors = lax.convert_element_type(vectors, dtype)
    if len(matrices.aval.shape) == 2:
        return dot_general(vectors, matrices, (((len(batch),), (1,)), ((), ())))
    whole = _spread(matrices, (*batch, size, size))
    every = tuple(range(len(batch)))
    return dot_general(whole, vectors, (((len(batch) + 1,), (len(batch),)), (every, every)))


@takes_out_sharding
def orthogonal(
    key: Key,
    n: int,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    m: int | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Orthogonal matrices, all alike (by the measure of Haar); unitary ones of a complex dtype.

    Args:
        key: a key.
        n: the number of rows.
        shape: how many matrices.
        dtype: a float or complex dtype; None: float32, or float64 with `enable_x64`.
        m: the number of columns; None: `n`. With fewer columns than rows the columns are orthogonal, else the rows.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array (*shape, n, m).

    Raises:
        TypeError: `n` or `m` is no integer.
        ValueError: for another dtype.

    Source: Mezzadri, How to generate random matrices from the classical compact groups, Notices AMS 54 (2007).

    >>> import tangrad
    >>> q = tangrad.random.orthogonal(tangrad.random.key(0), 2)
    >>> abs(tangrad.numpy.round(q @ q.T, 3))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows = index_argument("random.orthogonal", n, "n")
    columns = rows if m is None else index_argument("random.orthogonal", m, "m")
    kind = float_dtype("random.orthogonal", dtype, np.inexact)
    size = (*canonicalize_shape(shape), max(rows, columns), min(rows, columns))
    factor, triangle = qr(normal(key, size, kind))
    # The factors are unique once the diagonal is positive: without that the measure would not be uniform.
    factor = factor * sign(diagonal(triangle, axis1=-2, axis2=-1))[..., None, :]
    return matrix_transpose(factor) if rows < columns else factor
