"""Statistics of samples: `tangrad.numpy.histogram`, `histogram2d`, `cov`, `corrcoef`, …"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import zeros
from tangrad._numpy.fusing import as_one
from tangrad._numpy.joining import concatenate, stack
from tangrad._numpy.numerical import diff
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    check_array_like,
    index_argument,
    is_array_like,
    is_complex,
    promote_inexact,
    shape_of,
    user_dtype,
)
from tangrad._numpy.products import dot
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.rounding import conjugate, real
from tangrad._numpy.searching import bincount, ravel_multi_index, searchsorted
from tangrad._numpy.selection import clip, where
from tangrad._numpy.sequences import linspace
from tangrad._numpy.settings import check_dtypes, check_promotion
from tangrad._numpy.shapes import atleast_2d, expand_dims, ravel, reshaped, squeeze
from tangrad._numpy.statistics import average
from tangrad.core import Array, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import convert_element_type_p
from tangrad.typing import ArrayLike, DType, DTypeLike, Value

# --- Counts of values in intervals: `tangrad.numpy.histogram`, `histogram2d`, `histogramdd` ---


# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["histogram", "histogram2d", "histogramdd", "histogram_bin_edges"], True)


def histogram_bin_edges(
    a: ArrayLike,
    bins: int | str | ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Find the boundaries of the intervals of a histogram.

    Args:
        a: the values.
        bins: the number of intervals, of equal length; or the boundaries.
        range: the least and the greatest boundary; None: of the values.
        weights: ignored.

    Returns:
        An array of the boundaries, one more than intervals.

    Raises:
        TypeError: for what is no array.
        NotImplementedError: for rules given by name.
        ValueError: for a negative number of intervals.

    >>> import tangrad
    >>> tangrad.numpy.histogram_bin_edges(tangrad.numpy.array([0.0, 4.0]), bins=2)
    Array([0., 2., 4.], dtype=float32)
    """
    del weights
    if isinstance(bins, str):
        raise NotImplementedError(
            f"histogram_bin_edges: the rule {bins!r} is not supported; give a number or boundaries"
        )
    check_array_like("histogram_bin_edges", a)
    dtype = dtypes.to_inexact_dtype(dtypes.result_type(a))
    if isinstance(bins, (list, tuple)) or len(shape_of(bins)) == 1:
        return asarray(bins, dtype=dtype)
    count = index_argument("histogram_bin_edges", bins, "bins")
    if not is_symbolic(count) and count < 0:
        raise ValueError(f"histogram_bin_edges: bins must not be negative, got {count}")
    return _even_edges(a, asarray(range, dtype=dtype) if isinstance(range, (list, tuple)) else range, count, dtype)


@as_one("count", "dtype", name="histogram_bin_edges")
def _even_edges(a: ArrayLike, range: ArrayLike | Sequence[ArrayLike] | None, count: int, dtype: np.dtype) -> Array:
    return linspace(*_limits(a, range, dtype), count + 1, dtype=dtype)


def _limits(a: ArrayLike, given: ArrayLike | Sequence[ArrayLike] | None, dtype: np.dtype) -> tuple[Array, Array]:
    """The least and the greatest boundary; of values that are all equal half a unit on either side."""
    values = array_operand("histogram", a).astype(dtype)
    if given is None:
        least, greatest = (values.min(), values.max()) if values.aval.size else (asarray(0.0), asarray(1.0))
    else:
        limits = asarray(given, dtype=dtype)
        if limits.aval.shape != (2,):
            raise ValueError(f"histogram: range must be a pair, got shape {limits.aval.shape}")
        least, greatest = limits[0], limits[1]
    same = least == greatest
    return where(same, least - 0.5, least), where(same, greatest + 0.5, greatest)


def _interval_numbers(values: Value, edges: Value) -> Value:
    """From 1; 0 and beyond the last for values outside. The last interval holds its right boundary."""
    numbers = searchsorted(edges, values, side="right")
    return where(values == edges[-1], edges.aval.shape[0] - 1, numbers)


def histogram(
    a: ArrayLike,
    bins: int | str | ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Count values in intervals.

    Args:
        a: the values.
        bins: the number of intervals, of equal length; or the boundaries.
        range: the least and the greatest boundary; None: of the values.
        weights: what each value adds; None: 1.
        density: whether to scale the counts so that the histogram integrates to 1.

    Returns:
        The counts, of floats, and the boundaries.

    Raises:
        TypeError: for what is no array.
        ValueError: for weights of another shape.

    >>> import tangrad
    >>> tangrad.numpy.histogram(tangrad.numpy.array([0.0, 1.0, 1.0, 4.0]), bins=2)[0]
    Array([3., 1.], dtype=float32)
    """
    check_array_like("histogram", a)
    (values,) = promote_inexact("histogram", a)
    values = ravel(array_operand("histogram", values))
    added: ArrayLike = 1
    if weights is not None:
        check_array_like("histogram", weights)
        if shape_of(weights) != shape_of(a):
            raise ValueError(f"histogram: weights must have the shape of a, {shape_of(a)}, got {shape_of(weights)}")
        values, added = promote_inexact("histogram", values, ravel(weights))
    edges = histogram_bin_edges(a, bins, range)
    return _sums(values, edges, added, bool(density)), edges


@as_one("density", name="histogram")
def _sums(values: Value, edges: Value, added: ArrayLike, density: bool) -> Array:
    """What values add in each interval; with `density` scaled."""
    sums = at(zeros(edges.aval.shape[0], values.aval.dtype))[_interval_numbers(values, edges)].add(added)[1:]
    return sums / diff(edges) / total(sums) if density else sums


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: int | ArrayLike | Sequence[int | ArrayLike | Sequence[ArrayLike]] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Count pairs of values in rectangles.

    Args:
        x, y: arrays of one dimension.
        bins: the number of intervals, or the boundaries, of both; or a pair of these.
        range: a pair of limits for each; None: of the values.
        weights: what each pair adds; None: 1.
        density: whether to scale the counts so that the histogram integrates to 1.

    Returns:
        The counts, and the boundaries along either axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> x = tangrad.numpy.array([0.0, 1.0, 1.0])
    >>> tangrad.numpy.histogram2d(x, x, bins=2)[0]
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    check_array_like("histogram2d", x, y)
    check_dtypes("histogram2d", x, y)
    count = len(bins) if isinstance(bins, (list, tuple)) else (shape_of(bins) or (1,))[0]
    both: Any = [bins, bins] if count not in (1, 2) else bins
    if shape_of(x) != shape_of(y):
        raise ValueError(f"histogram2d: x and y must have one shape, got {shape_of(x)} and {shape_of(y)}")
    sample = stack([ravel(x), ravel(y)], axis=1)
    counts, edges = histogramdd(sample, both, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: ArrayLike,
    bins: int | ArrayLike | Sequence[int | ArrayLike | Sequence[ArrayLike]] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Count points in boxes.

    Args:
        sample: an array of points, a row for each; or a sequence of arrays, one for each coordinate.
        bins: the number of intervals, or the boundaries, of all coordinates; or a sequence of these.
        range: a pair of limits for each coordinate; None: of the values.
        weights: what each point adds; None: 1.
        density: whether to scale the counts so that the histogram integrates to 1.

    Returns:
        The counts, and a list of the boundaries along each axis.

    Raises:
        TypeError: for what is no array.
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.histogramdd(tangrad.numpy.ones((3, 1)), bins=1)[0]
    Array([3], dtype=int32)
    """
    points = stack(sample, axis=-1) if isinstance(sample, (list, tuple)) else array_operand("histogramdd", sample)
    points = array_operand("histogramdd", promote_inexact("histogramdd", points)[0])
    if points.aval.ndim != 2:
        raise ValueError(f"histogramdd: sample must have two dimensions, got shape {points.aval.shape}")
    count, rank = points.aval.shape
    given = _for_each_axis("bins", bins, rank)
    limits = [None] * rank if range is None else list(range)
    if len(limits) != rank:
        raise ValueError(f"histogramdd: range must have a pair for each of {rank} coordinates, got {len(limits)}")
    axes = [axis for axis, _ in enumerate(given)]
    edges = [histogram_bin_edges(points[:, axis], given[axis], limits[axis]) for axis in axes]
    numbers = [_interval_numbers(points[:, axis], edges[axis]) for axis in axes]
    sizes = [edge.aval.shape[0] + 1 for edge in edges]
    flat = ravel_multi_index(tuple(numbers), tuple(sizes), mode="clip")
    added = None if weights is None else _weights(weights, count)
    counts = bincount(flat, added, length=int(np.prod(sizes)))
    inner = reshaped(counts, tuple(sizes))[(slice(1, -1),) * rank]
    return _finished(inner, edges, points.aval.dtype, density), edges


def _weights(weights: ArrayLike, count: int) -> Value:
    check_array_like("histogramdd", weights)
    if shape_of(weights) != (count,):
        raise ValueError(f"histogramdd: weights must have shape ({count},), got {shape_of(weights)}")
    return promote_inexact("histogramdd", weights)[0]


def _finished(counts: Array, edges: Sequence[Value], dtype: DType, density: bool | None) -> Array:
    if not density:
        return counts
    result = convert_element_type_p.bind(counts, new_dtype=dtype, weak_type=False)
    result = result / total(result)
    for axis, edge in enumerate(edges):
        sizes = tuple([edge.aval.shape[0] - 1 if place == axis else 1 for place, _ in enumerate(edges)])
        result = result / reshaped(diff(edge), sizes)
    return result


def _for_each_axis(name: str, given: object, rank: int) -> list[Any]:
    """One entry for each coordinate: a sequence of as many entries, or one entry for all."""
    if isinstance(given, (list, tuple)) and len(given) == rank:
        return list(given)
    if isinstance(given, (Array, np.ndarray)) and given.ndim == 1 and given.shape[0] == rank:
        return [given[axis] for axis in range(rank)]
    if is_array_like(given) and len(shape_of(given)) <= 1:
        return [given] * rank
    raise ValueError(f"histogramdd: {name} must have an entry for each of {rank} coordinates, got {given!r}")


# --- How variables vary together: `tangrad.numpy.cov`, `corrcoef` ---


@as_one("rowvar", "bias", "ddof", "dtype")
def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Estimate the covariances of variables.

    Args:
        m: observations, at most two dimensions: a row for each variable.
        y: further variables and observations.
        rowvar: whether rows are variables; otherwise columns.
        bias: whether to divide by the number of observations, instead of one less.
        ddof: what is subtracted from that number; None: by `bias`.
        fweights: how often each observation occurred, integers.
        aweights: how much each observation counts.
        dtype: the dtype of the result.

    Returns:
        The matrix of covariances; a number for one variable.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions, and weights that do not fit.

    >>> import tangrad
    >>> tangrad.numpy.cov(tangrad.numpy.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    check_array_like("cov", m, *([] if y is None else [y]))
    if y is not None:
        check_promotion("cov", m, y)
    given = promote_inexact("cov", *([m] if y is None else [m, y]))
    if dtype is not None:
        given = [asarray(value, dtype=dtype) for value in given]
    x = _as_rows("cov", given[0], rowvar)
    if y is not None:
        more = _as_rows("cov", given[1], rowvar)
        if x.shape[1] != more.shape[1]:
            raise ValueError(f"cov: m and y must have as many observations, got {x.shape[1]} and {more.shape[1]}")
        x = concatenate([x, more], axis=0)
    if ddof is None:
        ddof = 0 if bias else 1
    weights = _weights_of_samples(x, fweights, aweights)
    if weights is None:
        means, normalizer = total(x, axis=1) / x.aval.shape[1], asarray(x.aval.shape[1] - ddof, dtype=x.aval.dtype)
    else:
        means, sums = average(x, axis=1, weights=weights, returned=True)
        normalizer = _normalizer(sums[0], weights, aweights, ddof)
    x = x - expand_dims(means, 1)
    other = conjugate(x if weights is None else x * weights)
    result = dot(x, other.T) / where(normalizer > 0, real(normalizer), 0)
    return squeeze(result)


def _as_rows(name: str, value: Value, rowvar: bool) -> Value:
    x = array_operand(name, value)
    if x.ndim > 2:
        raise ValueError(f"{name}: observations must have at most two dimensions, got shape {x.aval.shape}")
    x = atleast_2d(x)
    return x.T if not rowvar and x.aval.shape[0] != 1 else x


def _weights_of_samples(x: Value, fweights: object, aweights: object) -> Value | None:
    count = x.aval.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        made = array_operand("cov", given)
        if made.ndim > 1 or made.aval.shape not in ((), (count,)):
            raise ValueError(f"cov: {name} must have shape ({count},), got {made.aval.shape}")
        if name == "fweights" and not dtypes.issubdtype(made.dtype, np.integer):
            raise TypeError(f"cov: fweights must be integers, got dtype {dtypes.dtype_name(made.dtype)}")
        made = abs(broadcast_to_shape(made, (count,)))
        weights = made if weights is None else weights * made
    return None if weights is None else weights.astype(x.aval.dtype)


def _normalizer(sums: Array, weights: Value, aweights: ArrayLike | None, ddof: int) -> Array:
    if ddof == 0:
        return sums
    if aweights is None:
        return sums - ddof
    scaled = weights * abs(asarray(aweights, dtype=weights.aval.dtype))
    return sums - ddof * total(scaled) / sums


@as_one("rowvar", "dtype")
def corrcoef(x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None) -> Array:
    """Estimate the correlation coefficients of variables.

    Args:
        x: observations, at most two dimensions: a row for each variable.
        y: further variables and observations.
        rowvar: whether rows are variables; otherwise columns.
        dtype: the dtype of the result, floating or complex.

    Returns:
        The matrix of coefficients, from -1 to 1; a number for one variable.

    Raises:
        TypeError: for what is no array.
        ValueError: for more dimensions, and a `dtype` of integers.

    >>> import tangrad
    >>> tangrad.numpy.corrcoef(tangrad.numpy.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    Array([[ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """
    if y is not None:
        check_promotion("corrcoef", x, y)
    wanted = user_dtype("corrcoef", dtype)
    if wanted is not None and not dtypes.issubdtype(wanted, np.inexact):
        raise ValueError(f"corrcoef: dtype must be floating or complex, got {dtypes.dtype_name(wanted)}")
    covariance = cov(x, y, rowvar, dtype=wanted)
    if not covariance.ndim:
        return covariance / covariance
    deviations = real(covariance.diagonal()) ** 0.5
    result = covariance / expand_dims(deviations, 1) / expand_dims(deviations, 0)
    if is_complex(result):
        return clip(real(result), -1, 1) + 1j * clip(result.imag, -1, 1)
    return clip(result, -1, 1)
