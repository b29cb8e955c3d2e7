"""Means, variances, what is left of them, and the range: `tangrad.numpy.mean`, `var`, `average`, `minmax`, …"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, overload

import numpy as np

from tangrad._numpy.fusing import Fused, as_one
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    canonical_axes,
    check_array_like,
    convert,
    is_complex,
    literal,
    operand,
    promote_inexact,
    refuse_out,
    select,
    user_dtype,
)
from tangrad._numpy.reduced_axes import computation_dtype, split_names
from tangrad._numpy.reductions import element_count, max, min, reduction_axes, sum
from tangrad._numpy.shapes import reshaped
from tangrad.core import Array, as_array, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import conj_p, div_p, mul_p, real_p, size_operand, sqrt_p, square_p, sub_p
from tangrad.typing import ArrayLike, Axis, DTypeLike, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

# --- Means, variances and what is left of them: `tangrad.numpy.mean`, `var`, `average`, `cov`, … ---


# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["std", "var"], True)


def _mean_dtype(name: str, x: Value, dtype: DTypeLike | None) -> np.dtype:
    return dtypes.to_inexact_dtype(x.aval.dtype) if dtype is None else user_dtype(name, dtype)


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Take the mean of the elements along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        dtype: the dtype of the result; None: that of `a`, a float for integers.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        An array without those axes; NaN where no element counts.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.mean(tangrad.numpy.array([1, 2, 3, 4]))
    Array(2.5, dtype=float32)
    """
    refuse_out("mean", out)
    if where is None and not split_names(axis)[0]:
        x = operand("mean", a)
        axes = reduction_axes("mean", axis, x.aval.ndim)
        return _fused_mean(x, axes=axes, dtype=_mean_dtype("mean", x, dtype), keepdims=bool(keepdims))
    return _mean("mean", a, axis, dtype, keepdims, where)


def _simple_mean(x: Value, *, axes: tuple[int, ...], dtype: np.dtype, keepdims: bool) -> Value:
    return _mean("mean", x, axes, dtype, keepdims, None)


_fused_mean = Fused("mean", _simple_mean)


def _mean(
    name: str,
    a: object,
    axis: SupportsIndex | Sequence[SupportsIndex] | None,
    dtype: DTypeLike | None,
    keepdims: bool,
    where: ArrayLike | None,
) -> Array:
    x = operand(name, a)
    wanted = _mean_dtype(name, x, dtype)
    computed = computation_dtype(wanted)
    total = sum(x, axis=axis, dtype=computed, keepdims=keepdims, where=where)
    return convert(_quotient(total, element_count(name, x, axis, where, keepdims)), wanted)


def _quotient(total: Value, count: Any) -> Array:
    dtype = total.aval.dtype
    if type(count) is int:
        return div_p.bind(total, literal(count, dtype))
    if not hasattr(type(count), "aval"):
        return div_p.bind(total, size_operand(count, dtype))
    return div_p.bind(total, convert(count, dtype))


def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Take the variance of the elements along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        dtype: the dtype of the result; None: that of `a`, a float for integers and complex numbers.
        out: must be None.
        ddof: what is subtracted from the number of elements.
        keepdims: whether the axes stay, with size 1.
        where: a boolean array, broadcast with `a`: which elements count.
        mean: the mean, with the axes kept, if it is known.
        correction: another name of `ddof`.

    Returns:
        An array without those axes; NaN where the number of elements is at most `ddof`.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: an axis is out of bounds or repeated; both `ddof` and `correction` are given.

    >>> import tangrad
    >>> tangrad.numpy.var(tangrad.numpy.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("var", out)
    return _variance("var", a, axis, dtype, _degrees("var", ddof, correction), keepdims, where, mean)


def _degrees(name: str, ddof: ArrayLike, correction: ArrayLike | None) -> ArrayLike:
    if correction is None:
        return ddof
    if not (isinstance(ddof, int) and ddof == 0):
        raise ValueError(f"{name}: ddof and correction are two names of one argument, got {ddof} and {correction}")
    return correction


def _variance(
    name: str,
    a: object,
    axis: Axis,
    dtype: DTypeLike | None,
    ddof: object,
    keepdims: bool,
    where: ArrayLike | None,
    center: ArrayLike | None,
) -> Array:
    x = operand(name, a)
    types = _variance_dtypes(name, x, dtype)
    if where is None and center is None and isinstance(ddof, (int, float)) and not split_names(axis)[0]:
        axes = reduction_axes(name, axis, x.aval.ndim)
        count = element_count(name, x, axes, None, bool(keepdims))
        if type(count) is int:
            rest = literal(count - ddof if count > ddof else math.nan, types[1])
            return _fused_variance(x, rest, axes=axes, types=types, keepdims=bool(keepdims))
    return _general_variance(name, x, axis, types, ddof, keepdims, where, center)


def _simple_variance(
    x: Value, rest: Value, *, axes: tuple[int, ...], types: tuple[np.dtype, ...], keepdims: bool
) -> Value:
    """With what the sum of squares is divided by as an operand."""
    total = _squares("var", x, axes, types[1], keepdims, None, None)
    return convert(div_p.bind(total, convert(rest, total.aval.dtype)), types[0])


_fused_variance = Fused("var", _simple_variance)


def _general_variance(
    name: str,
    x: Array,
    axis: Axis,
    types: tuple[np.dtype, np.dtype],
    ddof: object,
    keepdims: bool,
    where: ArrayLike | None,
    center: ArrayLike | None,
) -> Array:
    wanted, computed = types
    total = _squares(name, x, axis, computed, keepdims, where, center)
    count = element_count(name, x, axis, where, keepdims)
    return convert(_corrected_quotient(name, total, count, ddof), wanted)


def _squares(
    name: str,
    x: Value,
    axis: SupportsIndex | Sequence[SupportsIndex] | None,
    computed: np.dtype,
    keepdims: bool,
    where: ArrayLike | None,
    center: ArrayLike | None,
) -> Value:
    """The sum of the squared distances from the mean."""
    x = convert(x, computed)
    known = _mean(name, x, axis, computed, True, where) if center is None else convert(operand(name, center), computed)
    centered = sub_p.bind(x, broadcast_to_shape(known, x.aval.shape))
    squares = real_p.bind(mul_p.bind(centered, conj_p.bind(centered))) if is_complex(x) else square_p.bind(centered)
    return sum(squares, axis=axis, keepdims=keepdims, where=where)


def _corrected_quotient(name: str, total: Value, count: Array | int, ddof: object) -> Array:
    dtype = total.aval.dtype
    if not hasattr(type(count), "aval") and isinstance(ddof, (int, float)) and not is_symbolic(count):
        rest = count - ddof
        return div_p.bind(total, literal(rest if rest > 0 else math.nan, dtype))
    rest = _number(count, dtype) - convert(operand(name, ddof), dtype)
    return select(rest > 0, div_p.bind(total, rest), literal(math.nan, dtype))


def _number(count: Any, dtype: np.dtype) -> Any:
    return size_operand(count, dtype) if not hasattr(type(count), "aval") else convert(count, dtype)


def _variance_dtypes(name: str, x: Value, dtype: DTypeLike | None) -> tuple[np.dtype, np.dtype]:
    """The dtype of the result, and that in which it is computed."""
    own = x.aval.dtype
    if dtype is None:
        inexact = dtypes.to_inexact_dtype(own)
        return dtypes.to_floating_dtype(inexact), computation_dtype(inexact)
    wanted = user_dtype(name, dtype)
    if is_complex(x) and not dtypes.issubdtype(wanted, np.complexfloating):
        raise ValueError(f"{name}: the variance of complex numbers needs a complex dtype to compute in, got {wanted}")
    computed = dtypes.promote_types(own, wanted) if dtypes.issubdtype(wanted, np.inexact) else wanted
    return wanted, computation_dtype(dtypes.to_inexact_dtype(computed))


def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: float | None = None,
) -> Array:
    """Take the standard deviation of the elements along axes: the root of the variance.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        dtype: the dtype of the result; None: that of `a`, a float for integers and complex numbers.
        out: must be None.
        ddof: what is subtracted from the number of elements.
        keepdims: whether the axes stay, with size 1.
        where: a boolean array, broadcast with `a`: which elements count.
        mean: the mean, with the axes kept, if it is known.
        correction: another name of `ddof`.

    Returns:
        An array without those axes; NaN where the number of elements is at most `ddof`.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: an axis is out of bounds or repeated; both `ddof` and `correction` are given.

    >>> import tangrad
    >>> tangrad.numpy.std(tangrad.numpy.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("std", out)
    if dtype is not None and not dtypes.issubdtype(user_dtype("std", dtype), np.inexact):
        raise ValueError(f"std: dtype must be floating or complex, got {dtype!r}")
    return sqrt_p.bind(_variance("std", a, axis, dtype, _degrees("std", ddof, correction), keepdims, where, mean))


# --- averages ---


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...
@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike | None = None, returned: bool = False, keepdims: bool = False
) -> Array | tuple[Array, Array]:
    """Take a weighted mean along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        weights: of the shape of `a`, or of its shape along `axis`; None: all equal.
        returned: whether to return the sum of the weights too.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array without those axes; with `returned` a pair of arrays.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, or the weights do not fit.

    >>> import tangrad
    >>> np = tangrad.numpy
    >>> np.average(np.array([1.0, 3.0]), weights=np.array([3.0, 1.0]))
    Array(1.5, dtype=float32)
    """
    return (_mean_and_sum if returned else _weighted_mean)(a, axis, weights, keepdims)


def _average(
    a: ArrayLike, axis: SupportsIndex | Sequence[SupportsIndex] | None, weights: object, keepdims: bool
) -> tuple[Array, Array]:
    """The mean, and the sum of the weights."""
    if weights is None:
        (x,) = promote_inexact("average", a)
        result = _mean("average", x, axis, None, keepdims, None)
        count = _number(element_count("average", x, axis, None, keepdims), result.aval.dtype)
        return result, as_array(broadcast_to_shape(count, result.aval.shape))
    check_array_like("average", a, weights)
    x, given = promote_inexact("average", a, weights)
    spread = _spread_weights(x, given, axis)
    total = sum(spread, axis=axis, keepdims=keepdims)
    result = div_p.bind(sum(mul_p.bind(x, spread), axis=axis, keepdims=keepdims), total)
    return result, broadcast_to_shape(total, result.aval.shape)


_mean_and_sum = as_one("axis", "keepdims", name="average", several=True)(_average)


@as_one("axis", "keepdims", name="average")
def _weighted_mean(
    a: ArrayLike, axis: SupportsIndex | Sequence[SupportsIndex] | None, weights: object, keepdims: bool
) -> Array:
    return _average(a, axis, weights, keepdims)[0]


def _spread_weights(x: Value, weights: Value, axis: object) -> Value:
    shape, own = x.aval.shape, weights.aval.shape
    if own == shape:
        return weights
    if axis is None:
        raise ValueError(f"average: weights of shape {own} for an array of shape {shape} need an axis")
    axes = canonical_axes("average", axis, len(shape))
    if own != tuple([shape[position] for position in axes]):
        raise ValueError(f"average: weights of shape {own} do not fit axis {axis} of shape {shape}")
    order = sorted(range(len(axes)), key=lambda position: axes[position])
    moved = array_operand("average", weights).transpose(order) if len(axes) > 1 else array_operand("average", weights)
    sizes = tuple([size if position in axes else 1 for position, size in enumerate(shape)])
    return broadcast_to_shape(reshaped(moved, sizes), shape)


# --- `tangrad.numpy.minmax`: the least and the greatest element together ---


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Find the least and the greatest element along axes; NaN if there is one.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: the greatest that the least can be, and the least that the greatest can be: a pair, or one number for
            both; needed for axes of size 0 and for `where`.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        Two arrays of the dtype of `a` without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, repeated, or empty; `initial` is a tuple, but no pair.

    >>> import tangrad
    >>> tangrad.numpy.minmax(tangrad.numpy.array([1, 3, 2]))
    (Array(1, dtype=int32), Array(3, dtype=int32))
    """
    refuse_out("minmax", out)
    first, last = _pair(initial)
    x = operand("minmax", a)
    return (
        min(x, axis, keepdims=keepdims, initial=first, where=where),
        max(x, axis, keepdims=keepdims, initial=last, where=where),
    )


def _pair(initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None) -> tuple[ArrayLike | None, ArrayLike | None]:
    if not isinstance(initial, tuple):
        return initial, initial
    if len(initial) != 2:
        raise ValueError(f"minmax: initial must be a number or a pair, for the least and the greatest, got {initial!r}")
    return initial
