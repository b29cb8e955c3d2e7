"""How reductions and running totals become StableHLO: `reduce` with a body, and windows that reach to the start.

On CPUs large running totals are loops over blocks, which XLA compiles as one function.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.helpers import (
    accumulate,
    compare,
    convert,
    extremum,
    fill_body,
    iota,
    reduce,
    reducer,
    scalar,
    select,
)
from tangrad._backend_xla.jaxlib_api import VERSION
from tangrad._backend_xla.jaxlib_version import is_untested
from tangrad._backend_xla.windows import running_window
from tangrad.core import (
    ClosedJaxpr,
    Primitive,
    RuleSet,
    ShapedArray,
    decomposition_jaxpr,
    dtypes,
    literal,
    rule_table,
    trace_to_closed_jaxpr,
)
from tangrad.core.arguments import is_symbolic
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.helpers import Body, Rule
    from tangrad._backend_xla.lowering import FunctionContext, Module
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, DType, Value


lower = RuleSet("lower.xla", api=1)

Identity = Callable[[np.dtype], Any]
Combine: TypeAlias = "Callable[[Value, Value], Value]"
S = TypeVar("S")
BOOL = ShapedArray((), bool)


# --- reductions ----------------------------------------------------------------------------------------------------


def _simple(name: str) -> Body:
    body = reducer(name)
    return lambda ctx, x, y, dtype: body(ctx, x, y)


# Primitive -> how two elements are combined.
_OPERATIONS = {
    p.reduce_sum_p: _simple("stablehlo.add"),
    p.reduce_prod_p: _simple("stablehlo.multiply"),
    p.reduce_max_p: extremum("stablehlo.maximum", "GT"),
    p.reduce_min_p: extremum("stablehlo.minimum", "LT"),
    p.reduce_and_p: _simple("stablehlo.and"),
    p.reduce_or_p: _simple("stablehlo.or"),
    p.reduce_xor_p: _simple("stablehlo.xor"),
}


# Rounded at each step, sums of narrow floats lose most of their few digits, and CPUs convert at each step.
_ROUNDED = (p.reduce_sum_p, p.reduce_prod_p)
FLOAT32 = dtypes.as_dtype("float32")


def _reduction(combine: Body, identity: Identity, is_rounded: bool) -> Rule:
    """A reduction; where its steps are rounded, floats narrower than 32 bits are reduced in 32."""

    def rule(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
        (aval,), out = ctx.in_avals, ctx.out_aval
        is_wide = is_rounded and dtypes.issubdtype(out.dtype, np.floating) and dtypes.bit_width(out.dtype) < 32
        dtype = FLOAT32 if is_wide else out.dtype
        if is_wide:
            x = convert(ctx, x, aval, aval.update(dtype=dtype))

        def body(inner: FunctionContext, a: IrValue, b: IrValue) -> Sequence[IrValue]:
            return combine(inner, a, b, dtype)

        made = out.update(dtype=dtype)
        reduced = reduce(ctx, body, [x], [scalar(ctx, identity(dtype), dtype)], axes, [made])[0]
        return convert(ctx, reduced, made, out) if is_wide else reduced

    return rule


lower.table(
    {
        primitive: _reduction(body, p.identities[primitive], primitive in _ROUNDED)
        for primitive, body in _OPERATIONS.items()
    }
)


def _position(direction: str, identity: Identity) -> Rule:
    """argmax or argmin: the element and its position reduced together; NaN wins, then the first of equal elements."""

    def rule(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...], index_dtype: np.dtype) -> IrValue:
        (aval,) = ctx.in_avals
        index = aval.update(dtype=index_dtype)
        value, position, truth = ShapedArray((), aval.dtype), ShapedArray((), index_dtype), ctx.types[BOOL]

        def body(inner: FunctionContext, x: IrValue, i: ir.Value, y: IrValue, j: ir.Value) -> Sequence[IrValue]:
            beyond = compare(inner, direction, x, y, value)
            wins = inner.op("stablehlo.or", truth, (beyond, compare(inner, "NE", x, x, value)))
            tied, first = compare(inner, "EQ", x, y, value), compare(inner, "LT", i, j, position)
            chosen = inner.op("stablehlo.or", truth, (wins, inner.op("stablehlo.and", truth, (tied, first))))
            return select(inner, wins, x, y, value), select(inner, chosen, i, j, position)

        starts = [scalar(ctx, identity(aval.dtype), aval.dtype), scalar(ctx, 0, index_dtype)]
        outs = [ctx.out_aval.update(dtype=aval.dtype), ctx.out_aval]
        return reduce(ctx, body, [x, iota(ctx, index, axes[0])], starts, axes, outs)[1]

    return rule


lower.table({p.argmax_p: _position("GT", p.least), p.argmin_p: _position("LT", p.greatest)})


@lower.rule(p.reduce_p)
def _reduce(
    ctx: FunctionContext, *values: IrValue, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]
) -> tuple[IrValue, ...]:
    count = len(values) // 2
    return tuple(reduce(ctx, accumulate(jaxpr), values[:count], values[count:], dimensions, ctx.out_avals))


# --- running totals ------------------------------------------------------------------------------------------------


def _running(combine: Body, identity: Identity) -> Rule:
    """A reduction over windows as long as the axis, padded so that each ends at its element: to XLA, a scan."""

    def rule(ctx: FunctionContext, x: IrValue, *, axis: int, reverse: bool) -> IrValue:
        aval = ctx.out_aval
        size = aval.shape[axis]
        if is_symbolic(size):
            return running_window(ctx, x, combine, identity(aval.dtype), axis, reverse)
        if size == 0:
            return x
        rank, words = aval.ndim, ctx.vocabulary
        window, padding = [1] * rank, [[0, 0] for _ in range(rank)]
        window[axis] = size
        padding[axis] = [0, size - 1] if reverse else [size - 1, 0]
        ones = words.integers((1,) * rank)
        attributes = {
            "window_dimensions": words.integers(tuple(window)),
            "window_strides": ones,
            "base_dilations": ones,
            "window_dilations": ones,
            "padding": words.integer_matrix(padding),
        }
        dtype = aval.dtype
        start = scalar(ctx, identity(dtype), dtype)
        operation = ctx.ops("stablehlo.reduce_window", [ctx.out_type], [x, start], attributes, regions=1)
        fill_body(ctx, operation, lambda inner, a, b: combine(inner, a, b, dtype), [dtype])
        return operation.result

    return rule


def _log_add_exp(ctx: FunctionContext, x: IrValue, y: IrValue, dtype: DType) -> Sequence[IrValue]:
    aval = ShapedArray((), dtype)
    kind = ctx.types[aval]
    greater, difference = ctx.op("stablehlo.maximum", kind, (x, y)), ctx.op("stablehlo.subtract", kind, (x, y))
    undefined, total = compare(ctx, "NE", difference, difference, aval), ctx.op("stablehlo.add", kind, (x, y))
    less = ctx.op("stablehlo.negate", kind, (ctx.op("stablehlo.abs", kind, (difference,)),))
    rest = ctx.op("stablehlo.log_plus_one", kind, (ctx.op("stablehlo.exponential", kind, (less,)),))
    return (select(ctx, undefined, total, ctx.op("stablehlo.add", kind, (greater, rest)), aval),)


lower.table(
    {
        running: _running(_OPERATIONS[total], p.identities[total])
        for running, total in (
            (p.cumsum_p, p.reduce_sum_p),
            (p.cumprod_p, p.reduce_prod_p),
            (p.cummax_p, p.reduce_max_p),
            (p.cummin_p, p.reduce_min_p),
        )
    }
)
_running_log_sum_exp = _running(_log_add_exp, lambda dtype: np.asarray(-np.inf, dtype))


@lower.rule(p.cumlogsumexp_p)
def _cumlogsumexp(ctx: FunctionContext, x: IrValue, **params: object) -> IrValue:
    if not dtypes.issubdtype(ctx.out_aval.dtype, np.complexfloating):
        return _running_log_sum_exp(ctx, x, **params)
    return ctx.inline(decomposition_jaxpr(p.cumlogsumexp_p, tuple(ctx.in_avals), params), (x,))[0]


# --- running totals on CPUs ----------------------------------------------------------------------------------------
# XLA makes sums of sums of windows, in several loops over the whole array. Here a loop takes a block at a time into the
# nearest cache and goes through several lanes of it side by side: a third of the time, and of that of compiling it. A
# lane begins anew with each block; what came before it is added at the end. The totals that are carried from block to
# block are wider than the elements, or in two parts, so that rounding errors do not add up over a long axis.

on_cpu = RuleSet("lower.xla.cpu", api=1)

_ONE_FUNCTION = '{inlineable = "false", xla_cpu_small_call = "true"}'  # XLA compiles such a call with its loops as one
MANY, LONG = 1 << 11, 16  # elements of an array, and of its axis, at least
STEPS, LANES, WIDEST = 32, 16, 128  # of a block: along the axis, across it at least and at most; of one row twice that
State: TypeAlias = "tuple[Value, ...]"
INT32, UINT16 = dtypes.as_dtype("int32"), dtypes.as_dtype("uint16")
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


# What a module has as functions: a program for each operation, type, axis and direction.
_programs: WeakKeyDictionary[Module, dict[Hashable, ClosedJaxpr]] = WeakKeyDictionary()


def _in_blocks(running: Primitive, combine: Combine, identity: Identity) -> Rule:
    def rule(ctx: FunctionContext, x: IrValue, *, axis: int, reverse: bool) -> IrValue:
        aval = ctx.out_aval.strip_weak_type()
        if not ctx.module.keeps_calls or ctx.module.is_portable or not _pays(running, aval, axis):
            return rule_table("lower.xla")[running](ctx, x, axis=axis, reverse=reverse)
        programs, key = _programs.setdefault(ctx.module, {}), (running, aval, axis, reverse)
        program = programs.get(key)
        if program is None:
            scan = _Scan(combine, identity, aval.dtype, _merged(aval.shape, axis), reverse)
            program = trace_to_closed_jaxpr(lambda x: (scan.run(x),), [_stored(aval)], running.name)
            programs[key] = program
        x = _with_bits(ctx, x, aval, _stored(aval))
        ctx.module.looping_calls += 1
        found = ctx.call(program, (x,), running.name, ctx.vocabulary.parsed(_ONE_FUNCTION))[0]
        return _with_bits(ctx, found, _stored(aval), aval)

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
    if is_untested(VERSION) or name not in _WIDER or has_symbolic(shape):
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
        x, y = p.reshape(x, whole), _full(0, whole, x.aval.dtype)
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
                    places = (_scaled(number, lanes), self.start(at, n, steps), _scaled(other, width))
                    part = self.within(self.read(x, places, sizes))
                    after = self.plus(before, _moved(part, (0, self.last(at, n, steps), 0), (lanes, 1, width)))
                    return (self.written(y, part, before, places, sizes), *after)

                return _repeat(count, block, (y, *self.nothing((lanes, 1, width))))[0]

            return _repeat(-(-columns // width), columns_from, y)

        return _repeat(-(-rows // lanes), rows_from, y)

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
                    earlier = [_put(each, now, (here, 0, 0)) for each, now in zip(state, state[parts:])]
                    return (*earlier, *self.plus(state[parts:], _moved(part, (here, end, 0), edge)))

                earlier = _repeat(lanes, lane, (*self.nothing((lanes, 1, columns)), *total))[: len(total)]
                end = self.last(at, n, size)
                lane_of_end = p.div_p.bind(end, literal(steps, INT32))
                step_of_end = p.rem_p.bind(end, literal(steps, INT32))
                before_end = tuple([_moved(each, (lane_of_end, 0, 0), edge) for each in earlier])
                after = self.plus(before_end, _moved(part, (lane_of_end, step_of_end, 0), edge))
                return (self.written(y, part, earlier, places, (1, size, columns)), *after)

            return _repeat(count, block, (y, *self.nothing(edge)))[0]

        return _repeat(rows, row, y)

    # --- where blocks are ---

    def turned(self, place: Value, size: int) -> Value:
        """A place, counted from the end if totals are."""
        return p.sub_p.bind(literal(size - 1, INT32), place) if self.reverse else place

    def start(self, at: Value, n: int, size: int) -> Value:
        """Where a block begins."""
        first = literal(n - -(-n // size) * size, INT32)
        start = p.max_p.bind(p.add_p.bind(_scaled(at, size), first), literal(0, INT32))
        return self.turned(start, n - size + 1)

    def last(self, at: Value, n: int, size: int) -> Value:
        """The last element of a block before the next one begins."""
        whole, left = [literal((each or size) - 1, INT32) for each in (0, n % size)]
        is_first = p.eq_p.bind(at, literal(0, INT32))
        return self.turned(p.select_n_p.bind(is_first, whole, left) if n % size else whole, size)

    # --- a block ---

    def read(self, x: Value, places: Sequence[Value], sizes: Dimensions) -> Value:
        own = self.dimensions
        found = _moved(x, [places[dimension] for dimension in own], tuple([sizes[dimension] for dimension in own]))
        return _convert(_with_bits_of(p.reshape(found, sizes), self.dtype), self.inner)

    def within(self, part: Value) -> Value:
        """The totals of each lane of a block alone."""
        lanes, steps, columns = part.aval.shape

        def step(at: Value, state: tuple[Value, Value]) -> tuple[Value, Value]:
            total, out = state
            place = (0, self.turned(at, steps), 0)
            total = self.combine(total, _moved(part, place, (lanes, 1, columns)))
            return total, _put(out, total, place)

        empty = self.identity(self.inner)
        lane, block = [_full(empty, shape, self.inner) for shape in ((lanes, 1, columns), part.aval.shape)]
        return _repeat(steps, step, (lane, block))[1]

    def written(self, y: Value, part: Value, before: State, places: Sequence[Value], sizes: Dimensions) -> Value:
        """`y` with the totals of a block, which come after `before`."""
        total = p.broadcast_in_dim_p.bind(self.value(before), shape=part.aval.shape, broadcast_dimensions=(0, 1, 2))
        found = _with_bits_of(_convert(self.combine(total, part), self.dtype), y.aval.dtype)
        own = self.dimensions
        found = p.reshape(found, tuple([sizes[dimension] for dimension in own]))
        return _put(y, found, [places[dimension] for dimension in own])

    # --- what is carried from block to block ---

    def nothing(self, shape: Dimensions) -> State:
        start = _full(self.identity(self.wide), shape, self.wide)
        return (start, start) if self.in_two else (start,)

    def plus(self, before: State, x: Value) -> State:
        """A total with more, and in two parts what rounding took from it."""
        total, *lost = before
        x = _convert(x, self.wide)
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
            return _convert(total, self.inner)
        exact = p.add_p.bind(total, lost[0])
        return p.select_n_p.bind(p.eq_p.bind(exact, exact), total, exact)


def _evenly(size: int, most: int) -> int:
    """Of parts of at most so many the least size with which there are no more of them."""
    return -(-size // -(-size // most))


def _repeat(count: int, body: Callable[[Value, S], S], state: S) -> S:
    if count == 1:
        return body(literal(0, INT32), state)

    def step(state: tuple[Value, S]) -> tuple[Value, S]:
        at, inner = state
        return p.add_p.bind(at, literal(1, INT32)), body(at, inner)

    return p.while_loop(lambda state: p.lt_p.bind(state[0], literal(count, INT32)), step, (literal(0, INT32), state))[1]


def _full(value: object, shape: Dimensions, dtype: DType) -> Value:
    return p.broadcast_in_dim(literal(value, dtype), shape, ())


def _convert(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype == dtype else p.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _with_bits_of(x: Value, dtype: DType) -> Value:
    return x if x.aval.dtype == dtype else p.bitcast_convert_type_p.bind(x, new_dtype=dtype)


def _scaled(number: Value, by: int) -> Value:
    return p.mul_p.bind(number, literal(by, INT32))


def _moved(x: Value, places: Sequence[Value | int], sizes: Dimensions) -> Value:
    return p.dynamic_slice_p.bind(x, *_indices(places), slice_sizes=sizes)


def _put(x: Value, part: Value, places: Sequence[Value | int]) -> Value:
    return p.dynamic_update_slice_p.bind(x, part, *_indices(places))


def _indices(places: Sequence[Value | int]) -> list[Value]:
    return [literal(place, INT32) if isinstance(place, int) else place for place in places]


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
