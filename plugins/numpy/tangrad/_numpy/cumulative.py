"""Running totals: `tangrad.numpy.cumsum`, `cumprod`, `nancumsum`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import isnan
from tangrad._numpy.operands import (
    BOOL,
    array_operand,
    canonical_axis,
    convert,
    is_inexact,
    literal,
    refuse_out,
    select,
    user_dtype,
)
from tangrad._numpy.reduced_axes import as_added, counting_dtype
from tangrad._numpy.shapes import ravel
from tangrad.core import Array, Primitive, dtypes
from tangrad.extend.lax import broadcast_in_dim_p, concatenate_p, cumprod_p, cumsum_p
from tangrad.typing import ArrayLike, DTypeLike

if TYPE_CHECKING:
    pass


def _running(
    name: str,
    primitive: Primitive,
    a: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    out: np.ndarray | None,
    start: object = None,
) -> Array:
    """Along an axis, or of the array as one dimension; with `start` in place of NaNs."""
    refuse_out(name, out)
    x = array_operand(name, a)
    if axis is None or not x.ndim:
        x, axis = ravel(x), 0 if axis is None else axis
    dimension = canonical_axis(name, axis, x.ndim)
    own = x.aval.dtype
    wanted = user_dtype(name, dtype)
    if wanted is None:
        wanted = dtypes.default_int_dtype() if own is BOOL else own
    if start is not None and is_inexact(x):
        x = select(isnan(x), literal(start, own), x)
    return convert(primitive.bind(as_added(x, wanted), axis=dimension, reverse=False), wanted)


def _as_one(name: str, primitive: Primitive) -> Callable[..., Array]:
    return as_one("axis", name=name)(lambda a, axis: _running(name, primitive, a, axis, None, None))


_sums, _products = _as_one("cumsum", cumsum_p), _as_one("cumprod", cumprod_p)


def cumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Take the sums up to each element of an axis.

    Args:
        a: an array or number.
        axis: the axis; None: of the array as one dimension.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.

    Returns:
        An array of the shape of `a`, or of one dimension.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.cumsum(tangrad.numpy.array([1, 2, 3]))
    Array([1, 3, 6], dtype=int32)
    """
    return _sums(a, axis) if dtype is None and out is None else _running("cumsum", cumsum_p, a, axis, dtype, out)


def cumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Take the products up to each element of an axis.

    Args:
        a: an array or number.
        axis: the axis; None: of the array as one dimension.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.

    Returns:
        An array of the shape of `a`, or of one dimension.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.cumprod(tangrad.numpy.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    return _products(a, axis) if dtype is None and out is None else _running("cumprod", cumprod_p, a, axis, dtype, out)


def nancumsum(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Take the sums up to each element of an axis, NaN counted as 0.

    Args:
        a: an array or number.
        axis: the axis; None: of the array as one dimension.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.

    Returns:
        An array of the shape of `a`, or of one dimension.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.nancumsum(tangrad.numpy.array([1.0, float("nan"), 3.0]))
    Array([1., 1., 4.], dtype=float32)
    """
    return _running("nancumsum", cumsum_p, a, axis, dtype, out, 0)


def nancumprod(a: ArrayLike, axis: int | None = None, dtype: DTypeLike | None = None, out: None = None) -> Array:
    """Take the products up to each element of an axis, NaN counted as 1.

    Args:
        a: an array or number.
        axis: the axis; None: of the array as one dimension.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.

    Returns:
        An array of the shape of `a`, or of one dimension.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.nancumprod(tangrad.numpy.array([2.0, float("nan"), 3.0]))
    Array([2., 2., 6.], dtype=float32)
    """
    return _running("nancumprod", cumprod_p, a, axis, dtype, out, 1)


def _cumulative(
    name: str,
    primitive: Primitive,
    x: ArrayLike,
    axis: int | None,
    dtype: DTypeLike | None,
    include_initial: bool,
    start: int,
) -> Array:
    made = array_operand(name, x)
    if not made.ndim:
        raise ValueError(f"{name} requires an array with dimensions")
    if axis is None:
        if made.ndim > 1:
            raise ValueError(f"{name}: axis must be given for an array of {made.ndim} dimensions")
        axis = 0
    dimension = canonical_axis(name, axis, made.ndim)
    if dtype is None and not is_inexact(made):
        dtype = counting_dtype(made.aval.dtype)
    result = _running(name, primitive, made, dimension, dtype, None)
    if not include_initial:
        return result
    shape = tuple([1 if position == dimension else size for position, size in enumerate(made.aval.shape)])
    first = broadcast_in_dim_p.bind(literal(start, result.aval.dtype), shape=shape, broadcast_dimensions=())
    return concatenate_p.bind(first, result, dimension=dimension)


def cumulative_sum(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Take the sums up to each element of an axis.

    Args:
        x: an array of at least one dimension.
        axis: the axis; may be left out for one dimension.
        dtype: the dtype of the result; None: that of `x`, or the default integer for narrower ones and booleans.
        include_initial: whether the result begins with 0.

    Returns:
        An array of the shape of `x`, or one longer along the axis.

    Raises:
        TypeError: `x` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds or missing.

    >>> import tangrad
    >>> tangrad.numpy.cumulative_sum(tangrad.numpy.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    return _cumulative("cumulative_sum", cumsum_p, x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: ArrayLike, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
) -> Array:
    """Take the products up to each element of an axis.

    Args:
        x: an array of at least one dimension.
        axis: the axis; may be left out for one dimension.
        dtype: the dtype of the result; None: that of `x`, or the default integer for narrower ones and booleans.
        include_initial: whether the result begins with 1.

    Returns:
        An array of the shape of `x`, or one longer along the axis.

    Raises:
        TypeError: `x` is no array, `dtype` no dtype.
        ValueError: the axis is out of bounds or missing.

    >>> import tangrad
    >>> tangrad.numpy.cumulative_prod(tangrad.numpy.array([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], dtype=int32)
    """
    return _cumulative("cumulative_prod", cumprod_p, x, axis, dtype, include_initial, 1)
