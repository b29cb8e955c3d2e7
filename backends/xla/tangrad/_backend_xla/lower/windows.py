"""How convolutions and reductions over windows become StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import (
    accumulate,
    compare,
    extremum,
    fill_body,
    pad,
    reducer,
    same_type,
    scalar,
    select,
)
from tangrad._backend_xla.windows import convolution, padding_attribute, reduce_window
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, ShapedArray
from tangrad.extend import lax as p
from tangrad.extend.lax import ge_p, greatest, least, zero

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue
    from tangrad.typing import DType


lower = RuleSet("lower.xla", api=1)


lower.table({p.conv_general_dilated_p: convolution})


# --- reductions over windows ---------------------------------------------------------------------------------------


def _simple(combine: Any, identity: Any) -> Any:
    def rule(ctx: FunctionContext, x: IrValue, **params: Any) -> IrValue:
        out = ctx.out_aval
        start = scalar(ctx, identity(out.dtype), out.dtype)

        def body(inner: FunctionContext, a: IrValue, b: IrValue) -> Sequence[IrValue]:
            return combine(inner, a, b, out.dtype)

        return reduce_window(ctx, body, [x], [start], [out], **params)[0]

    return rule


def _add(ctx: FunctionContext, x: IrValue, y: IrValue, dtype: DType) -> Sequence[IrValue]:
    return (same_type(ctx, "stablehlo.add", x, y),)


lower.table(
    {
        p.reduce_window_sum_p: _simple(_add, zero),
        p.reduce_window_max_p: _simple(extremum("stablehlo.maximum", "GT"), least),
        p.reduce_window_min_p: _simple(extremum("stablehlo.minimum", "LT"), greatest),
    }
)


@lower.rule(p.reduce_window_p)
def _reduce_window(ctx: FunctionContext, *values: IrValue, jaxpr: ClosedJaxpr, **params: Any) -> tuple[IrValue, ...]:
    count = len(values) // 2
    return tuple(reduce_window(ctx, accumulate(jaxpr), values[:count], values[count:], ctx.out_avals, **params))


# --- the derivative of the greatest and least elements -------------------------------------------------------------


def _unselected(ctx: FunctionContext, select_prim: Primitive, dtype: np.dtype) -> IrValue:
    """A number that is selected only where there is no other."""
    return scalar(ctx, (least if select_prim is ge_p else greatest)(dtype), dtype)


@lower.rule(p.select_and_gather_add_p)
def _select_and_gather_add(
    ctx: FunctionContext, tangents: IrValue, operand: IrValue, *, select_prim: Primitive, **params: Any
) -> IrValue:
    """Elements and tangents reduced together; the pair that is there stays where the two are equal."""
    out = ctx.out_aval
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def body(inner: FunctionContext, x: IrValue, dx: Any, y: IrValue, dy: Any) -> Sequence[IrValue]:
        stays = compare(inner, direction, x, y, value)
        return select(inner, stays, x, y, value), select(inner, stays, dx, dy, value)

    infinity = np.asarray(-np.inf if select_prim is ge_p else np.inf, out.dtype)
    initial = [scalar(ctx, infinity, out.dtype), scalar(ctx, 0, out.dtype)]
    return reduce_window(ctx, body, [operand, tangents], initial, [out, out], **params)[1]


@lower.rule(p.select_and_scatter_add_p)
def _select_and_scatter_add(
    ctx: FunctionContext,
    source: IrValue,
    operand: IrValue,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: Any,
) -> IrValue:
    """With padding made beforehand: XLA's own has crashed on the CPU and on GPUs."""
    out, words = ctx.out_aval, ctx.vocabulary
    padded = out.update(shape=tuple([size + low + high for size, (low, high) in zip(out.shape, padding)]))
    if any(map(any, padding)):
        config = [(low, high, 0) for low, high in padding]
        operand = pad(ctx, operand, _unselected(ctx, select_prim, out.dtype), padded, config)
    attributes: dict[str, IrAttribute] = {
        "window_dimensions": words.integers(window_dimensions),
        "window_strides": words.integers(window_strides),
        "padding": padding_attribute(ctx, ((0, 0),) * out.ndim),
    }
    start = scalar(ctx, 0, out.dtype)
    operation = ctx.ops(
        "stablehlo.select_and_scatter", [ctx.types[padded]], [operand, source, start], attributes, regions=2
    )
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def choose(inner: FunctionContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
        return (compare(inner, direction, x, y, value),)

    fill_body(ctx, operation, choose, [out.dtype])
    fill_body(ctx, operation, reducer("stablehlo.add"), [out.dtype], region=1)
    result = operation.results[0]
    if not any(map(any, padding)):
        return result
    back = [(-low, -high, 0) for low, high in padding]
    return pad(ctx, result, start, out, back)
