"""Factorisations, solutions and decompositions as StableHLO, for the lowerings of more than one platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.helpers import broadcast, compare, custom_call, full, iota, select
from tangrad.core import Array, ShapedArray, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, Value, Values


INDEX = INFO = dtypes.as_dtype("int32")
BOOL = dtypes.as_dtype(bool)


# --- matrices --------------------------------------------------------------------------------------------------------


def lower_triangle(ctx: FunctionContext, matrix: IrValue, aval: ShapedArray) -> IrValue:
    """The matrix with 0 above the diagonal."""
    index = ShapedArray(aval.shape[-2:], INDEX)
    mask = compare(ctx, "GE", iota(ctx, index, 0), iota(ctx, index, 1), index)
    if aval.ndim > 2:
        mask = broadcast(ctx, mask, aval.update(dtype=BOOL), (aval.ndim - 2, aval.ndim - 1))
    return select(ctx, mask, matrix, full(ctx, 0, aval), aval)


def conjugate(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    """The complex conjugate."""
    kind = ctx.types[aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))]
    real, imaginary = ctx.op("stablehlo.real", kind, (x,)), ctx.op("stablehlo.imag", kind, (x,))
    return ctx.op("stablehlo.complex", ctx.types[aval], (real, ctx.op("stablehlo.negate", kind, (imaginary,))))


# --- functions of matrices that other libraries have -----------------------------------------------------------------


def column_major(avals: Sequence[ShapedArray], rank: int | None) -> list[list[int]]:
    """Layouts for arrays of matrices, of that many dimensions, in Fortran's order; all others (None: all) in C's."""
    orders = []
    for aval in avals:
        order = list(range(aval.ndim - 1, -1, -1))
        if aval.ndim == rank:
            order[0], order[1] = order[1], order[0]
        orders.append(order)
    return orders


def call_matrices(
    ctx: FunctionContext,
    target: str,
    out_avals: Sequence[ShapedArray],
    operands: Sequence[IrValue],
    alias: int | dict[int, int] | None,
    *,
    in_avals: Sequence[ShapedArray] | None = None,
    **config: object,
) -> list[IrValue]:
    """Call a function of matrices.

    Args:
        alias: the operand whose memory the first result takes over, or by result, or None.
        in_avals: the types of the operands, where they are not those of the equation.
    """
    in_avals = ctx.in_avals if in_avals is None else in_avals
    rank = max([aval.ndim for aval in in_avals])
    aliases = {0: alias} if isinstance(alias, int) else alias
    return custom_call(
        ctx,
        target,
        out_avals,
        operands,
        backend_config=config,
        aliases=aliases,
        operand_layouts=column_major(in_avals, rank),
        result_layouts=column_major(out_avals, rank),
    )


def factor_or_nan(ctx: FunctionContext, name: str, x: IrValue, **config: Any) -> IrValue:
    """The lower triangle that a function makes of matrices; NaN for those that it reports to have failed with."""
    aval = ctx.out_aval
    info_aval = ShapedArray(aval.shape[:-2], INFO)
    factor, info = call_matrices(ctx, name, [aval, info_aval], [x], 0, **config)
    return lower_triangle(ctx, where_succeeded(ctx, info, info_aval, factor, aval), aval)


def where_succeeded(
    ctx: FunctionContext, info: IrValue, info_aval: ShapedArray, value: IrValue, aval: ShapedArray
) -> IrValue:
    """The results for the matrices of which LAPACK reports no failure; NaN for the others."""
    succeeded = compare(ctx, "EQ", info, full(ctx, 0, info_aval), info_aval)
    mask = broadcast(ctx, succeeded, aval.update(dtype=BOOL), tuple(range(info_aval.ndim)))
    nan = complex(np.nan, np.nan) if dtypes.issubdtype(aval.dtype, np.complexfloating) else np.nan
    return select(ctx, mask, value, full(ctx, nan, aval), aval)


# --- algorithms ------------------------------------------------------------------------------------------------------


def triangular_solve(
    ctx: FunctionContext,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> IrValue:
    """XLA's own algorithm. It knows the adjoint, and no conjugate that is not transposed."""
    words = ctx.vocabulary
    if conjugate_a and not transpose_a:
        a, conjugate_a = conjugate(ctx, a, ctx.in_avals[0]), False
    kind = ("ADJOINT" if conjugate_a else "TRANSPOSE") if transpose_a else "NO_TRANSPOSE"
    attributes = {
        "left_side": words.true if left_side else words.false,
        "lower": words.true if lower else words.false,
        "unit_diagonal": words.true if unit_diagonal else words.false,
        "transpose_a": words.parsed(f"#stablehlo<transpose {kind}>"),
    }
    return ctx.op("stablehlo.triangular_solve", ctx.out_type, (a, b), attributes)


def cholesky_update(ctx: FunctionContext, matrix: IrValue, vector: IrValue) -> IrValue:
    """A loop over the rows, each of which is rotated against the vector so that an element of the vector vanishes."""
    carried = [ShapedArray((), INDEX), *[aval.strip_weak_type() for aval in ctx.in_avals]]
    step = trace_to_closed_jaxpr(_rotate_row, carried, "cholesky_update")
    types = [ctx.types[aval] for aval in carried]
    start = ctx.constant(np.asarray(0, INDEX))
    loop = ctx.ops("stablehlo.while", types, [start, matrix, vector], regions=2)
    test, arguments = ctx.region(loop, 0, types)
    size = test.constant(np.asarray(carried[1].shape[-1], INDEX))
    test.give([compare(test, "LT", arguments[0], size, carried[0])])
    body, arguments = ctx.region(loop, 1, types)
    body.give(body.inline(step, arguments))
    return loop.results[1]


def _rotate_row(index: Value, matrix: Value, vector: Value) -> tuple[Value, Value, Value]:
    """One step of the loop: a Givens rotation, scaled so that squares do not overflow."""
    shape = vector.aval.shape
    origin = [literal(0, INDEX)] * (len(shape) - 1)
    place = (*origin, index, literal(0, INDEX))
    row = lax.dynamic_slice_p.bind(matrix, *place, slice_sizes=(*shape[:-1], 1, shape[-1]))
    row = lax.reshape_p.bind(row, new_sizes=shape, dimensions=None)
    x, y = [lax.dynamic_slice_p.bind(v, *origin, index, slice_sizes=(*shape[:-1], 1)) for v in (row, vector)]
    cosine, sine = [_for_row(value, shape) for value in _rotation(x, y)]
    rotated = lax.sub_p.bind(lax.mul_p.bind(cosine, row), lax.mul_p.bind(sine, vector))
    vector = lax.add_p.bind(lax.mul_p.bind(cosine, vector), lax.mul_p.bind(sine, row))
    rotated = lax.reshape_p.bind(rotated, new_sizes=(*shape[:-1], 1, shape[-1]), dimensions=None)
    matrix = lax.dynamic_update_slice_p.bind(matrix, rotated, *place)
    return lax.add_p.bind(index, literal(1, INDEX)), matrix, vector


def _rotation(x: Array, y: Array) -> tuple[Array, Array]:
    """The cosine and sine that turn (x, y) into (r, 0), with r not negative unless y is 0."""
    dtype = x.aval.dtype
    scale = lax.max_p.bind(lax.abs_p.bind(x), lax.abs_p.bind(y))
    x_scaled, y_scaled = lax.div_p.bind(x, scale), lax.div_p.bind(y, scale)
    squares = lax.add_p.bind(lax.square_p.bind(x_scaled), lax.square_p.bind(y_scaled))
    length = lax.div_p.bind(literal(1, dtype), lax.sqrt_p.bind(squares))
    rests = lax.eq_p.bind(y, literal(0, dtype))
    one, zero = _like(1, x), _like(0, x)
    cosine = lax.select_n_p.bind(rests, lax.mul_p.bind(x_scaled, length), one)
    sine = lax.select_n_p.bind(rests, lax.neg_p.bind(lax.mul_p.bind(y_scaled, length)), zero)
    return cosine, sine


def _like(value: int, x: Array) -> Array:
    return lax.broadcast_in_dim_p.bind(literal(value, x.aval.dtype), shape=x.aval.shape, broadcast_dimensions=())


def _for_row(value: object, shape: Dimensions) -> Array:
    return lax.broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=tuple(range(len(shape))))


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
    ctx: FunctionContext, x: IrValue, target: str, permutation: Callable[..., IrValue] = permutation_of_pivots
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


def geqp3(ctx: FunctionContext, a: IrValue, target: str, **config: str) -> tuple[IrValue, IrValue, IrValue]:
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
