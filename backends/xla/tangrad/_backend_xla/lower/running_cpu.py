"""Running totals on CPUs: loops over blocks, which XLA compiles as one function.

XLA makes sums of sums of windows, in several loops over the whole array. Here a loop takes a block at a time into the
nearest cache and goes through several lanes of it side by side: a third of the time, and of that of compiling it. A
lane begins anew with each block; what came before it is added at the end. The totals that are carried from block to
block are wider than the elements, or in two parts, so that rounding errors do not add up over a long axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.lower.loops_cpu import (
    INT32,
    call_as_one,
    convert,
    full,
    may_loop,
    put,
    repeat,
    scaled,
    taken,
    with_bits_of,
)
from tangrad.core import Primitive, RuleSet, ShapedArray, dtypes, literal, rule_table
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import Rule
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, DType, Value

on_cpu = RuleSet("lower.xla.cpu", api=1)

Identity = Callable[[np.dtype], Any]
Combine: TypeAlias = "Callable[[Value, Value], Value]"
State: TypeAlias = "tuple[Value, ...]"
MANY, LONG = 1 << 11, 16  # elements of an array, and of its axis, at least
STEPS, LANES, WIDEST = 32, 16, 128  # of a block: along the axis, across it at least and at most; of one row twice that
UINT16 = dtypes.as_dtype("uint16")
_INTEGERS = tuple([f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)])
# Elements -> what a block is computed in and what totals are: in two parts where nothing is wider.
_WIDER = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float32", "float64"),
    "float64": ("float64", "float64"),
    "complex64": ("complex64", "complex128"),
    **{name: (name, name) for name in _INTEGERS},
}


def _in_blocks(running: Primitive, combine: Combine, identity: Identity) -> Rule:
    def rule(ctx: FunctionContext, x: IrValue, *, axis: int, reverse: bool) -> IrValue:
        aval = ctx.out_aval.strip_weak_type()
        if not may_loop(ctx.module) or not _pays(running, aval, axis):
            return rule_table("lower.xla")[running](ctx, x, axis=axis, reverse=reverse)
        scan = _Scan(combine, identity, aval.dtype, _merged(aval.shape, axis), reverse)
        x, stored = _with_bits(ctx, x, aval, _stored(aval)), _stored(aval)
        key = running, aval, axis, reverse
        found = call_as_one(ctx, lambda x: (scan.run(x),), [x], [stored], running.name, key)[0]
        return _with_bits(ctx, found, stored, aval)

    return rule


def _stored(aval: ShapedArray) -> ShapedArray:
    """What the loops take bfloat16 for, of which XLA would make float32 with each block, the whole array.

    The conversion is outside of the function: XLA fails where what a function gives is made by several threads.
    """
    return aval.update(dtype=UINT16) if dtypes.dtype_name(aval.dtype) == "bfloat16" else aval


def _with_bits(ctx: FunctionContext, x: IrValue, in_aval: ShapedArray, out_aval: ShapedArray) -> IrValue:
    return x if in_aval is out_aval else ctx.op("stablehlo.bitcast_convert", ctx.types[out_aval], (x,))


def _merged(shape: Dimensions, axis: int) -> tuple[int, int, int]:
    """The sizes before the axis, of the axis, and after it."""
    return prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])


def _pays(running: Primitive, aval: ShapedArray, axis: int) -> bool:
    name, shape = dtypes.dtype_name(aval.dtype), aval.shape
    if name not in _WIDER or has_symbolic(shape):
        return False
    if name == "complex64" and running is not p.cumsum_p:  # an order of them is made of several operations
        return False
    if name == "float64" and running is p.cumlogsumexp_p and shape[axis] > MANY:  # its totals would lose digits
        return False
    # Places are counted in int32, and may go a block beyond the end.
    return shape[axis] >= LONG and prod(shape) >= MANY and max(_merged(shape, axis)) < 1 << 30


class _Scan:
    """Running totals of arrays [rows, n, columns] along their second dimension.

    A block is [lanes, steps, columns]. All are of one size; where that does not divide the axis the second one begins
    before the first one ends, and both give what they share.
    """

    def __init__(
        self, combine: Combine, identity: Identity, dtype: DType, shape: tuple[int, int, int], reverse: bool
    ) -> None:
        self.combine, self.identity, self.dtype, self.shape, self.reverse = combine, identity, dtype, shape, reverse
        self.inner, self.wide = map(dtypes.as_dtype, _WIDER[dtypes.dtype_name(dtype)])
        self.dimensions = [dimension for dimension, size in enumerate(shape) if size > 1 or dimension == 1]
        self.in_two = combine == p.add_p.bind and self.inner == self.wide and dtypes.issubdtype(self.wide, np.floating)

    def run(self, x: Value) -> Value:
        """The totals of an array. Without dimensions of size 1, for which XLA would choose another order in memory."""
        rows, _, columns = self.shape
        shape, whole = x.aval.shape, tuple([self.shape[dimension] for dimension in self.dimensions])
        x, y = p.reshape(x, whole), full(0, whole, x.aval.dtype)
        return p.reshape(self.of_rows(x, y) if rows * columns * 2 >= LANES else self.of_one(x, y), shape)

    def of_rows(self, x: Value, y: Value) -> Value:
        """The lanes are those of several rows or columns."""
        rows, n, columns = self.shape
        lanes, width = min(rows, -(-LANES // columns)), min(columns, WIDEST)
        steps = _evenly(n, STEPS)
        count, sizes = -(-n // steps), (lanes, steps, width)

        def rows_from(number: Value, y: Value) -> Value:
            def columns_from(other: Value, y: Value) -> Value:
                def block(at: Value, state: State) -> State:
                    y, before = state[0], state[1:]
                    places = (scaled(number, lanes), self.start(at, n, steps), scaled(other, width))
                    part = self.within(self.read(x, places, sizes))
                    after = self.plus(before, taken(part, (0, self.last(at, n, steps), 0), (lanes, 1, width)))
                    return (self.written(y, part, before, places, sizes), *after)

                return repeat(count, block, (y, *self.nothing((lanes, 1, width))))[0]

            return repeat(-(-columns // width), columns_from, y)

        return repeat(-(-rows // lanes), rows_from, y)

    def of_one(self, x: Value, y: Value) -> Value:
        """The lanes are parts of one row, that follow each other."""
        rows, n, columns = self.shape
        lanes = 2 * -(-LANES // columns)
        steps = _evenly(n // lanes, 2 * STEPS)
        size, count = lanes * steps, -(-n // (lanes * steps))
        edge = (1, 1, columns)

        def row(number: Value, y: Value) -> Value:
            def block(at: Value, state: State) -> State:
                y, total = state[0], state[1:]
                places = (number, self.start(at, n, size), literal(0, INT32))
                part = self.within(p.reshape(self.read(x, places, (1, size, columns)), (lanes, steps, columns)))

                def lane(step: Value, state: State) -> State:
                    parts, (here, end) = len(state) // 2, (self.turned(step, lanes), 0 if self.reverse else steps - 1)
                    earlier = [put(each, now, (here, 0, 0)) for each, now in zip(state, state[parts:])]
                    return (*earlier, *self.plus(state[parts:], taken(part, (here, end, 0), edge)))

                earlier = repeat(lanes, lane, (*self.nothing((lanes, 1, columns)), *total))[: len(total)]
                end = self.last(at, n, size)
                lane_of_end = p.div_p.bind(end, literal(steps, INT32))
                step_of_end = p.rem_p.bind(end, literal(steps, INT32))
                before_end = tuple([taken(each, (lane_of_end, 0, 0), edge) for each in earlier])
                after = self.plus(before_end, taken(part, (lane_of_end, step_of_end, 0), edge))
                return (self.written(y, part, earlier, places, (1, size, columns)), *after)

            return repeat(count, block, (y, *self.nothing(edge)))[0]

        return repeat(rows, row, y)

    # --- where blocks are ---

    def turned(self, place: Value, size: int) -> Value:
        """A place, counted from the end if totals are."""
        return p.sub_p.bind(literal(size - 1, INT32), place) if self.reverse else place

    def start(self, at: Value, n: int, size: int) -> Value:
        """Where a block begins."""
        first = literal(n - -(-n // size) * size, INT32)
        start = p.max_p.bind(p.add_p.bind(scaled(at, size), first), literal(0, INT32))
        return self.turned(start, n - size + 1)

    def last(self, at: Value, n: int, size: int) -> Value:
        """The last element of a block before the next one begins."""
        whole, left = [literal((each or size) - 1, INT32) for each in (0, n % size)]
        is_first = p.eq_p.bind(at, literal(0, INT32))
        return self.turned(p.select_n_p.bind(is_first, whole, left) if n % size else whole, size)

    # --- a block ---

    def read(self, x: Value, places: Sequence[Value], sizes: Dimensions) -> Value:
        own = self.dimensions
        found = taken(x, [places[dimension] for dimension in own], tuple([sizes[dimension] for dimension in own]))
        return convert(with_bits_of(p.reshape(found, sizes), self.dtype), self.inner)

    def within(self, part: Value) -> Value:
        """The totals of each lane of a block alone."""
        lanes, steps, columns = part.aval.shape

        def step(at: Value, state: tuple[Value, Value]) -> tuple[Value, Value]:
            total, out = state
            place = (0, self.turned(at, steps), 0)
            total = self.combine(total, taken(part, place, (lanes, 1, columns)))
            return total, put(out, total, place)

        empty = self.identity(self.inner)
        lane, block = [full(empty, shape, self.inner) for shape in ((lanes, 1, columns), part.aval.shape)]
        return repeat(steps, step, (lane, block))[1]

    def written(self, y: Value, part: Value, before: State, places: Sequence[Value], sizes: Dimensions) -> Value:
        """`y` with the totals of a block, which come after `before`."""
        total = p.broadcast_in_dim_p.bind(self.value(before), shape=part.aval.shape, broadcast_dimensions=(0, 1, 2))
        found = with_bits_of(convert(self.combine(total, part), self.dtype), y.aval.dtype)
        own = self.dimensions
        found = p.reshape(found, tuple([sizes[dimension] for dimension in own]))
        return put(y, found, [places[dimension] for dimension in own])

    # --- what is carried from block to block ---

    def nothing(self, shape: Dimensions) -> State:
        start = full(self.identity(self.wide), shape, self.wide)
        return (start, start) if self.in_two else (start,)

    def plus(self, before: State, x: Value) -> State:
        """A total with more, and in two parts what rounding took from it."""
        total, *lost = before
        x = convert(x, self.wide)
        found: Value = self.combine(total, x)
        if not lost:
            return (found,)
        added = p.sub_p.bind(found, total)
        kept = p.sub_p.bind(found, added)
        error = p.add_p.bind(p.sub_p.bind(total, kept), p.sub_p.bind(x, added))
        return found, p.add_p.bind(lost[0], error)

    def value(self, parts: State) -> Value:
        """A total as what is added to elements. Of an infinite one no rounding is known."""
        total, *lost = parts
        if not lost:
            return convert(total, self.inner)
        exact = p.add_p.bind(total, lost[0])
        return p.select_n_p.bind(p.eq_p.bind(exact, exact), total, exact)


def _evenly(size: int, most: int) -> int:
    """Of parts of at most so many the least size with which there are no more of them."""
    return -(-size // -(-size // most))


def _log_of_sum(x: Value, y: Value) -> Value:
    difference = p.sub_p.bind(x, y)
    rest = p.log1p_p.bind(p.exp_p.bind(p.neg_p.bind(p.abs_p.bind(difference))))
    found = p.add_p.bind(p.max_p.bind(x, y), rest)
    return p.select_n_p.bind(p.eq_p.bind(difference, difference), p.add_p.bind(x, y), found)


on_cpu.table(
    {
        p.cumsum_p: _in_blocks(p.cumsum_p, p.add_p.bind, p.identities[p.reduce_sum_p]),
        p.cumprod_p: _in_blocks(p.cumprod_p, p.mul_p.bind, p.identities[p.reduce_prod_p]),
        p.cummax_p: _in_blocks(p.cummax_p, p.max_p.bind, p.identities[p.reduce_max_p]),
        p.cummin_p: _in_blocks(p.cummin_p, p.min_p.bind, p.identities[p.reduce_min_p]),
        p.cumlogsumexp_p: _in_blocks(p.cumlogsumexp_p, _log_of_sum, lambda dtype: np.asarray(-np.inf, dtype)[()]),
    }
)
