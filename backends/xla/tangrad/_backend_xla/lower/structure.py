"""How structural primitives, and the values of symbolic dimensions, become StableHLO.

Elements of extended dtypes (typed keys) are stored with dimensions of their own, which come last: `inside` counts them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._backend_xla.dimension_values import SIZE
from tangrad._backend_xla.helpers import (
    broadcast,
    convert,
    iota,
    pad,
    part,
    physical_aval,
    reshape,
    scalar,
    select,
    transpose,
    window,
)
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.extend import lax as p
from tangrad.extend.lax import device_put_p
from tangrad.extend.symbolic import dimension_as_value_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, DType


lower = RuleSet("lower.xla", api=1)

BOOL = dtypes.as_dtype(bool)

lower.table(
    {
        p.broadcast_in_dim_p: lambda ctx, x, *, shape, broadcast_dimensions: broadcast(
            ctx, x, ctx.out_aval, broadcast_dimensions
        ),
        p.transpose_p: lambda ctx, x, *, permutation: transpose(ctx, x, ctx.out_aval, permutation),
        p.squeeze_p: lambda ctx, x, **_: reshape(ctx, x, ctx.out_aval),
        p.iota_p: lambda ctx, *, dtype, shape, dimension: iota(ctx, ctx.out_aval, dimension),
        p.copy_p: lambda ctx, x: x,
        p.stop_gradient_p: lambda ctx, x: x,
        p.optimization_barrier_p: lambda ctx, *xs: (
            tuple(ctx.ops("stablehlo.optimization_barrier", [ctx.types[aval] for aval in ctx.out_avals], xs).results)
            if xs
            else ()
        ),
    }
)


def inside(aval: ShapedArray) -> Dimensions:
    """The sizes of the dimensions inside an element."""
    return tuple(physical_aval(aval).shape[len(aval.shape) :])


@lower.rule(p.reshape_p)
def _reshape(ctx: FunctionContext, x: IrValue, *, new_sizes: Dimensions, dimensions: tuple[int, ...]) -> IrValue:
    (aval,) = ctx.in_avals
    if dimensions is not None:
        x = transpose(ctx, x, aval.update(shape=tuple([aval.shape[d] for d in dimensions])), dimensions)
    return reshape(ctx, x, ctx.out_aval)


@lower.rule(p.rev_p)
def _rev(ctx: FunctionContext, x: IrValue, *, dimensions: tuple[int, ...]) -> IrValue:
    return ctx.op("stablehlo.reverse", ctx.out_type, (x,), {"dimensions": ctx.vocabulary.integers(tuple(dimensions))})


# --- parts ---------------------------------------------------------------------------------------------------------


@lower.rule(p.slice_p)
def _slice(
    ctx: FunctionContext,
    x: IrValue,
    *,
    start_indices: Dimensions,
    limit_indices: Dimensions,
    strides: tuple[int, ...] | None,
) -> IrValue:
    return part(ctx, x, ctx.out_aval, start_indices, limit_indices, strides or (1,) * len(start_indices))


@lower.rule(p.split_p)
def _split(ctx: FunctionContext, x: IrValue, *, sizes: Dimensions, axis: int) -> tuple[IrValue, ...]:
    (aval,) = ctx.in_avals
    parts, start = [], 0
    for size, out in zip(sizes, ctx.out_avals, strict=True):
        starts, limits = [0] * aval.ndim, list(aval.shape)
        starts[axis], limits[axis] = start, start + size
        parts.append(part(ctx, x, out, starts, limits, (1,) * aval.ndim))
        start = start + size
    return tuple(parts)


def _starts(ctx: FunctionContext, starts: Sequence[IrValue], aval: ShapedArray, index: ShapedArray) -> list[IrValue]:
    """The start indices, those of the dimensions inside an element included."""
    return [*starts, *[scalar(ctx, 0, index.dtype) for _ in inside(aval)]] if starts else list(starts)


@lower.rule(p.dynamic_slice_p)
def _dynamic_slice(ctx: FunctionContext, x: IrValue, *starts: IrValue, slice_sizes: Dimensions) -> IrValue:
    out = ctx.out_aval
    if not starts:
        return x
    index = ctx.in_avals[1]
    return window(ctx, x, physical_aval(ctx.in_avals[0]), physical_aval(out), _starts(ctx, starts, out, index), index)


@lower.rule(p.dynamic_update_slice_p)
def _dynamic_update_slice(ctx: FunctionContext, x: IrValue, update: IrValue, *starts: IrValue) -> IrValue:
    if not starts:
        return update
    operands = (x, update, *_starts(ctx, starts, ctx.out_aval, ctx.in_avals[2]))
    return ctx.op("stablehlo.dynamic_update_slice", ctx.out_type, operands)


# --- joining -------------------------------------------------------------------------------------------------------


@lower.rule(p.concatenate_p)
def _concatenate(ctx: FunctionContext, *xs: IrValue, dimension: int) -> IrValue:
    if len(xs) == 1:
        return xs[0]
    return ctx.op("stablehlo.concatenate", ctx.out_type, xs, {"dimension": ctx.vocabulary.integer(dimension)})


@lower.rule(p.pad_p)
def _pad(
    ctx: FunctionContext, x: IrValue, value: IrValue, *, padding_config: tuple[tuple[int, int, int], ...]
) -> IrValue:
    out, extra = ctx.out_aval, inside(ctx.out_aval)
    if not extra:
        return pad(ctx, x, value, out, padding_config)
    # The padding is a whole element, which is no scalar: pad with anything, and put the element where x is not.
    config = (*padding_config, *[(0, 0, 0)] * len(extra))
    physical, (aval, _) = physical_aval(out), ctx.in_avals
    padded = pad(ctx, x, scalar(ctx, 0, physical.dtype), physical, config)
    covered = ShapedArray(physical_aval(aval).shape, BOOL)
    mask = broadcast(ctx, scalar(ctx, True, BOOL), covered, ())
    mask = pad(ctx, mask, scalar(ctx, False, BOOL), ShapedArray(physical.shape, BOOL), config)
    inner = tuple(range(len(out.shape), len(physical.shape)))
    return select(ctx, mask, padded, broadcast(ctx, value, physical, inner), physical)


placement = RuleSet("lower.xla", api=1)  # nothing moves within a program, which runs in one place
placement.table({device_put_p: lambda ctx, x, *, target: x})


dimensions = RuleSet("lower.xla", api=1)


@dimensions.rule(dimension_as_value_p)
def _dimension_as_value(ctx: FunctionContext, *, dimension: object, dtype: DType) -> IrValue:
    value = ctx.size(dimension)
    return value if ctx.out_aval.dtype == SIZE.dtype else convert(ctx, value, SIZE, ctx.out_aval)
