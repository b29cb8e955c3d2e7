"""Reductions that leave out NaN: `tangrad.numpy.nansum`, `nanmean`, `nanargmax`, …"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, SupportsIndex

from tangrad._numpy.fusing import as_one
from tangrad._numpy.logic import isnan, truth
from tangrad._numpy.operands import array_operand, broadcast_all, is_complex, is_inexact, operand, refuse_out
from tangrad._numpy.operations import whole_arrays
from tangrad._numpy.reduced_axes import position_of
from tangrad._numpy.reductions import all as all_of
from tangrad._numpy.reductions import max, min, prod, sum
from tangrad._numpy.selection import where as where_between
from tangrad._numpy.statistics import mean, var
from tangrad.core import Array, Primitive, dtypes, literal
from tangrad.extend.lax import and_p, argmax_p, argmin_p, not_p, sqrt_p
from tangrad.typing import ArrayLike, Axis, DTypeLike, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _without_nan(name: str, a: object, value: object) -> Value:
    x = array_operand(name, a)
    return where_between(isnan(x), literal(value, x.aval.dtype), x) if is_inexact(x) else x


def _counted(name: str, a: object, where: object) -> Array:
    """Where there is a number, and `where` lets it count."""
    x = array_operand(name, a)
    known = not_p.bind(isnan(x))
    if where is None:
        return known
    return and_p.bind(*broadcast_all(name, [known, truth(operand(name, where))]))


def _documented(what: str, example: str, extra: str = "", nothing: str = "") -> str:
    return (
        f"{what}, leaving out NaN.\n\nArgs:\n    a: an array or number.\n"
        "    axis: an axis or a sequence of axes; None: all.\n" + extra + "    out: must be None.\n"
        "    keepdims: whether the axes stay, with size 1.\n"
        f"\nReturns:\n    An array without those axes{nothing}.\n\nRaises:\n    TypeError: `a` is no array.\n"
        f"    ValueError: an axis is out of bounds or repeated.\n\n>>> import tangrad\n>>> {example}\n"
    )


_DTYPE = "    dtype: the dtype of the result; None: as of the function without `nan`.\n"
_WHERE = "    where: a boolean array, broadcast with `a`: which elements count.\n"
_INITIAL = "    initial: what to start from.\n"
_VALUES = 'tangrad.numpy.array([1.0, float("nan"), 3.0])'


@as_one("axis", "dtype", "out", "keepdims")
def nansum(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    refuse_out("nansum", out)
    return sum(_without_nan("nansum", a, 0), axis, dtype, None, keepdims, initial, where)


@as_one("axis", "dtype", "out", "keepdims")
def nanprod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    refuse_out("nanprod", out)
    return prod(_without_nan("nanprod", a, 1), axis, dtype, None, keepdims, initial, where)


def _extreme(
    name: str,
    function: Callable[..., Array],
    start: float,
    a: object,
    axis: SupportsIndex | Sequence[SupportsIndex] | None,
    keepdims: bool,
    initial: ArrayLike | None,
    where: ArrayLike | None,
) -> Array:
    x = array_operand(name, a)
    if not is_inexact(x):
        return function(x, axis, None, keepdims, initial, where)
    result = function(_without_nan(name, x, start), axis, None, keepdims, initial, where)
    if initial is not None:
        return result
    return where_between(all_of(isnan(x), axis, None, keepdims), literal(math.nan, x.aval.dtype), result)


@as_one("axis", "out", "keepdims", family=whole_arrays.name)
def nanmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    refuse_out("nanmax", out)
    return _extreme("nanmax", max, -math.inf, a, axis, keepdims, initial, where)


@as_one("axis", "out", "keepdims", family=whole_arrays.name)
def nanmin(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | None = None,
    where: ArrayLike | None = None,
) -> Array:
    refuse_out("nanmin", out)
    return _extreme("nanmin", min, math.inf, a, axis, keepdims, initial, where)


@as_one("axis", "dtype", "out", "keepdims")
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    refuse_out("nanmean", out)
    return mean(_without_nan("nanmean", a, 0), axis, dtype, None, keepdims, where=_counted("nanmean", a, where))


@as_one("axis", "dtype", "out", "ddof", "keepdims")
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    refuse_out("nanvar", out)
    counted = _counted("nanvar", a, where)
    return var(_without_nan("nanvar", a, 0), axis, dtype, None, ddof, keepdims, where=counted, mean=mean)


@as_one("axis", "dtype", "out", "ddof", "keepdims")
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    refuse_out("nanstd", out)
    return sqrt_p.bind(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def _position(name: str, primitive: Primitive, start: float, a: object, axis: int | None, keepdims: object) -> Array:
    x = array_operand(name, a)
    if is_complex(x):
        raise TypeError(f"{name} does not accept complex numbers, which have no order; got {x.aval.str_short()}")
    found = position_of(name, primitive, _without_nan(name, x, start), axis, None, keepdims)
    if not is_inexact(x):
        return found
    nothing = all_of(isnan(x), axis, None, bool(keepdims))
    return where_between(nothing, literal(-1, dtypes.default_int_dtype()), found)


@as_one("axis", "out", "keepdims")
def nanargmax(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    refuse_out("nanargmax", out)
    return _position("nanargmax", argmax_p, -math.inf, a, axis, keepdims)


@as_one("axis", "out", "keepdims")
def nanargmin(a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Array:
    refuse_out("nanargmin", out)
    return _position("nanargmin", argmin_p, math.inf, a, axis, keepdims)


nansum.__doc__ = _documented(
    "Add up the elements along axes",
    f"tangrad.numpy.nansum({_VALUES})\nArray(4., dtype=float32)",
    _DTYPE + _INITIAL + _WHERE,
)
nanprod.__doc__ = _documented(
    "Multiply the elements along axes",
    f"tangrad.numpy.nanprod({_VALUES})\nArray(3., dtype=float32)",
    _DTYPE + _INITIAL + _WHERE,
)
nanmax.__doc__ = _documented(
    "Find the greatest element along axes",
    f"tangrad.numpy.nanmax({_VALUES})\nArray(3., dtype=float32)",
    _INITIAL + _WHERE,
    "; NaN where there is no number",
)
nanmin.__doc__ = _documented(
    "Find the least element along axes",
    f"tangrad.numpy.nanmin({_VALUES})\nArray(1., dtype=float32)",
    _INITIAL + _WHERE,
    "; NaN where there is no number",
)
nanmean.__doc__ = _documented(
    "Take the mean of the elements along axes",
    f"tangrad.numpy.nanmean({_VALUES})\nArray(2., dtype=float32)",
    _DTYPE + _WHERE,
    "; NaN where there is no number",
)
_DDOF = "    ddof: what is subtracted from the number of elements.\n"
_MEAN = "    mean: the mean, with the axes kept, if it is known.\n"
nanvar.__doc__ = _documented(
    "Take the variance of the elements along axes",
    f"tangrad.numpy.nanvar({_VALUES})\nArray(1., dtype=float32)",
    _DTYPE + _DDOF + _WHERE + _MEAN,
    "; NaN where there is no number",
)
nanstd.__doc__ = _documented(
    "Take the standard deviation of the elements along axes",
    f"tangrad.numpy.nanstd({_VALUES})\nArray(1., dtype=float32)",
    _DTYPE + _DDOF + _WHERE + _MEAN,
    "; NaN where there is no number",
)
nanargmax.__doc__ = _documented(
    "Find where the greatest element of an axis is",
    f"tangrad.numpy.nanargmax({_VALUES})\nArray(2, dtype=int32)",
    nothing="; -1 where there is no number",
)
nanargmin.__doc__ = _documented(
    "Find where the least element of an axis is",
    f"tangrad.numpy.nanargmin({_VALUES})\nArray(0, dtype=int32)",
    nothing="; -1 where there is no number",
)
