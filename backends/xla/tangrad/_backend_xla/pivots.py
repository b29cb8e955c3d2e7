"""Pivots as permutations: a loop over exchanges of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.helpers import compare, iota
from tangrad.core import ShapedArray, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Value, Values


INDEX = dtypes.as_dtype("int32")


def permutation_of_pivots(ctx: FunctionContext, pivots: IrValue, aval: ShapedArray, size: int) -> IrValue:
    """The permutation of `size` rows that exchanging row i with row pivots[i], in the order of i, makes."""
    order_aval = aval.update(shape=(*aval.shape[:-1], size))
    carried = [ShapedArray((), INDEX), ShapedArray(order_aval.shape, aval.dtype), ShapedArray(aval.shape, aval.dtype)]
    types = [ctx.types[one] for one in carried]
    order = iota(ctx, order_aval, order_aval.ndim - 1)
    if 0 in order_aval.shape or aval.shape[-1] == 0:
        return order
    step = trace_to_closed_jaxpr(_exchange, carried, "exchange_rows")
    start = ctx.constant(np.asarray(0, INDEX))
    loop = ctx.ops("stablehlo.while", types, [start, order, pivots], regions=2)
    test, arguments = ctx.region(loop, 0, types)
    count = test.constant(np.asarray(aval.shape[-1], INDEX))
    test.give([compare(test, "LT", arguments[0], count, carried[0])])
    body, arguments = ctx.region(loop, 1, types)
    body.give(body.inline(step, arguments))
    return loop.results[1]


def _exchange(index: Value, order: Value, pivots: Value) -> Values:
    """One step of the loop."""
    shape = order.aval.shape
    batch = tuple(range(len(shape) - 1))
    origin = [literal(0, INDEX)] * len(batch)
    one = (*shape[:-1], 1)
    places = lax.iota_p.bind(dtype=order.aval.dtype, shape=shape, dimension=len(shape) - 1)
    pivot = lax.dynamic_slice_p.bind(pivots, *origin, index, slice_sizes=one)
    first = lax.dynamic_slice_p.bind(order, *origin, index, slice_sizes=one)
    everywhere = [
        lax.broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=(*batch, len(batch))) for x in (pivot, first)
    ]
    there = lax.eq_p.bind(places, everywhere[0])
    nothing = lax.broadcast_in_dim_p.bind(literal(0, order.aval.dtype), shape=shape, broadcast_dimensions=())
    second = lax.reduce_sum_p.bind(lax.select_n_p.bind(there, nothing, order), axes=(len(batch),))
    order = lax.select_n_p.bind(there, order, everywhere[1])
    second = lax.reshape_p.bind(second, new_sizes=one, dimensions=None)
    # With a row that is not there nothing is exchanged.
    known = lax.reshape_p.bind(lax.reduce_or_p.bind(there, axes=(len(batch),)), new_sizes=one, dimensions=None)
    second = lax.select_n_p.bind(known, first, second)
    order = lax.dynamic_update_slice_p.bind(order, second, *origin, index)
    return lax.add_p.bind(index, literal(1, INDEX)), order, pivots
