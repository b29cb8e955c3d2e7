"""Sorting as StableHLO: one comparator, which puts floats into a total order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import compare, part, physical_aval, reshape, scalar, select
from tangrad.core import ShapedArray, dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


BOOL = ShapedArray((), bool)


def sort(
    ctx: FunctionContext, *operands: IrValue, dimension: int, is_stable: bool, num_keys: int
) -> tuple[IrValue, ...]:
    """The operands in the order of the first ones: a lowering rule."""
    words = ctx.vocabulary
    attributes = {
        "dimension": words.integer(dimension),
        "is_stable": words.true if is_stable else words.false,
    }
    columns: list[IrValue] = []
    avals: list[ShapedArray] = []
    for x, aval in zip(operands, ctx.in_avals):
        parts = [x] if physical_aval(aval) is aval else _numbers_inside(ctx, x, aval)
        columns += parts
        avals += [aval if physical_aval(aval) is aval else aval.update(dtype=physical_aval(aval).dtype)] * len(parts)
    operation = ctx.ops("stablehlo.sort", [ctx.types[aval] for aval in avals], columns, attributes, regions=1)
    elements = [aval.update(shape=()) for aval in avals]
    types = [ctx.types[aval] for aval in elements]
    inner, arguments = ctx.region(operation, 0, [kind for kind in types for _ in range(2)])
    inner.give((_is_less(inner, arguments, elements[:num_keys]),))
    results: list[IrValue] = list(operation.results)
    if len(results) == len(operands):
        return tuple(results)
    return tuple([_joined(ctx, results, aval) for aval in ctx.in_avals])


def _numbers_inside(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> list[IrValue]:
    """Elements of an extended dtype, which are sorted along with others, as so many arrays of numbers."""
    inner, rank = physical_aval(aval), aval.ndim
    number = aval.update(dtype=inner.dtype)
    parts = []
    for place in np.ndindex(*inner.shape[rank:]):
        starts, limits = (*[0] * rank, *place), (*aval.shape, *[i + 1 for i in place])
        kept = inner.update(shape=(*aval.shape, *[1] * len(place)))
        parts.append(reshape(ctx, part(ctx, x, kept, starts, limits, (1,) * inner.ndim), number))
    return parts


def _joined(ctx: FunctionContext, results: list[Any], aval: ShapedArray) -> IrValue:
    """The next of the sorted results; those of an extended dtype put together again. They are taken off the list."""
    inner, rank = physical_aval(aval), aval.ndim
    if inner is aval:
        return results.pop(0)
    single = inner.update(shape=(*aval.shape, 1))
    count = int(np.prod(inner.shape[rank:]))
    parts = [reshape(ctx, results.pop(0), single) for _ in range(count)]
    flat = inner.update(shape=(*aval.shape, count))
    return reshape(
        ctx, ctx.op("stablehlo.concatenate", ctx.types[flat], parts, {"dimension": ctx.vocabulary.integer(rank)}), aval
    )


def _is_less(ctx: FunctionContext, arguments: Sequence[IrValue], keys: Sequence[ShapedArray]) -> IrValue:
    """Whether the first of two rows comes before the second. Arguments: for each operand, its elements in both rows."""
    pairs: list[tuple[IrValue, IrValue, ShapedArray]] = []
    for position, aval in enumerate(keys):
        x, y = arguments[2 * position : 2 * position + 2]
        pairs.extend(zip(_parts(ctx, x, aval), _parts(ctx, y, aval), _part_avals(aval)))
    less: Any = None  # there is a key at least
    for x, y, aval in reversed(pairs):
        kind = "TOTALORDER" if dtypes.issubdtype(aval.dtype, np.floating) else None
        first = compare(ctx, "LT", x, y, aval, kind)
        if less is not None:
            equal = compare(ctx, "EQ", x, y, aval, kind)
            both = ctx.op("stablehlo.and", ctx.types[BOOL], (equal, less))
            first = ctx.op("stablehlo.or", ctx.types[BOOL], (first, both))
        less = first
    return less


def _part_avals(aval: ShapedArray) -> list[ShapedArray]:
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        return [aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))] * 2
    return [aval]


def _parts(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> list[IrValue]:
    """What the elements of a key are compared by: complex numbers by two floats, floats with one zero and one NaN."""
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        part = _part_avals(aval)[0]
        names = "stablehlo.real", "stablehlo.imag"
        return [_canonical(ctx, ctx.op(name, ctx.types[part], (x,)), part) for name in names]
    return [_canonical(ctx, x, aval)] if dtypes.issubdtype(aval.dtype, np.floating) else [x]


def _canonical(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    zero = scalar(ctx, 0, aval.dtype)
    one_zero = select(ctx, compare(ctx, "EQ", x, zero, aval), zero, x, aval)
    return select(ctx, compare(ctx, "NE", x, x, aval), scalar(ctx, np.nan, aval.dtype), one_zero, aval)
