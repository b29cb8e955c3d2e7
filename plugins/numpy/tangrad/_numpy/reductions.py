"""Arrays reduced along axes: `tangrad.numpy.sum`, `max`, `any`, `argmin`, …

Sums and products of integers narrower than the default are taken in the default integer, those of 16-bit floats in
float32. Results are never weakly typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import truth
from tangrad._numpy.operands import (
    BOOL,
    INT32,
    broadcast_all,
    convert,
    operand,
    refuse_out,
    shape_of,
    user_dtype,
)
from tangrad._numpy.reduced_axes import (
    all_axes,
    as_added,
    axes_params,
    check_not_empty,
    counting_dtype,
    masked,
    position_of,
    reduced_along_names,
    reduction_axes,
    size_of_names,
    split_names,
    where_mask,
    with_kept_axes,
)
from tangrad.core import EVAL_TRACE, Array, Primitive, ShapedArray, dtypes, thread
from tangrad.core.caches import DirectCalls, FixedParams, register_cache
from tangrad.extend.lax import (
    add_p,
    and_p,
    argmax_p,
    argmin_p,
    greatest,
    least,
    max_p,
    min_p,
    mul_p,
    or_p,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
)
from tangrad.typing import ArrayLike, Axis, DType, DTypeLike, Value

# Reduced in their own precision, and to their own dtype.
_DIRECT = {dtypes.as_dtype(name) for name in ("float32", "float64", "complex64", "complex128")}
# The types of such arrays, as they are met -> the parameters of the sum of all elements: one look-up decides.
whole_sums: dict[ShapedArray, FixedParams] = {}
_direct_sums = DirectCalls()
_LIMIT = 1024
register_cache(whole_sums.clear)
Maybe = ArrayLike | None  # an argument that may be left out


def _is_integral(dtype: DType) -> bool:
    return dtype is BOOL or dtypes.issubdtype(dtype, np.integer)


class _Reduction:
    """One operation: how it reduces, how two results are combined, and what it starts from."""

    def __init__(
        self, name: str, primitive: Primitive, combine: Primitive, start: Callable[[np.dtype], object], arithmetic: bool
    ) -> None:
        self.name = name
        self.primitive = primitive
        self.combine = combine
        self.start = start
        self.arithmetic = arithmetic

    def __call__(self, a: ArrayLike, axis: Axis, dtype: DType, keepdims: bool, initial: Maybe, where: Maybe) -> Array:
        """Reduce to `dtype`: the arguments in full."""
        x = operand(self.name, a)
        shape = x.aval.shape
        names, positions = split_names(axis)
        axes = reduction_axes(self.name, positions, len(shape))
        x = as_added(x, dtype) if self.arithmetic else convert(x, dtype)
        computed = x.aval.dtype
        if where is not None:
            x = masked(self.name, x, where, self.start(computed))
            shape = x.aval.shape
        result = self.primitive.bind_fixed(axes_params[axes], x) if axes or not names else x
        if names:
            result = reduced_along_names(self.name, result, names)
        if initial is not None:
            first = convert(operand(self.name, initial), computed)
            if first.aval.ndim:
                raise ValueError(f"{self.name}: initial must be a number, got shape {first.aval.shape}")
            result = self.combine.bind(first, result)
        result = convert(result, dtype)
        return with_kept_axes(result, shape, axes) if keepdims else result


_sum = _Reduction("sum", reduce_sum_p, add_p, lambda dtype: 0, True)
_prod = _Reduction("prod", reduce_prod_p, mul_p, lambda dtype: 1, True)
_max = _Reduction("max", reduce_max_p, max_p, least, False)
_min = _Reduction("min", reduce_min_p, min_p, greatest, False)
_any = _Reduction("any", reduce_or_p, or_p, lambda dtype: False, False)
_all = _Reduction("all", reduce_and_p, and_p, lambda dtype: True, False)


def _result_dtype(name: str, a: ArrayLike, dtype: DTypeLike | None, promote_integers: bool) -> DType:
    if dtype is not None:
        return user_dtype(name, dtype)
    own = operand(name, a).aval.dtype
    if not promote_integers:
        return dtypes.to_numeric_dtype(own)
    return counting_dtype(own) if own is BOOL or _is_integral(own) else own


# --- sums and products ---


def sum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Add up the elements along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: what to start from.
        where: a boolean array, broadcast with `a`: which elements count.
        promote_integers: whether narrow integers are widened.

    Returns:
        An array without those axes.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.sum(tangrad.numpy.ones((2, 3)), axis=0)
    Array([2., 2., 2.], dtype=float32)
    """
    aval: Any = a.aval if isinstance(a, Array) else None
    params = whole_sums.get(aval)
    if params is not None and dtype is None and initial is None and where is None and out is None:
        if axis is None and not keepdims:
            call = _direct_sums.get(aval) if thread.trace is EVAL_TRACE else None
            return _direct_sums.apply(aval, reduce_sum_p, (a,), params) if call is None else call(a)
        if not split_names(axis)[0]:
            axes = reduction_axes("sum", axis, len(aval.shape))
            result = reduce_sum_p.bind_fixed(axes_params[axes], a)
            return with_kept_axes(result, aval.shape, axes) if keepdims else result
    refuse_out("sum", out)
    if aval is not None and aval.dtype in _DIRECT and not aval.weak_type:
        if len(whole_sums) >= _LIMIT:
            whole_sums.clear()
        whole_sums[aval] = axes_params[all_axes(len(aval.shape))]
    if axis is None and dtype is None and initial is None and where is None and not keepdims and promote_integers:
        return _whole_sum(a)  # of masks, as they are counted
    return _general_sum(a, axis, dtype, keepdims, initial, where, promote_integers)


@as_one("axis", "dtype", "keepdims", "widen", name="sum")
def _general_sum(
    a: ArrayLike, axis: Axis, dtype: DTypeLike | None, keepdims: bool, initial: Maybe, where: Maybe, widen: bool
) -> Array:
    return _sum(a, axis, _result_dtype("sum", a, dtype, widen), keepdims, initial, where)


_whole_sum = as_one(name="sum")(lambda a: _sum(a, None, _result_dtype("sum", a, None, True), False, None, None))


@as_one("axis", "dtype", "out", "keepdims", "promote_integers")
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
    promote_integers: bool = True,
) -> Array:
    """Multiply the elements along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: what to start from.
        where: a boolean array, broadcast with `a`: which elements count.
        promote_integers: whether narrow integers are widened.

    Returns:
        An array without those axes.

    Raises:
        TypeError: `a` is no array, `dtype` no dtype.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.prod(tangrad.numpy.array([1, 2, 3]))
    Array(6, dtype=int32)
    """
    refuse_out("prod", out)
    return _prod(a, axis, _result_dtype("prod", a, dtype, promote_integers), keepdims, initial, where)


# --- extremes ---


def _extreme(
    reduction: _Reduction, a: ArrayLike, axis: Axis, out: None, keepdims: bool, initial: Maybe, where: Maybe
) -> Array:
    name = reduction.name
    aval = a.aval if isinstance(a, Array) else None
    if (
        aval is not None
        and initial is None
        and where is None
        and out is None
        and not aval.weak_type
        and 0 not in aval.shape
        and not split_names(axis)[0]
    ):
        axes = reduction_axes(name, axis, len(aval.shape))
        result = reduction.primitive.bind_fixed(axes_params[axes], a)
        return with_kept_axes(result, aval.shape, axes) if keepdims else result
    refuse_out(name, out)
    x = operand(name, a)
    if where is not None and initial is None:
        raise ValueError(f"{name}: where needs initial: of no elements there is no {name}")
    if initial is None:
        check_not_empty(name, x.aval.shape, reduction_axes(name, split_names(axis)[1], x.aval.ndim))
    return reduction(x, axis, x.aval.dtype, keepdims, initial, where)


@as_one("axis", "out", "keepdims")
def max(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Find the greatest element along axes; NaN if there is one.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: the least that the result can be; needed for axes of size 0 and for `where`.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        An array of the dtype of `a` without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, repeated, or empty.

    >>> import tangrad
    >>> tangrad.numpy.max(tangrad.numpy.array([1, 3, 2]))
    Array(3, dtype=int32)
    """
    return _extreme(_max, a, axis, out, keepdims, initial, where)


@as_one("axis", "out", "keepdims")
def min(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    """Find the least element along axes; NaN if there is one.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        initial: the greatest that the result can be; needed for axes of size 0 and for `where`.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        An array of the dtype of `a` without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, repeated, or empty.

    >>> import tangrad
    >>> tangrad.numpy.min(tangrad.numpy.array([3, 1, 2]))
    Array(1, dtype=int32)
    """
    return _extreme(_min, a, axis, out, keepdims, initial, where)


amax, amin = max, min


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Find the difference between the greatest and the least element along axes.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An array of the dtype of `a` without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds, repeated, or empty.

    >>> import tangrad
    >>> tangrad.numpy.ptp(tangrad.numpy.array([1, 5, 2]))
    Array(4, dtype=int32)
    """
    refuse_out("ptp", out)
    return max(a, axis=axis, keepdims=keepdims) - min(a, axis=axis, keepdims=keepdims)


# --- truth ---


@as_one("axis", "out", "keepdims")
def any(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Return whether any element along axes is true, that is not zero.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        A boolean array without those axes; False where there is nothing.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.any(tangrad.numpy.array([0, 2]))
    Array(True, dtype=bool)
    """
    refuse_out("any", out)
    return _any(truth(operand("any", a)), axis, BOOL, keepdims, None, where)


@as_one("axis", "out", "keepdims")
def all(
    a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: ArrayLike | None = None
) -> Array:
    """Return whether all elements along axes are true, that is not zero.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        out: must be None.
        keepdims: whether the axes stay, with size 1.
        where: a boolean array, broadcast with `a`: which elements count.

    Returns:
        A boolean array without those axes; True where there is nothing.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.all(tangrad.numpy.array([0, 2]))
    Array(False, dtype=bool)
    """
    refuse_out("all", out)
    return _all(truth(operand("all", a)), axis, BOOL, keepdims, None, where)


@as_one("axis", "keepdims")
def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements that are not zero.

    Args:
        a: an array or number.
        axis: an axis or a sequence of axes; None: all.
        keepdims: whether the axes stay, with size 1.

    Returns:
        An integer array without those axes.

    Raises:
        TypeError: `a` is no array.
        ValueError: an axis is out of bounds or repeated.

    >>> import tangrad
    >>> tangrad.numpy.count_nonzero(tangrad.numpy.array([0, 2, 3]))
    Array(2, dtype=int32)
    """
    return sum(truth(operand("count_nonzero", a)), axis=axis, keepdims=keepdims)


# --- positions ---


@as_one("axis", "out", "keepdims")
def argmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Find where the greatest element of an axis is: the first of equal ones, or the first NaN.

    Args:
        a: an array.
        axis: the axis; None: of the array as one dimension.
        out: must be None.
        keepdims: whether the axis stays, with size 1.

    Returns:
        An integer array without that axis.

    Raises:
        TypeError: `a` is no array.
        ValueError: the axis is out of bounds or empty.

    >>> import tangrad
    >>> tangrad.numpy.argmax(tangrad.numpy.array([1, 3, 2]))
    Array(1, dtype=int32)
    """
    return position_of("argmax", argmax_p, a, axis, out, keepdims)


@as_one("axis", "out", "keepdims")
def argmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    """Find where the least element of an axis is: the first of equal ones, or the first NaN.

    Args:
        a: an array.
        axis: the axis; None: of the array as one dimension.
        out: must be None.
        keepdims: whether the axis stays, with size 1.

    Returns:
        An integer array without that axis.

    Raises:
        TypeError: `a` is no array.
        ValueError: the axis is out of bounds or empty.

    >>> import tangrad
    >>> tangrad.numpy.argmin(tangrad.numpy.array([3, 1, 2]))
    Array(1, dtype=int32)
    """
    return position_of("argmin", argmin_p, a, axis, out, keepdims)


def element_count(name: str, x: Value, axis: Axis, where: ArrayLike | None, keepdims: bool) -> Array | int:
    """How many elements each result of a reduction stands for: a Python number, or an array if `where` is given."""
    shape = shape_of(x)
    names, positions = split_names(axis)
    axes = reduction_axes(name, positions, len(shape))
    if where is None:
        count = size_of_names(names)
        for position in axes:
            count = count * shape[position]
        return count
    mask = where_mask(name, where)
    mask, _ = broadcast_all(name, [mask, operand(name, x)])
    return sum(mask, axis=(*names, *axes), keepdims=keepdims, dtype=INT32)
