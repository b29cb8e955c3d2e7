"""Order statistics: `tangrad.numpy.median`, `quantile`, `percentile`, and those that leave out NaN."""

from __future__ import annotations

import math

from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import full
from tangrad._numpy.cumulative import cumsum
from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import isnan
from tangrad._numpy.operands import (
    INT32,
    array_operand,
    canonical_axes,
    cast,
    convert,
    is_complex,
    promote_inexact,
    refuse_out,
    select,
)
from tangrad._numpy.reductions import all as all_of
from tangrad._numpy.reductions import any as any_of
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.rounding import ceil, floor
from tangrad._numpy.selection import clip, where
from tangrad._numpy.shapes import broadcast_to, expand_dims, reshaped
from tangrad._numpy.taking import take_along_axis
from tangrad.core import Array, dtypes, literal
from tangrad.extend.lax import add_p, convert_element_type_p, mul_p, sharded_call, sort_p, sub_p
from tangrad.typing import ArrayLike, Axis, Dimensions, ShardingLike, Value

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
_WEIGHTED_METHOD = "inverted_cdf"


# --- public functions ---


@as_one("axis", "out", "overwrite_input", "method", "keepdims")
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Find the values below which given shares of the elements are.

    Args:
        a: an array.
        q: the shares, from 0 to 1; an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        method: between two elements: "linear", "lower", "higher", "midpoint", "nearest"; "inverted_cdf" takes the least
            element that has that share at or below it.
        keepdims: whether the axes stay, with size 1.
        weights: what each element counts, with the method "inverted_cdf".

    Returns:
        An array with the dimensions of `q` first; NaN where there is one among the elements.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, an axis out of bounds, an unknown method, shares of several dimensions.

    >>> import tangrad
    >>> tangrad.numpy.quantile(tangrad.numpy.array([1.0, 2.0, 4.0]), 0.75)
    Array(3., dtype=float32)
    """
    refuse_out("quantile", out)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, False)


@as_one("axis", "out", "overwrite_input", "method", "keepdims", "out_sharding")
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Find the values below which given percentages of the elements are.

    Args:
        a: an array.
        q: the percentages, from 0 to 100; an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        method: as of `quantile`.
        keepdims: whether the axes stay, with size 1.
        weights: as of `quantile`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array with the dimensions of `q` first; NaN where there is one among the elements.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, an axis out of bounds, an unknown method, percentages of several dimensions.

    >>> import tangrad
    >>> tangrad.numpy.percentile(tangrad.numpy.array([1.0, 2.0, 4.0]), 75)
    Array(3., dtype=float32)
    """
    refuse_out("percentile", out)
    if out_sharding is not None:
        how = {"method": method, "keepdims": keepdims, "weights": weights}
        return sharded_call(out_sharding, percentile, a, q, axis, **how)
    return _quantile("percentile", a, _shares("percentile", q), axis, method, keepdims, weights, False)


@as_one("axis", "out", "overwrite_input", "method", "keepdims")
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Find the values below which given shares of the elements are that are not NaN.

    Args:
        a: an array.
        q: the shares, from 0 to 1; an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        method: as of `quantile`.
        keepdims: whether the axes stay, with size 1.
        weights: as of `quantile`.

    Returns:
        An array with the dimensions of `q` first; NaN where there are only such, or none.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, an axis out of bounds, an unknown method, shares of several dimensions.

    >>> import tangrad
    >>> tangrad.numpy.nanquantile(tangrad.numpy.array([1.0, float("nan"), 3.0]), 0.5)
    Array(2., dtype=float32)
    """
    refuse_out("nanquantile", out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, True)


@as_one("axis", "out", "overwrite_input", "method", "keepdims")
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
) -> Array:
    """Find the values below which given percentages of the elements are that are not NaN.

    Args:
        a: an array.
        q: the percentages, from 0 to 100; an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        method: as of `quantile`.
        keepdims: whether the axes stay, with size 1.
        weights: as of `quantile`.

    Returns:
        An array with the dimensions of `q` first; NaN where there are only such, or none.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, an axis out of bounds, an unknown method, percentages of several dimensions.

    >>> import tangrad
    >>> tangrad.numpy.nanpercentile(tangrad.numpy.array([1.0, float("nan"), 3.0]), 50)
    Array(2., dtype=float32)
    """
    refuse_out("nanpercentile", out)
    return _quantile("nanpercentile", a, _shares("nanpercentile", q), axis, method, keepdims, weights, True)


@as_one("axis", "out", "overwrite_input", "keepdims")
def median(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """Find the middle of the sorted elements, or the mean of the middle two.

    Args:
        a: an array.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without those axes; NaN where there is one among the elements.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, and an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.median(tangrad.numpy.array([3, 1, 2]))
    Array(2., dtype=float32)
    """
    refuse_out("median", out)
    return _quantile("median", a, 0.5, axis, "midpoint", keepdims, None, False)


@as_one("axis", "out", "overwrite_input", "keepdims")
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: None = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """Find the middle of the sorted elements that are not NaN, or the mean of the middle two.

    Args:
        a: an array.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        overwrite_input: ignored.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without those axes; NaN where there are only such, or none.

    Raises:
        TypeError: for what is no array.
        ValueError: for complex numbers, and an axis out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.nanmedian(tangrad.numpy.array([3.0, float("nan"), 2.0]))
    Array(2.5, dtype=float32)
    """
    refuse_out("nanmedian", out)
    return _quantile("nanmedian", a, 0.5, axis, "midpoint", keepdims, None, True)


# --- how ---


def _shares(name: str, q: ArrayLike) -> Array:
    (made,) = promote_inexact(name, asarray(q) if isinstance(q, (list, tuple)) else q)
    return made / literal(100, made.aval.dtype)


def _quantile(
    name: str, a: object, q: ArrayLike, axis: object, method: str, keepdims: bool, weights: object, leave_out_nan: bool
) -> Array:
    (x,) = promote_inexact(name, a)
    own = x.aval.dtype
    if isinstance(q, (list, tuple)):
        q = asarray(q)
    (given,) = promote_inexact(name, q)
    if is_complex(x) or is_complex(given):
        raise ValueError(f"{name} does not accept complex numbers, which have no order")
    # Shares take no part in promotion, and numbers of 16 bits are no places among thousands of elements.
    wide = own.itemsize == 8 or (given.aval.dtype.itemsize == 8 and not given.aval.weak_type)
    computed = dtypes.as_dtype("float64" if wide else "float32")
    x, shares = array_operand(name, convert(x, computed)), array_operand(name, cast(q, computed, False))
    if shares.ndim > 1:
        raise ValueError(f"{name}: q must have at most one dimension, got shape {shares.aval.shape}")
    if weights is not None or method == _WEIGHTED_METHOD:
        if method != _WEIGHTED_METHOD:
            raise ValueError(f"{name}: weights need the method 'inverted_cdf', got {method!r}")
    elif method not in _METHODS:
        raise ValueError(f"{name}: unknown method {method!r}; expected one of {(*_METHODS, _WEIGHTED_METHOD)}")
    axes = canonical_axes(name, axis, x.ndim)
    vectors, kept_shape = _as_vectors(x, axes)
    if vectors.aval.shape[-1] == 0:
        if not leave_out_nan:
            raise ValueError(f"{name}: there is no element along axis {axis} of shape {x.aval.shape}")
        rest = kept_shape if keepdims else tuple(vectors.aval.shape[:-1])
        return full((*shares.aval.shape, *rest), math.nan, own)
    counts = None if weights is None else _weight_vectors(name, weights, x, axes)
    result: Value
    if method == _WEIGHTED_METHOD:
        result = _by_weight(vectors, counts, shares, leave_out_nan)
    else:
        result = _between(vectors, shares, method, leave_out_nan)
    result = convert_element_type_p.bind(result, new_dtype=own, weak_type=False)
    return reshaped(result, (*shares.aval.shape, *kept_shape)) if keepdims else result


def _as_vectors(x: Array, axes: tuple[int, ...]) -> tuple[Array, Dimensions]:
    """The reduced axes as one last axis; and the shape with those axes of size 1."""
    shape = x.aval.shape
    rest = tuple([size for place, size in enumerate(shape) if place not in axes])
    moved = moveaxis(x, axes, tuple(range(len(rest), len(shape)))) if axes else x
    kept = tuple([1 if place in axes else size for place, size in enumerate(shape)])
    length = 1
    for place in axes:
        length = length * shape[place]
    return reshaped(moved, (*rest, length)), kept


def _weight_vectors(name: str, weights: object, x: Array, axes: tuple[int, ...]) -> Array:
    given = array_operand(name, weights)
    shape = x.aval.shape
    if given.aval.shape != shape:
        if len(axes) != 1 or given.aval.shape != (shape[axes[0]],):
            raise ValueError(f"{name}: weights of shape {given.aval.shape} do not fit an array of shape {shape}")
        sizes = tuple([size if place in axes else 1 for place, size in enumerate(shape)])
        given = broadcast_to(reshaped(given, sizes), shape)
    return _as_vectors(given, axes)[0]


def _between(vectors: Value, shares: Value, method: str, leave_out_nan: bool) -> Value:
    """By place in the sorted vectors: share times (number of elements - 1)."""
    dtype = vectors.aval.dtype
    *rest, length = vectors.aval.shape
    nan = isnan(vectors)
    last = vectors.ndim - 1
    (ordered,) = sort_p.bind(vectors, dimension=last, is_stable=False, num_keys=1)
    spread = reshaped(shares, (*shares.aval.shape, *(1,) * len(rest)))
    if leave_out_nan:
        count = total(~nan, axis=-1).astype(dtype)
        place = spread * (count - 1)
        highest = count - 1
    else:
        place = broadcast_to(spread * (length - 1), (*shares.aval.shape, *rest))
        highest = asarray(length - 1, dtype=dtype)
    result = _interpolated(ordered, place, highest, method, tuple(rest))
    if leave_out_nan:
        return where(all_of(nan, axis=-1), literal(float("nan"), dtype), result)
    return where(any_of(nan, axis=-1), literal(float("nan"), dtype), result)


def _interpolated(ordered: Value, place: Value, highest: Value, method: str, rest: tuple[object, ...]) -> Value:
    low, high = floor(place), ceil(place)
    above = sub_p.bind(place, low)
    lower = _elements(ordered, clip(low, 0, highest), rest)
    if method == "lower":
        return lower
    upper = _elements(ordered, clip(high, 0, highest), rest)
    if method == "higher":
        return upper
    if method == "nearest":
        return select(above <= 0.5, lower, upper)
    if method == "midpoint":
        return mul_p.bind(add_p.bind(lower, upper), literal(0.5, lower.aval.dtype))
    below = sub_p.bind(literal(1, above.aval.dtype), above)
    return add_p.bind(mul_p.bind(lower, below), mul_p.bind(upper, above))


def _elements(ordered: Value, places: Value, rest: Dimensions) -> Value:
    """The elements of sorted vectors at places of their own, for each share."""
    last = ordered.ndim - 1
    shape = places.aval.shape
    if len(shape) == len(rest):
        found = take_along_axis(ordered, expand_dims(places.astype(INT32), last), axis=-1, mode="promise_in_bounds")
        return reshaped(found, shape)
    moved = moveaxis(broadcast_to(places, (shape[0], *rest)), 0, -1).astype(INT32)
    return moveaxis(take_along_axis(ordered, moved, axis=-1, mode="promise_in_bounds"), -1, 0)


def _by_weight(vectors: Array, weights: Array | None, shares: Array, leave_out_nan: bool) -> Array:
    """The least element at or below which the share of the weight is."""
    dtype = vectors.aval.dtype
    nan = isnan(vectors)
    counted = broadcast_to(literal(1, dtype) if weights is None else weights.astype(dtype), vectors.aval.shape)
    if leave_out_nan:
        counted = where(nan, literal(0, dtype), counted)
    last = vectors.ndim - 1
    ordered, counted = sort_p.bind(vectors, counted, dimension=last, is_stable=True, num_keys=1)
    sums = cumsum(counted, axis=-1)
    spread = reshaped(shares, (*shares.aval.shape, *(1,) * vectors.ndim))
    wanted = spread * sums[..., -1:]
    first = total((sums < wanted).astype(INT32), axis=-1)
    first = clip(where(first == 0, _first_counted(counted), first), 0, vectors.aval.shape[-1] - 1)
    result = _elements(ordered, first, tuple(vectors.aval.shape[:-1]))
    gone = all_of(nan, axis=-1) if leave_out_nan else any_of(nan, axis=-1)
    return where(gone, literal(float("nan"), dtype), result)


def _first_counted(counted: Array) -> Array:
    return (counted > 0).argmax(axis=-1)
