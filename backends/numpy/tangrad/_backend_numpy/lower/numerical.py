"""Lowerings of what functions of `tangrad.numpy` are outside of transformations, where NumPy has it in few calls."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import Kernel
from tangrad.core import RuleSet, decomposition_jaxpr, dtypes
from tangrad.extend import numpy
from tangrad.extend.numpy import convolve, correlate, interpolation, stacked, unravel_index

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions


Build = TypeVar("Build", bound=Callable[..., "Value | None"])

# --- How such rules are written ---
# Outside of transformations, and there alone, such a function is one primitive of the library's, whose decomposition is
# the function: programs hold none of them, and jaxprs are what they would be without these lowerings. Each is worth it:
# 1.1 times (interpolation between many points) to 30 times (convolution) as fast as the decomposition.
# What a rule does not cover is computed as the function is written: the rule returns None.


def whole(lower: RuleSet, function: Any) -> Callable[[Build], Build]:
    """Decorator: register `build(ctx, *arguments)`, with values in the places of arrays, as lowering of a function.

    See `Fused.arguments`.
    """
    operation = function.fused
    primitive = operation.primitive

    def register(build: Build) -> Build:
        def emit(ctx: Lowering, *values: Value, **params: object) -> Value:
            by_position, by_name = operation.arguments(values, params)
            found = build(ctx, *by_position, **by_name)
            if found is not None:
                return found
            return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), *values)

        lower.table({primitive: Kernel(emit)})
        return build

    return register


# --- Functions of whole arrays that NumPy has in one call: sets, norms, reductions that leave NaN out ---

lower = RuleSet("lower.numpy", api=1)

_PRECISE = {dtypes.as_dtype(name) for name in ("float32", "float64", "complex64", "complex128")}


def _in_common_dtype(ctx: Lowering, *values: Value) -> list[Value] | None:
    """The operands in the dtype of the result, where NumPy computes in that and nothing is lost by it."""
    dtype = ctx.out_aval.dtype
    if dtype not in _PRECISE or not all([value.dtype == dtype or value.dtype.kind in "biu" for value in values]):
        return None
    return [ctx.cast(value, dtype) for value in values]


# --- universal functions ---


def _floor_of_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """As NumPy's, but by zero, and of infinities, it is the quotient."""
    floor = np.floor_divide(x, y)
    if np.logical_and.reduce(np.isfinite(floor), axis=None):
        return floor
    return np.where((y == 0) | np.isinf(x), x / y, floor)


def _floor_of_whole_quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """As NumPy's, but by zero it is what XLA gives."""
    floor = np.floor_divide(x, y)
    return floor if np.logical_and.reduce(y, axis=None) else np.where(y == 0, -1 - (x != 0).astype(x.dtype), floor)


# Some of NumPy's functions go through the elements one by one, where the operations that they are made of take several
# at a time: those are for arrays of so many elements at most.
_SMALL = 512

# Of floats, of integers (None: those are computed as the function is written), and whether of small arrays alone.
_UNIVERSAL: dict[object, tuple[object, object, bool]] = {
    numpy.floor_divide: (_floor_of_quotient, _floor_of_whole_quotient, False),
    numpy.remainder: (np.remainder, np.remainder, False),
    numpy.copysign: (np.copysign, None, False),
    numpy.fmax: (np.fmax, None, False),
    numpy.fmin: (np.fmin, None, False),
    numpy.heaviside: (np.heaviside, None, True),
    numpy.hypot: (np.hypot, None, True),
    numpy.logaddexp: (np.logaddexp, None, True),
    numpy.logaddexp2: (np.logaddexp2, None, True),
}


def _universal(of_floats: object, of_integers: object, small: bool) -> Callable[[Lowering, Value, Value], Value | None]:
    def build(ctx: Lowering, x: Value, y: Value) -> Value | None:
        out = ctx.out_aval
        if small and out.size > _SMALL:
            return None
        if of_integers is not None and out.dtype.kind == "i" and x.dtype == y.dtype == out.dtype:
            return ctx.call(of_integers, x, y, nature=FRESH)
        operands = _in_common_dtype(ctx, x, y)
        if operands is None or out.dtype.kind != "f":
            return None
        return ctx.call(of_floats, *operands, nature=FRESH)

    return build


for _function, _how in _UNIVERSAL.items():
    whole(lower, _function)(_universal(*_how))


@whole(lower, numpy.trunc)
def _trunc(ctx: Lowering, x: Value) -> Value | None:
    return ctx.call(np.trunc, x, nature=FRESH) if x.dtype in _PRECISE and x.dtype.kind == "f" else None


# --- interpolation ---


@whole(lower, interpolation)
def _interp(
    ctx: Lowering,
    x: Value,
    xp: Value,
    fp: Value,
    left: Value | None = None,
    right: Value | None = None,
    period: object = None,
) -> Value | None:
    operands = _in_common_dtype(ctx, x, xp, fp)
    if operands is None or ctx.out_aval.dtype.kind == "c" or not xp.shape[0]:
        return None
    if left is not None or right is not None or period is not None:
        return None
    narrow = float(np.spacing(dtypes.finfo(ctx.out_aval.dtype).eps))
    function = _interpolation if x.shape else _interpolation_at_number
    return ctx.call(lambda x, xp, fp: function(x, xp, fp, narrow), *operands, nature=FRESH)


def _interpolation(x: np.ndarray, xp: np.ndarray, fp: np.ndarray, narrow: float) -> np.ndarray:
    """The steps of the function in `tangrad.numpy`, one by one."""
    upper = xp.searchsorted(x, "right")
    upper = np.minimum(np.maximum(upper, 1, out=upper), len(xp) - 1, out=upper)
    lower = upper - 1
    start, begin = fp.take(lower, mode="wrap"), xp.take(lower, mode="wrap")
    rise, run = fp.take(upper) - start, xp.take(upper) - begin
    result = x - begin
    no_run = np.abs(run) <= narrow
    if no_run.any():
        np.copyto(run, 1, where=no_run)
        np.copyto(rise, 0, where=no_run)
    result /= run
    result *= rise
    result += start
    if no_run.any():
        np.copyto(result, start, where=no_run)
    np.copyto(result, fp[0], where=x < xp[0])
    np.copyto(result, fp[-1], where=x > xp[-1])
    return result


def _interpolation_at_number(x: np.ndarray, xp: np.ndarray, fp: np.ndarray, narrow: float) -> object:
    """As `_interpolation`, by arithmetic of NumPy's scalars, which takes a tenth of that of small arrays."""
    at = x[()]
    if at > xp[-1]:
        return fp[-1]
    if at < xp[0]:
        return fp[0]
    upper = min(max(int(xp.searchsorted(x, "right")), 1), len(xp) - 1)
    start, begin = fp[upper - 1], xp[upper - 1]
    run = xp[upper] - begin
    return start if abs(run) <= narrow else start + (at - begin) / run * (fp[upper] - start)


# --- convolution ---


def _convolution(function: Callable[..., np.ndarray]) -> Callable[..., Value | None]:
    def build(
        ctx: Lowering,
        a: Value,
        v: Value,
        mode: str = "full",
        precision: object = None,
        preferred_element_type: object = None,
    ) -> Value | None:
        operands = _in_common_dtype(ctx, a, v)
        if operands is None or preferred_element_type is not None:
            return None
        return ctx.call(lambda a, v: function(a, v, mode), *operands, nature=FRESH)

    return build


whole(lower, convolve)(_convolution(np.convolve))


@whole(lower, correlate)
def _correlate(ctx: Lowering, a: Value, v: Value, mode: str = "valid", **options: object) -> Value | None:
    return _convolution(np.correlate)(ctx, a, v, mode, **options)


# --- making ---


@whole(lower, stacked)
def _stacked(ctx: Lowering, value: list[Value], dtype: np.dtype) -> Value | None:
    if isinstance(dtype, dtypes.ExtendedDType):
        return None
    if not all([one.dtype == dtype and one.shape == value[0].shape for one in value]):
        return None
    return ctx.call(lambda *arrays: np.array(arrays, dtype), *value, nature=FRESH)


# --- positions ---


@whole(lower, unravel_index)
def _unravel_index(ctx: Lowering, indices: Value, shape: Dimensions) -> Value | None:
    if type(shape) is not tuple or not shape or not all([type(size) is int and size > 0 for size in shape]):
        return None
    total, dtype = prod(shape), ctx.out_avals[0].dtype
    if total > np.iinfo(np.int64).max or indices.dtype.kind != "i":
        return None

    def run(positions: np.ndarray) -> tuple[np.ndarray, ...]:
        try:
            found = np.unravel_index(positions, shape)
        except ValueError:  # some are outside of the array
            found = np.unravel_index(
                np.clip(np.where(positions < 0, positions + total, positions), 0, total - 1), shape
            )
        return tuple([np.asarray(place, dtype) for place in found])

    return ctx.call(run, indices, nature=FRESH)


_LONG = 2000  # elements from which on `np.isin` is sooner than a sort and a search
_FLOATS = {dtypes.as_dtype(name) for name in ("float32", "float64")}


@whole(lower, numpy.isin)
def _isin(
    ctx: Lowering, element: Value, test_elements: Value, *_: object, invert: bool = False, **options: object
) -> Value | None:
    kind = element.dtype
    if kind != test_elements.dtype or kind.kind not in "iuf" or kind.isbuiltin != 1 or type(invert) is not bool:
        return None
    if options.get("method", "auto") == "compare_all" or prod(element.shape) + prod(test_elements.shape) < _LONG:
        return None
    return ctx.call(
        lambda x, others: np.asarray(np.isin(x, others, invert=invert)), element, test_elements, nature=FRESH
    )


def _without_nan(ufunc: np.ufunc) -> Callable[..., Value | None]:
    """NumPy's `fmax` and `fmin` prefer numbers to NaN, so that NaN is left where there is nothing else."""

    def build(
        ctx: Lowering,
        a: Value,
        axis: object = None,
        out: None = None,
        keepdims: bool = False,
        initial: Value | None = None,
        where: object = None,
    ) -> Value | None:
        if a.dtype not in _FLOATS or out is not None or initial is not None or where is not None:
            return None
        if not (axis is None or type(axis) is int) or not a.shape or 0 in a.shape:
            return None
        return ctx.call(lambda x: ufunc.reduce(x, axis, keepdims=bool(keepdims)), a, nature=FRESH)

    return build


whole(lower, numpy.nanmax)(_without_nan(np.fmax))
whole(lower, numpy.nanmin)(_without_nan(np.fmin))


@whole(lower, numpy.norm)
def _norm(ctx: Lowering, x: Value, ord: object = None, axis: object = None, keepdims: bool = False) -> Value | None:
    """The Euclidean one of all elements, as a product of the vector with itself."""
    if x.dtype not in _FLOATS or ord is not None or axis is not None or keepdims:
        return None
    root = x.dtype.type(0.5)

    def run(x: np.ndarray) -> np.ndarray:
        flat = x.ravel()
        return np.dot(flat, flat) ** root

    return ctx.call(run, x, nature=FRESH)
