"""Reductions and running totals in NumPy. Floats of 16 bits and fewer are added up in float32, as XLA does."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import Kernel, composed
from tangrad._backend_numpy.program import Value
from tangrad._backend_numpy.running import running_totals
from tangrad._backend_numpy.totals import reduction, wide_dtype
from tangrad.core import Primitive, RuleSet, decomposition_jaxpr, dtypes
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)


# --- reductions ---


def _reduction(primitive: Primitive, ufunc: np.ufunc) -> Kernel:
    identity = p.identities[primitive]

    def emit(ctx: Lowering, x: Value, *, axes: tuple[int, ...]) -> Value:
        out = ctx.out_aval
        if not axes:
            return x
        if 0 in [x.shape[axis] for axis in axes]:
            return ctx.full(out.shape, identity(x.dtype), x.dtype)
        wide = ctx.cast(x, wide_dtype(x.dtype))
        wide, axes, count = _without_repeats(ctx, wide, axes, ufunc)
        if axes:
            rounds = ufunc is np.add and dtypes.issubdtype(wide.dtype, np.inexact)
            function = reduction(ufunc, wide.shape, axes, rounds)
            wide = ctx.call(function, wide, like=out.update(dtype=wide.dtype))
        return ctx.cast(wide if count == 1 else ctx.multiply(wide, count), x.dtype)

    return Kernel(emit)


def _without_repeats(
    ctx: Lowering, x: Value, axes: tuple[int, ...], ufunc: np.ufunc
) -> tuple[Value, tuple[int, ...], int]:
    """The value without the axes along which it is stored once: a sum over them is a product, an extremum nothing."""
    stored = (1,) * (x.ndim - len(x.stored.shape)) + x.stored.shape
    repeated = [axis for axis in axes if stored[axis] == 1]
    sums = ufunc is np.add and dtypes.issubdtype(x.dtype, np.inexact)
    if not repeated or not (sums or ufunc in (np.maximum, np.minimum, np.bitwise_and, np.bitwise_or)):
        return x, axes, 1
    count = math.prod([x.shape[axis] for axis in repeated]) if sums else 1
    kept = [axis for axis in range(x.ndim) if axis not in repeated]
    rest = ctx._reshaped(x.stored, tuple([stored[axis] for axis in kept]))
    value = Value(rest, tuple([x.shape[axis] for axis in kept]))
    return value, tuple([kept.index(axis) for axis in axes if axis not in repeated]), count


lower.table(
    {
        p.reduce_sum_p: _reduction(p.reduce_sum_p, np.add),
        p.reduce_prod_p: _reduction(p.reduce_prod_p, np.multiply),
        p.reduce_max_p: _reduction(p.reduce_max_p, np.maximum),
        p.reduce_min_p: _reduction(p.reduce_min_p, np.minimum),
        p.reduce_and_p: _reduction(p.reduce_and_p, np.bitwise_and),
        p.reduce_or_p: _reduction(p.reduce_or_p, np.bitwise_or),
        p.reduce_xor_p: _reduction(p.reduce_xor_p, np.bitwise_xor),
    }
)


def _position(name: str) -> Kernel:
    """argmax or argmin: NumPy too takes the first NaN, or the first of equal elements."""

    def emit(ctx: Lowering, x: Value, *, axes: tuple[int, ...], index_dtype: np.dtype) -> Value:
        (axis,) = axes
        method, asarray = getattr(np.ndarray, name), np.asarray
        return ctx.call(lambda x: asarray(method(x, axis), index_dtype), ctx.cast(x, wide_dtype(x.dtype)), nature=FRESH)

    return Kernel(emit)


lower.table({p.argmax_p: _position("argmax"), p.argmin_p: _position("argmin")})


# --- running totals ---


def _running(ufunc: np.ufunc) -> Callable[..., Value]:
    def emit(ctx: Lowering, x: Value, *, axis: int, reverse: bool) -> Value:
        out = ctx.out_aval
        dtype = wide_dtype(x.dtype)
        rounds = ufunc in (np.add, np.logaddexp) and dtypes.issubdtype(dtype, np.inexact)
        # The dtype is stated: NumPy would add up small integers in a wider one.
        accumulate = partial(running_totals, ufunc) if rounds else ufunc.accumulate
        backward = (*[slice(None)] * axis, slice(None, None, -1))
        wide = ctx.cast(ctx.index(x, backward) if reverse else x, dtype)
        totals = ctx.call(lambda x: accumulate(x, axis, dtype), wide, nature=FRESH, like=out.update(dtype=dtype))
        totals = ctx.cast(totals, x.dtype)
        return ctx.index(totals, backward) if reverse else totals

    return emit


lower.table(
    {
        p.cumsum_p: Kernel(_running(np.add)),
        p.cumprod_p: Kernel(_running(np.multiply)),
        p.cummax_p: Kernel(_running(np.maximum)),
        p.cummin_p: Kernel(_running(np.minimum)),
    }
)
_running_log_sum_exp = _running(np.logaddexp)


@composed(lower, p.cumlogsumexp_p)
def _cumlogsumexp(ctx: Lowering, x: Value, **params: object) -> Value:
    if not dtypes.issubdtype(x.dtype, np.complexfloating):
        return _running_log_sum_exp(ctx, x, **params)
    return ctx.inline(decomposition_jaxpr(p.cumlogsumexp_p, ctx.in_avals, params), x)
