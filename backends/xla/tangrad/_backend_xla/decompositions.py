"""Decompositions by functions of libraries: LAPACK's on CPUs, those modelled on them on GPUs.

The functions below take the name of the library's function and its options; operands, results and what is
done for empty matrices and for failures is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._backend_xla.helpers import broadcast, compare, full, iota
from tangrad._backend_xla.matrices import BOOL, INDEX, INFO, call_matrices, where_succeeded
from tangrad._backend_xla.pivots import permutation_of_pivots
from tangrad.core import ShapedArray, dtypes

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


def info_of(aval: ShapedArray) -> ShapedArray:
    """The type of what a function reports of each matrix: 0 where it succeeded."""
    return ShapedArray(aval.shape[:-2], INFO)


def is_empty(ctx: FunctionContext) -> bool:
    """Whether the first operand has no elements."""
    return 0 in ctx.in_avals[0].shape


def identities(ctx: FunctionContext) -> tuple[IrValue, ...]:
    """The results of decompositions of nothing: identities where there are matrices."""
    return tuple([identity(ctx, aval) for aval in ctx.out_avals])


def identity(ctx: FunctionContext, aval: ShapedArray) -> IrValue:
    """1 on the diagonals, 0 beside them; zeros for what is no matrix."""
    zeros = full(ctx, 0, aval)
    if 0 in aval.shape or aval.ndim < 2:
        return zeros
    index = ShapedArray(aval.shape[-2:], INDEX)
    mask = compare(ctx, "EQ", iota(ctx, index, 0), iota(ctx, index, 1), index)
    everywhere = broadcast(ctx, mask, aval.update(dtype=BOOL), (aval.ndim - 2, aval.ndim - 1))
    return ctx.op("stablehlo.select", ctx.types[aval], (everywhere, full(ctx, 1, aval), zeros))


def or_nan(
    ctx: FunctionContext, info: IrValue, values: Sequence[IrValue], avals: Sequence[ShapedArray]
) -> tuple[IrValue, ...]:
    """Those results, NaN for the matrices that the function failed with."""
    info_aval = info_of(ctx.in_avals[0])
    return tuple([where_succeeded(ctx, info, info_aval, value, aval) for value, aval in zip(values, avals)])


# --- LU and QR -----------------------------------------------------------------------------------------------------


def lu(
    ctx: FunctionContext, x: IrValue, target: str, permutation: Any = permutation_of_pivots
) -> tuple[IrValue, IrValue, IrValue]:
    """`permutation(ctx, pivots, type of the pivots, size)` makes the permutation. A zero on the diagonal of U is no
    failure.
    """
    aval, pivots_aval, order_aval = ctx.out_avals
    if 0 in aval.shape:
        return x, full(ctx, 0, pivots_aval), iota(ctx, order_aval, order_aval.ndim - 1)
    factors, pivots, _ = call_matrices(ctx, target, [aval, pivots_aval, info_of(aval)], [x], 0)
    one = full(ctx, 1, pivots_aval)
    pivots = ctx.op("stablehlo.subtract", ctx.types[pivots_aval], (pivots, one))
    return factors, pivots, permutation(ctx, pivots, pivots_aval, order_aval.shape[-1])


def geqrf(ctx: FunctionContext, a: IrValue, target: str) -> tuple[IrValue, ...]:
    """R with the Householder vectors below it, and the factors."""
    if is_empty(ctx):
        return a, full(ctx, 0, ctx.out_avals[1])
    return tuple(call_matrices(ctx, target, ctx.out_avals, [a], 0))


def geqp3(ctx: FunctionContext, a: IrValue, target: str, **config: Any) -> tuple[IrValue, IrValue, IrValue]:
    """As geqrf, with the order of the columns; zeros leave every column free."""
    aval, taus_aval, order_aval = ctx.out_avals
    if is_empty(ctx):
        return a, full(ctx, 0, taus_aval), iota(ctx, order_aval, order_aval.ndim - 1)
    packed, order, taus = call_matrices(
        ctx,
        target,
        [aval, order_aval, taus_aval],
        [a, full(ctx, 0, order_aval)],
        {0: 0, 1: 1},
        in_avals=[aval, order_aval],
        **config,
    )
    order = ctx.op("stablehlo.subtract", ctx.types[order_aval], (order, full(ctx, 1, order_aval)))
    return packed, taus, order


def householder_product(ctx: FunctionContext, a: IrValue, taus: IrValue, target: str) -> IrValue:
    """The product of the reflections."""
    aval = ctx.out_aval
    if 0 in aval.shape:
        return a
    if ctx.in_avals[1].shape[-1] == 0:
        return identity(ctx, aval)
    (out,) = call_matrices(ctx, target, [aval], [a, taus], 0)
    return out


# --- eigenvalues, reduced forms ------------------------------------------------------------------------------------


def eigh(ctx: FunctionContext, x: IrValue, target: str, **config: Any) -> tuple[IrValue, ...]:
    """The vectors and the values."""
    if is_empty(ctx):
        return identities(ctx)
    avals = [*ctx.out_avals, info_of(ctx.in_avals[0])]
    *outs, info = call_matrices(ctx, target, avals, [x], 0, **config)
    return or_nan(ctx, info, outs, ctx.out_avals)


def eig(ctx: FunctionContext, x: IrValue, target: str, wanted: tuple[bool, bool], **config: Any) -> tuple[IrValue, ...]:
    """The values, and of the left and the right vectors those that are wanted."""
    if is_empty(ctx):
        return identities(ctx)
    aval, values_aval = ctx.in_avals[0], ctx.out_avals[0]
    vectors = aval.update(dtype=values_aval.dtype)
    real = values_aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
    is_real = aval.dtype == real.dtype
    *values, left, right, info = call_matrices(
        ctx,
        target,
        [*([real, real] if is_real else [values_aval]), vectors, vectors, info_of(aval)],
        [x],
        None,
        **config,
    )
    found = ctx.op("stablehlo.complex", ctx.types[values_aval], values) if is_real else values[0]
    outs = [found, *[one for one, kept in zip((left, right), wanted) if kept]]
    return or_nan(ctx, info, outs, ctx.out_avals)


def tridiagonal(ctx: FunctionContext, a: IrValue, target: str, **config: Any) -> tuple[IrValue, ...]:
    """The vectors, the diagonal, the one beside it, and the factors."""
    if is_empty(ctx):
        return a, *[full(ctx, 0, out) for out in ctx.out_avals[1:]]
    *outs, info = call_matrices(ctx, target, [*ctx.out_avals, info_of(ctx.in_avals[0])], [a], 0, **config)
    return or_nan(ctx, info, outs, ctx.out_avals)
