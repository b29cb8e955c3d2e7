"""How convolutions and reductions over windows become NumPy: matrix products, and whole slices combined.

`reduce_window` has no rule: the slices that it decomposes into are what would be done here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import composed, kernel
from tangrad._backend_numpy.windows.convolution import Convolution, depthwise
from tangrad._backend_numpy.windows.patches import FractionalConvolution
from tangrad._backend_numpy.windows.pooling import (
    Window,
    WindowReduction,
    gather_selected,
    scatter_selected,
    take_extrema_early,
)
from tangrad._backend_numpy.windows.streaming import stream_patches
from tangrad.core import Primitive, RuleSet, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import ge_p, greatest, least

if TYPE_CHECKING:
    from collections.abc import Callable

    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions, Params


lower = RuleSet("lower.numpy", api=1)


def computed_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which sums of a dtype are kept: one that NumPy multiplies matrices of, float32 for narrow floats."""
    if dtypes.issubdtype(dtype, np.floating) and dtypes.bit_width(dtype) < 32:
        return dtypes.as_dtype("float32")
    if dtype.isbuiltin != 1:  # integers of a few bits
        return dtypes.as_dtype("int32")
    return dtype


# --- convolution ---


@composed(lower, p.conv_general_dilated_p)
def _conv_general_dilated(
    ctx: Lowering, x: Value, w: Value, *, precision: object, preferred_element_type: np.dtype | None, **params: object
) -> Value:
    out = ctx.out_aval
    dtype = computed_dtype(out.dtype)
    x, w = ctx.cast(x, dtype), ctx.cast(w, dtype)
    if 0 in x.shape or 0 in w.shape or 0 in out.shape:  # nothing is summed over, or nothing is wanted
        return ctx.full(out.shape, 0, out.dtype)
    return ctx.cast(_convolved(ctx, x, w, out.shape, dtype, params), out.dtype)


def _convolved(ctx: Lowering, x: Value, w: Value, out: Dimensions, dtype: np.dtype, params: Params) -> Value:
    alone = depthwise(x.shape, w.shape, out, dtype, **params)
    if alone is not None:
        return ctx.call(alone, x, w, nature=FRESH, like=ctx.full(out, 0, dtype))
    if FractionalConvolution.suits(x.shape, w.shape, out, **params):
        return FractionalConvolution(x.shape, w.shape, out, dtype, **params).emit(ctx, x, w)
    convolution = Convolution(x.shape, w.shape, out, dtype, **params)
    if convolution.parts > 1:
        return ctx.call(convolution.function_in_parts(), x, w, nature=FRESH, like=ctx.full(out, 0, dtype))
    ctx.program.rewrites[stream_patches] = None
    return convolution.emit(ctx, x, w)


# --- reductions over windows ---


def _reduction(primitive: Primitive, ufunc: np.ufunc, identity: Callable[[np.dtype], np.ndarray | np.generic]) -> None:
    @composed(lower, primitive)
    def _(ctx: Lowering, x: Value, **params: Any) -> Value:
        out = ctx.out_aval
        # Extrema are exact in any dtype; sums are not.
        dtype = computed_dtype(out.dtype) if ufunc is np.add else out.dtype
        reduce = WindowReduction(Window(x.shape, out.shape, **params), ufunc, identity(dtype))
        if ufunc is not np.add:
            ctx.program.rewrites[take_extrema_early] = None
        found = ctx.call(reduce, ctx.cast(x, dtype), like=ctx.full(out.shape, 0, dtype))
        return ctx.cast(found, out.dtype)


_reduction(p.reduce_window_sum_p, np.add, lambda dtype: np.zeros((), dtype))
_reduction(p.reduce_window_max_p, np.maximum, least)
_reduction(p.reduce_window_min_p, np.minimum, greatest)


# --- the derivative of the greatest and least elements ---


@kernel(lower, p.select_and_gather_add_p, nature=FRESH)
def _select_and_gather_add(ctx: Lowering, *, select_prim: Primitive, **params: Any) -> Callable[..., np.ndarray]:
    out = ctx.out_aval
    if 0 in out.shape:
        return lambda tangents, operand: np.zeros(out.shape, out.dtype)
    return gather_selected(Window(ctx.in_avals[1].shape, out.shape, **params), out.dtype, select_prim is ge_p)


@kernel(lower, p.select_and_scatter_add_p, nature=FRESH)
def _select_and_scatter_add(ctx: Lowering, *, select_prim: Primitive, **params: Any) -> Callable[..., np.ndarray]:
    source, operand = ctx.in_avals
    if 0 in source.shape:
        return lambda source, operand: np.zeros(operand.shape, source.dtype)
    ones = (1,) * operand.ndim
    window = Window(operand.shape, source.shape, base_dilation=ones, window_dilation=ones, **params)
    return scatter_selected(window, operand.dtype, select_prim is ge_p)
