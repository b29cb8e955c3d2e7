"""How sorting becomes StableHLO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.helpers import compare, scalar, transpose
from tangrad._backend_xla.loops import State, loop
from tangrad._backend_xla.sorting import sort
from tangrad.core import RuleSet, ShapedArray, decomposition_jaxpr, trace_to_closed_jaxpr
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import halve, search_sorted_p, sort_p, top_k_p

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)
lower.add(sort_p, sort)


@lower.rule(top_k_p)
def _top_k(ctx: FunctionContext, operand: IrValue, *, k: int, axis: int) -> tuple[IrValue, ...]:
    (aval,) = ctx.in_avals
    last = aval.ndim - 1
    order = list(range(aval.ndim))
    order[axis], order[last] = last, axis
    outs = ctx.out_avals
    if axis != last:
        operand = transpose(ctx, operand, _permuted(aval, order), order)
        outs = [_permuted(out, order) for out in outs]
    operation = ctx.ops("chlo.top_k", [ctx.types[out] for out in outs], (operand,), {"k": ctx.vocabulary.integer(k)})
    results: list[IrValue] = list(operation.results)
    if axis != last:
        results = [transpose(ctx, x, out, order) for x, out in zip(results, ctx.out_avals)]
    return tuple(results)


def _permuted(aval: ShapedArray, order: Sequence[int]) -> ShapedArray:
    return aval.update(shape=tuple([aval.shape[axis] for axis in order]))


@lower.rule(search_sorted_p)
def _search_sorted(ctx: FunctionContext, keys: IrValue, values: ir.Value, *, side: str, dtype: np.dtype) -> IrValue:
    """For one value a loop, which XLA compiles in a third of the time that the steps one after the other take. For many
    its steps take longer to run.
    """
    of_keys, of_values = ctx.in_avals
    size, (out,) = of_keys.shape[0], ctx.out_avals
    if of_values.shape or is_symbolic(size) or not size:
        params = {"side": side, "dtype": dtype}
        return ctx.inline(decomposition_jaxpr(search_sorted_p, ctx.in_avals, params), (keys, values))[0]
    step = trace_to_closed_jaxpr(
        lambda last, left, keys, values: halve(keys, values, last, left, side=side), (out, out, of_keys, of_values)
    )
    none, one = scalar(ctx, 0, dtype), scalar(ctx, 1, dtype)

    def condition(inner: FunctionContext, state: State) -> IrValue:
        return compare(inner, "NE", state[1], none, out)

    def body(inner: FunctionContext, state: State) -> State:
        return list(inner.inline(step, [*state, keys, values]))

    before = ctx.op("stablehlo.subtract", ctx.types[out], (none, one))
    last, _ = loop(ctx, [], [before, scalar(ctx, size, dtype)], [out, out], condition, body)
    return ctx.op("stablehlo.add", ctx.types[out], (last, one))
