"""How gather and the scatters become StableHLO.

StableHLO's gather clamps and its scatter drops; the other modes are added around them. Elements of extended dtypes are
windows over the dimensions inside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.dimension_values import SIZE, has_symbolic, shape_value
from tangrad._backend_xla.extrema import keeping_nan
from tangrad._backend_xla.helpers import (
    broadcast,
    compare,
    convert,
    fill_body,
    full,
    physical_aval,
    reduce_by,
    reducer,
    same_type,
    select,
)
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.core.arguments import min_size
from tangrad.extend import lax as p
from tangrad.extend.lax import GatherScatterMode, window_sizes

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.helpers import Body, Rule
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.lax import GatherDimensionNumbers, ScatterDimensionNumbers
    from tangrad.typing import Dimensions


lower = RuleSet("lower.xla", api=1)

BOOL = dtypes.as_dtype(bool)


def _list(values: Sequence[int]) -> str:
    return f"[{', '.join(map(str, values))}]"


def _limits(
    ctx: FunctionContext, operand: ShapedArray, index_map: Sequence[int], sizes: Dimensions, dtype: np.dtype
) -> IrValue:
    """The greatest index along each component at which a window is within the operand."""
    greatest = int(dtypes.iinfo(dtype).max)
    limits = [min_size(operand.shape[d] - sizes[d], greatest) for d in index_map]
    if not has_symbolic(limits):
        return ctx.constant(np.array(limits, dtype))
    found, aval = shape_value(ctx, limits), SIZE.update(shape=(len(limits),))
    return found if dtype == SIZE.dtype else convert(ctx, found, aval, aval.update(dtype=dtype))


@lower.rule(p.gather_p)
def _gather(
    ctx: FunctionContext,
    x: IrValue,
    indices: IrValue,
    *,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Dimensions,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: object,
    fill_value: Any,
) -> IrValue:
    operand, index_aval = ctx.in_avals
    offset, collapsed, index_map, operand_batching, indices_batching = dimension_numbers.astuple()
    out = ctx.out_aval
    inside = physical_aval(operand).shape[operand.ndim :]
    words = ctx.vocabulary
    numbers = words.parsed(
        f"#stablehlo.gather<offset_dims = {_list((*offset, *range(out.ndim, out.ndim + len(inside))))}, "
        f"collapsed_slice_dims = {_list(collapsed)}, operand_batching_dims = {_list(operand_batching)}, "
        f"start_indices_batching_dims = {_list(indices_batching)}, start_index_map = {_list(index_map)}, "
        f"index_vector_dim = {index_aval.ndim - 1}>"
    )
    attributes = {
        "dimension_numbers": numbers,
        "indices_are_sorted": words.true if indices_are_sorted else words.false,
    }
    if ctx.sizes and has_symbolic(slice_sizes):
        operands = (x, indices, shape_value(ctx, (*slice_sizes, *inside)))
        found = ctx.op("stablehlo.dynamic_gather", ctx.types[out], operands, attributes)
    else:
        attributes["slice_sizes"] = words.integers((*slice_sizes, *inside))
        found = ctx.op("stablehlo.gather", ctx.types[out], (x, indices), attributes)
    if mode is not GatherScatterMode.FILL_OR_DROP:
        return found
    limits = broadcast(
        ctx,
        _limits(ctx, operand, index_map, slice_sizes, index_aval.dtype),
        index_aval,
        (index_aval.ndim - 1,),
    )
    inner = physical_aval(out)
    truth = index_aval.update(dtype=BOOL)
    inside_low = compare(ctx, "GE", indices, full(ctx, 0, index_aval), index_aval)
    inside_high = compare(ctx, "LE", indices, limits, index_aval)
    both = same_type(ctx, "stablehlo.and", inside_low, inside_high)
    mask = ShapedArray(truth.shape[:-1], BOOL)
    valid = reduce_by(ctx, "stablehlo.and", both, True, (truth.ndim - 1,), mask)
    batch = tuple([d for d in range(out.ndim) if d not in offset])
    valid = broadcast(ctx, valid, ShapedArray(inner.shape, BOOL), batch)
    return select(ctx, valid, found, full(ctx, fill_value, out), inner)


def _scatter(body: Body) -> Rule:
    def rule(
        ctx: FunctionContext,
        x: IrValue,
        indices: IrValue,
        updates: IrValue,
        *,
        dimension_numbers: ScatterDimensionNumbers,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: object,
    ) -> IrValue:
        operand, index_aval, update_aval = ctx.in_avals
        window, inserted, index_map, operand_batching, indices_batching = dimension_numbers.astuple()
        if mode is GatherScatterMode.CLIP:
            sizes = window_sizes(dimension_numbers, operand.shape, update_aval.shape)
            indices = _clamped(ctx, indices, index_aval, _limits(ctx, operand, index_map, sizes, index_aval.dtype))
        inner = physical_aval(operand)
        extra = range(update_aval.ndim, update_aval.ndim + len(inner.shape) - operand.ndim)
        words = ctx.vocabulary
        numbers = words.parsed(
            f"#stablehlo.scatter<update_window_dims = {_list((*window, *extra))}, "
            f"inserted_window_dims = {_list(inserted)}, input_batching_dims = {_list(operand_batching)}, "
            f"scatter_indices_batching_dims = {_list(indices_batching)}, "
            f"scatter_dims_to_operand_dims = {_list(index_map)}, index_vector_dim = {index_aval.ndim - 1}>"
        )
        attributes = {
            "scatter_dimension_numbers": numbers,
            "indices_are_sorted": words.true if indices_are_sorted else words.false,
            "unique_indices": words.true if unique_indices else words.false,
        }
        operation = ctx.ops("stablehlo.scatter", [ctx.types[operand]], (x, indices, updates), attributes, regions=1)
        fill_body(ctx, operation, body, [inner.dtype])
        return operation.results[0]

    return rule


def _clamped(ctx: FunctionContext, indices: IrValue, aval: ShapedArray, limits: ir.Value) -> IrValue:
    """Indices moved so that every window is within the operand."""
    high = broadcast(ctx, limits, aval, (aval.ndim - 1,))
    low = full(ctx, 0, aval)
    return ctx.op("stablehlo.clamp", ctx.types[aval], (low, indices, high))


_sums = _scatter(reducer("stablehlo.add"))
lower.table(
    {
        p.scatter_p: _scatter(lambda ctx, old, new: (new,)),
        p.scatter_add_p: _sums,
        p.scatter_sub_p: _scatter(reducer("stablehlo.subtract")),
        p.scatter_mul_p: _scatter(reducer("stablehlo.multiply")),
        p.scatter_min_p: keeping_nan(_scatter(reducer("stablehlo.minimum")), _sums),
        p.scatter_max_p: keeping_nan(_scatter(reducer("stablehlo.maximum")), _sums),
    }
)
