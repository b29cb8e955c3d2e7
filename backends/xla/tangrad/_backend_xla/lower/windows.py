"""How convolutions and reductions over windows become StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
from tangrad._backend_xla.mlir import ir
from tangrad._backend_xla.products import precision_config
from tangrad._backend_xla.windows import padding_attribute, reduce_window
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import ge_p, greatest, least, zero

lower = RuleSet("lower.xla", api=1)


# --- convolution ---------------------------------------------------------------------------------------------------


@lower.rule(p.conv_general_dilated_p)
def _conv_general_dilated(ctx: Any, lhs: Any, rhs: Any, *, precision: Any, **params: Any) -> Any:
    attributes = _convolution_attributes(ctx, precision, **params)
    (left, right), out = ctx.in_avals, ctx.out_aval
    if not dtypes.issubdtype(left.dtype, np.complexfloating):
        return ctx.op("stablehlo.convolution", ctx.types[out], (lhs, rhs), attributes)
    # XLA has no complex convolutions on most platforms. Three real ones make one.
    part = dtypes.to_floating_dtype(left.dtype)
    (a, b), (c, d) = [_parts(ctx, x, aval.update(dtype=part)) for x, aval in ((lhs, left), (rhs, right))]
    real_out = out.update(dtype=dtypes.to_floating_dtype(out.dtype))

    def convolve(x: Any, y: Any) -> Any:
        return ctx.op("stablehlo.convolution", ctx.types[real_out], (x, y), attributes)

    first = convolve(same_type(ctx, "stablehlo.add", a, b), c)
    second = convolve(a, same_type(ctx, "stablehlo.subtract", d, c))
    third = convolve(b, same_type(ctx, "stablehlo.add", c, d))
    real, imag = same_type(ctx, "stablehlo.subtract", first, third), same_type(ctx, "stablehlo.add", first, second)
    return ctx.op("stablehlo.complex", ctx.types[out], (real, imag))


def _parts(ctx: Any, x: Any, aval: Any) -> list[Any]:
    return [ctx.op(name, ctx.types[aval], (x,)) for name in ("stablehlo.real", "stablehlo.imag")]


def _convolution_attributes(
    ctx: Any,
    precision: Any,
    *,
    window_strides: Any,
    padding: Any,
    lhs_dilation: Any,
    rhs_dilation: Any,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: Any,
) -> dict[str, Any]:
    words = ctx.vocabulary
    return {
        "window_strides": words.integers(window_strides),
        "padding": padding_attribute(ctx, padding),
        "lhs_dilation": words.integers(lhs_dilation),
        "rhs_dilation": words.integers(rhs_dilation),
        "window_reversal": words.booleans((False,) * len(window_strides)),
        "dimension_numbers": words.made(("convolution", dimension_numbers), _dimension_numbers(dimension_numbers)),
        "feature_group_count": words.integer(feature_group_count),
        "batch_group_count": words.integer(batch_group_count),
        "precision_config": precision_config(ctx, precision),
    }


def _dimension_numbers(numbers: Any) -> Any:
    """Maker of the attribute, which writes down each array: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    def letters(spec: Sequence[int], batch: str, feature: str) -> str:
        names = [batch, feature, *map(str, range(len(spec) - 2))]
        return f"[{', '.join([names[spec.index(dimension)] for dimension in range(len(spec))])}]"

    def make(context: Any) -> Any:
        lhs, rhs, out = numbers
        text = f"{letters(lhs, 'b', 'f')}x{letters(rhs, 'o', 'i')}->{letters(out, 'b', 'f')}"
        return ir.Attribute.parse(f"#stablehlo.conv<{text}>", context)

    return make


# --- reductions over windows ---------------------------------------------------------------------------------------


def _simple(combine: Any, identity: Any) -> Any:
    def rule(ctx: Any, x: Any, **params: Any) -> Any:
        out = ctx.out_aval
        start = scalar(ctx, identity(out.dtype), out.dtype)

        def body(inner: Any, a: Any, b: Any) -> Sequence[Any]:
            return combine(inner, a, b, out.dtype)  # type: ignore[no-any-return]

        return reduce_window(ctx, body, [x], [start], [out], **params)[0]

    return rule


def _add(ctx: Any, x: Any, y: Any, dtype: Any) -> Sequence[Any]:
    return (same_type(ctx, "stablehlo.add", x, y),)


lower.table(
    {
        p.reduce_window_sum_p: _simple(_add, zero),
        p.reduce_window_max_p: _simple(extremum("stablehlo.maximum", "GT"), least),
        p.reduce_window_min_p: _simple(extremum("stablehlo.minimum", "LT"), greatest),
    }
)


@lower.rule(p.reduce_window_p)
def _reduce_window(ctx: Any, *values: Any, jaxpr: Any, **params: Any) -> Any:
    count = len(values) // 2
    return tuple(reduce_window(ctx, accumulate(jaxpr), values[:count], values[count:], ctx.out_avals, **params))


# --- the derivative of the greatest and least elements -------------------------------------------------------------


def _unselected(ctx: Any, select_prim: Any, dtype: Any) -> Any:
    """A number that is selected only where there is no other."""
    return scalar(ctx, (least if select_prim is ge_p else greatest)(dtype), dtype)


@lower.rule(p.select_and_gather_add_p)
def _select_and_gather_add(ctx: Any, tangents: Any, operand: Any, *, select_prim: Any, **params: Any) -> Any:
    """Elements and tangents reduced together; the pair that is there stays where the two are equal."""
    out = ctx.out_aval
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def body(inner: Any, x: Any, dx: Any, y: Any, dy: Any) -> Sequence[Any]:
        stays = compare(inner, direction, x, y, value)
        return select(inner, stays, x, y, value), select(inner, stays, dx, dy, value)

    infinity = np.asarray(-np.inf if select_prim is ge_p else np.inf, out.dtype)
    initial = [scalar(ctx, infinity, out.dtype), scalar(ctx, 0, out.dtype)]
    return reduce_window(ctx, body, [operand, tangents], initial, [out, out], **params)[1]


@lower.rule(p.select_and_scatter_add_p)
def _select_and_scatter_add(
    ctx: Any,
    source: Any,
    operand: Any,
    *,
    select_prim: Any,
    window_dimensions: Any,
    window_strides: Any,
    padding: Any,
) -> Any:
    """With padding made beforehand: XLA's own has crashed on the CPU and on GPUs."""
    out, words = ctx.out_aval, ctx.vocabulary
    padded = out.update(shape=tuple([size + low + high for size, (low, high) in zip(out.shape, padding)]))
    if any(map(any, padding)):
        config = [(low, high, 0) for low, high in padding]
        operand = pad(ctx, operand, _unselected(ctx, select_prim, out.dtype), padded, config)
    attributes = {
        "window_dimensions": words.integers(window_dimensions),
        "window_strides": words.integers(window_strides),
        "padding": padding_attribute(ctx, ((0, 0),) * out.ndim),
    }
    start = scalar(ctx, 0, out.dtype)
    operation = ctx.ops(
        "stablehlo.select_and_scatter", [ctx.types[padded]], [operand, source, start], attributes, regions=2
    )
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def choose(inner: Any, x: Any, y: Any) -> Sequence[Any]:
        return (compare(inner, direction, x, y, value),)

    fill_body(ctx, operation, choose, [out.dtype])
    fill_body(ctx, operation, reducer("stablehlo.add"), [out.dtype], region=1)
    result = operation.results[0]
    if not any(map(any, padding)):
        return result
    back = [(-low, -high, 0) for low, high in padding]
    return pad(ctx, result, start, out, back)
