"""What contractions and convolutions share: how exactly their products are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.dimension_values import SIZE, shape_value
from tangrad._backend_xla.helpers import fill_body, same_type, scalar
from tangrad._backend_xla.mlir import IrValue, ir
from tangrad.core import ShapedArray, dtypes
from tangrad.extend.lax import is_algorithm

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import Body, Number
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute
    from tangrad.typing import DType


# --- What contractions and convolutions share: how exactly their products are computed ---


def precision_config(ctx: FunctionContext, precision: Any) -> IrAttribute:
    """The attribute for how exactly accelerators compute, of a canonical precision."""
    names = ("DEFAULT", "DEFAULT") if precision is None or is_algorithm(precision) else [p.name for p in precision]
    return ctx.vocabulary.parsed(f"[#stablehlo<precision {names[0]}>, #stablehlo<precision {names[1]}>]")


# --- Reductions over windows and convolutions as StableHLO, for the lowerings of more than one platform ---


def padding_attribute(ctx: FunctionContext, padding: tuple[tuple[int, ...], ...]) -> IrAttribute:
    """Pairs `(low, high)` as an attribute."""
    return ctx.vocabulary.integer_matrix(np.asarray(padding, np.int64).reshape(len(padding), 2))


def reduce_window(
    ctx: FunctionContext,
    body: Body,
    operands: Sequence[IrValue],
    initial: Sequence[IrValue],
    out_avals: Sequence[ShapedArray],
    *,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...],
    base_dilation: tuple[int, ...],
    window_dilation: tuple[int, ...],
) -> list[IrValue]:
    """Reduce over windows. `body(ctx, *accumulators, *elements)` combines scalars, in a region of its own."""
    words = ctx.vocabulary
    attributes: dict[str, IrAttribute] = {
        "window_dimensions": words.integers(window_dimensions),
        "window_strides": words.integers(window_strides),
        "base_dilations": words.integers(base_dilation),
        "window_dilations": words.integers(window_dilation),
        "padding": padding_attribute(ctx, padding),
    }
    types = [ctx.types[aval] for aval in out_avals]
    operation = ctx.ops("stablehlo.reduce_window", types, [*operands, *initial], attributes, regions=1)
    fill_body(ctx, operation, body, [aval.dtype for aval in out_avals])
    return list(operation.results)


def running_window(
    ctx: FunctionContext, x: IrValue, combine: Body, initial: Number, axis: int, reverse: bool
) -> IrValue:
    """Running totals along an axis of unknown size: a window of a size that is an operand.

    It becomes `reduce_window` when sizes are filled in. `combine` has the body's arguments and the dtype.
    """
    aval, words = ctx.out_aval, ctx.vocabulary
    size, rank, dtype = aval.shape[axis], aval.ndim, aval.dtype
    window: list[object] = [1] * rank
    window[axis] = size
    padding: list[object] = [0] * (2 * rank)
    padding[2 * axis + reverse] = size - 1
    ones = ctx.constant(np.ones(rank, np.int32))
    pairs = SIZE.update(shape=(rank, 2))
    around = ctx.op("stablehlo.reshape", ctx.types[pairs], (shape_value(ctx, padding),))
    scalar_type = ctx.types[ShapedArray((), dtype)]
    symbol, function = ctx.module.add_function("combine", [scalar_type] * 2, [scalar_type], {})
    inner, arguments = ctx.region(function, 0, [scalar_type] * 2)
    inner.give(combine(inner, *arguments, dtype), "func.return")
    computations = words.ir.ArrayAttr.get([words.ir.FlatSymbolRefAttr.get(symbol, words.context)], words.context)
    attributes = {
        "call_target_name": words.string("stablehlo.dynamic_reduce_window"),
        "api_version": words.integer32(2),
        "called_computations": computations,
    }
    operands = (x, scalar(ctx, initial, dtype), shape_value(ctx, window), ones, ones, ones, around)
    return ctx.op("stablehlo.custom_call", ctx.out_type, operands, attributes)


def convolution(ctx: FunctionContext, lhs: IrValue, rhs: IrValue, *, precision: object, **params: Any) -> IrValue:
    """The lowering rule of `conv_general_dilated`."""
    attributes = _convolution_attributes(ctx, precision, **params)
    (left, right), out = ctx.in_avals, ctx.out_aval
    if not dtypes.issubdtype(left.dtype, np.complexfloating):
        return ctx.op("stablehlo.convolution", ctx.types[out], (lhs, rhs), attributes)
    # XLA has no complex convolutions on most platforms. Three real ones make one.
    part = dtypes.to_floating_dtype(left.dtype)
    (a, b), (c, d) = [_parts(ctx, x, aval.update(dtype=part)) for x, aval in ((lhs, left), (rhs, right))]
    real_out = out.update(dtype=dtypes.to_floating_dtype(out.dtype))

    def convolve(x: IrValue, y: IrValue) -> IrValue:
        return ctx.op("stablehlo.convolution", ctx.types[real_out], (x, y), attributes)

    first = convolve(same_type(ctx, "stablehlo.add", a, b), c)
    second = convolve(a, same_type(ctx, "stablehlo.subtract", d, c))
    third = convolve(b, same_type(ctx, "stablehlo.add", c, d))
    real, imag = same_type(ctx, "stablehlo.subtract", first, third), same_type(ctx, "stablehlo.add", first, second)
    return ctx.op("stablehlo.complex", ctx.types[out], (real, imag))


def _parts(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> list[IrValue]:
    return [ctx.op(name, ctx.types[aval], (x,)) for name in ("stablehlo.real", "stablehlo.imag")]


def _convolution_attributes(
    ctx: FunctionContext,
    precision: object,
    *,
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...],
    lhs_dilation: tuple[int, ...],
    rhs_dilation: tuple[int, ...],
    dimension_numbers: object,
    feature_group_count: int,
    batch_group_count: int,
    preferred_element_type: DType | None,
) -> dict[str, IrAttribute]:
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


def _dimension_numbers(numbers: Any) -> Callable[[object], IrAttribute]:
    """Maker of the attribute, which writes down each array: `[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""

    def letters(spec: Sequence[int], batch: str, feature: str) -> str:
        names = [batch, feature, *map(str, range(len(spec) - 2))]
        return f"[{', '.join([names[spec.index(dimension)] for dimension in range(len(spec))])}]"

    def make(context: object) -> IrAttribute:
        lhs, rhs, out = numbers
        text = f"{letters(lhs, 'b', 'f')}x{letters(rhs, 'o', 'i')}->{letters(out, 'b', 'f')}"
        return ir.Attribute.parse(f"#stablehlo.conv<{text}>", context)

    return make
