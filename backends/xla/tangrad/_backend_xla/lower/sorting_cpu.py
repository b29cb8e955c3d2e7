"""Sorting numbers by their digits on CPUs, the last digit first: loops that XLA compiles as one function.

Each pass puts the numbers in the order of one digit, and those that have it in common in the order of the pass before.
Where the numbers with a digit begin follows from how often each one occurs, which the first loop counts for all passes.
XLA itself calls a function for each comparison, or sorts as C++ does, which mispredicts every other branch.

The counters are read by calls that XLA keeps: else it would read them once more where they have been changed since, and
keep a copy of all of them for that at each step. A step has several numbers, since each writes the whole state of its
loop to memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.helpers import KEPT, call_built, compare, full, loop, reshape, scalar
from tangrad._backend_xla.lower.loops_cpu import INT32, ONE_FUNCTION, convert
from tangrad.core import Primitive, ShapedArray, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax
from tangrad.extend.lax import GatherDimensionNumbers, GatherScatterMode, gather_p

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import State
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import Array, Literal
    from tangrad.typing import DType, Value

BOOL = ShapedArray((), dtypes.as_dtype("bool"))
UINT32, UINT64 = dtypes.as_dtype("uint32"), dtypes.as_dtype("uint64")
PLACE = ShapedArray((), UINT32)
HALF = 32
Body = Callable[..., "State"]
STEPS = 4  # numbers of a step, at most: a row has a multiple of them


class Radix(NamedTuple):
    """How rows of unsigned numbers of `width` bits are sorted.

    With `has_order` the results are words of 64 bits, each number with its place in the lower half. With `has_pairs`
    the numbers for zeros differ in their last bit, and those for NaN, and count as equal.
    """

    rows: int
    size: int
    width: int
    has_order: bool
    has_pairs: bool

    @property
    def key(self) -> ShapedArray:
        return ShapedArray((), dtypes.as_dtype(f"uint{self.width}"))

    @property
    def word(self) -> ShapedArray:
        return self.key.update(dtype=UINT64) if self.has_order else self.key

    @property
    def words(self) -> ShapedArray:
        return self.word.update(shape=(self.rows * self.size,))

    @property
    def bits(self) -> int:
        """Of a digit: so many that there are few passes, and that the counters stay in the nearest cache."""
        return 8 if self.width <= HALF // 2 else 11

    @property
    def digits(self) -> int:
        return -(-self.width // self.bits)

    @property
    def steps(self) -> int:
        """How many numbers a step has: with many passes fewer, which are compiled sooner."""
        return STEPS if self.digits < STEPS else STEPS // 2

    @property
    def table(self) -> ShapedArray:
        return PLACE.update(shape=((self.digits << self.bits) + 1,))

    def run(self, ctx: FunctionContext, keys: IrValue, *places: IrValue) -> State:
        """The sorted words of numbers, which have places of their own or are where they are."""
        count = min(self.digits, 2) if self.has_order else 1
        arrays = [*([] if self.has_order else [keys]), *[full(ctx, 0, self.words) for _ in range(count)]]

        def of_row(ctx: FunctionContext, row: IrValue, state: State) -> State:
            base = [] if self.rows == 1 else [_scaled(ctx, row, self.size)]
            return self.row(ctx, base, [keys, *places], state)

        arrays = _repeated(ctx, self.rows, of_row, arrays, [self.words] * len(arrays))
        return [arrays[(self.digits - self.has_order) % 2]]

    def row(self, ctx: FunctionContext, base: State, given: State, arrays: State) -> State:
        """One row, which begins at `base`; the arrays afterwards."""
        arrays = list(arrays)
        table = full(ctx, 0, self.table)
        source = None if self.has_order else 0
        keys = given[0] if self.has_order else arrays[0]

        def count(ctx: FunctionContext, at: IrValue, state: State) -> State:
            (table,) = state  # of the numbers with each digit one further on: before it are those with lesser ones
            for step in range(self.steps):
                key = _at(ctx, keys, _sum(ctx, at, step, *base), self.key)
                for digit in range(self.digits):
                    place = _sum(ctx, self.counter(ctx, key, self.key, digit), 1)
                    table = _put(ctx, table, _sum(ctx, _at(ctx, table, place, PLACE), 1), place)
            return [table]

        def add(ctx: FunctionContext, table: IrValue, at: IrValue, total: IrValue) -> State:
            return [_sum(ctx, _at(ctx, table, at, PLACE), total)]

        def add_up(ctx: FunctionContext, at: IrValue, state: State) -> State:
            table, total = state
            total = call_built(ctx, add, [table, at, total], [ctx.types[PLACE]], KEPT)[0]
            return [_put(ctx, table, total, at), total]

        table = _stepped(ctx, self.size, self.steps, count, [table], [self.table])[0]
        start = base[0] if base else scalar(ctx, 0, UINT32)
        table = _stepped(ctx, self.table.shape[0], 1, add_up, [table, start], [self.table, PLACE])[0]
        for digit in range(self.digits):
            reads = given if source is None else [arrays[source]]
            target = 0 if source is None else 1 - source
            move = self.mover(base, reads, digit)
            table, arrays[target] = _stepped(
                ctx, self.size, self.steps, move, [table, arrays[target]], [self.table, self.words]
            )
            source = target
        return arrays

    def mover(self, base: State, reads: State, digit: int) -> Body:
        """The step of a pass over words, or over numbers that become words."""
        makes_words = self.has_order and not digit

        def found(ctx: FunctionContext, step: int, at: IrValue, base: State, reads: State) -> tuple[IrValue, IrValue]:
            """A word, and the place of its counter."""
            position = _sum(ctx, at, step)
            place = _sum(ctx, position, *base)
            if not makes_words:
                word = _at(ctx, reads[0], place, self.word)
                return word, self.counter(ctx, word, self.word, digit)
            key = _at(ctx, reads[0], place, self.key)
            lower = _at(ctx, reads[1], place, PLACE) if len(reads) > 1 else position
            half = scalar(ctx, HALF, UINT64)
            upper = ctx.op("stablehlo.shift_left", ctx.types[self.word], (_converted(ctx, key, self.word), half))
            word = ctx.op("stablehlo.or", ctx.types[self.word], (upper, _converted(ctx, lower, self.word)))
            return word, self.counter(ctx, key, self.key, digit)

        def move(ctx: FunctionContext, at: IrValue, state: State) -> State:
            table, out = state
            for step in range(self.steps):

                def begin(ctx: FunctionContext, table: IrValue, at: IrValue, *more: IrValue, step: int = step) -> State:
                    count = len(base)
                    return _read(ctx, table, found(ctx, step, at, list(more[:count]), list(more[count:]))[1])

                place = call_built(ctx, begin, [table, at, *base, *reads], [ctx.types[PLACE]], KEPT)[0]
                word, counter = found(ctx, step, at, base, reads)
                table = _put(ctx, table, _sum(ctx, place, 1), counter)
                # The counters of a digit go on from those of the one before.
                out = _put(ctx, out, word, _sum(ctx, place, -digit * self.size % (1 << HALF)), self.word)
            return [table, out]

        return move

    def counter(self, ctx: FunctionContext, value: IrValue, aval: ShapedArray, digit: int) -> IrValue:
        """The place in the table for a digit of a number or a word."""
        kind, width = ctx.types[aval], dtypes.bit_width(aval.dtype)
        first = digit * self.bits + (HALF if width > self.width else 0)
        number = (
            ctx.op("stablehlo.shift_right_logical", kind, (value, scalar(ctx, first, aval.dtype))) if first else value
        )
        if first + self.bits < width:
            number = ctx.op("stablehlo.and", kind, (number, scalar(ctx, (1 << self.bits) - 1, aval.dtype)))
        place = _converted(ctx, number, PLACE)
        if self.has_pairs and not digit:
            half = ctx.op("stablehlo.shift_right_logical", kind, (value, scalar(ctx, 1, aval.dtype)))
            ends = [scalar(ctx, (1 << width - 2) * end - end // 2, aval.dtype) for end in (1, 2)]
            either = [compare(ctx, "EQ", half, end, aval) for end in ends]
            is_pair = _converted(ctx, ctx.op("stablehlo.or", ctx.types[BOOL], either), PLACE)
            place = ctx.op("stablehlo.or", ctx.types[PLACE], (place, is_pair))
        return _sum(ctx, place, digit << self.bits)


def _read(ctx: FunctionContext, table: IrValue, place: IrValue) -> State:
    return [_at(ctx, table, place, PLACE)]


def _repeated(ctx: FunctionContext, count: int, body: Body, state: State, avals: Sequence[ShapedArray]) -> State:
    return _stepped(ctx, count, 1, body, state, avals) if count > 1 else body(ctx, scalar(ctx, 0, UINT32), state)


def _stepped(ctx: FunctionContext, size: int, by: int, body: Body, state: State, avals: Sequence[ShapedArray]) -> State:
    """A loop over places."""
    start, end = scalar(ctx, 0, UINT32), scalar(ctx, size, UINT32)
    more = lambda ctx, state: compare(ctx, "LT", state[0], end, PLACE)
    step = lambda ctx, state: [_sum(ctx, state[0], by), *body(ctx, state[0], state[1:])]
    return loop(ctx, [], [start, *state], [PLACE, *avals], more, step)[1:]


def _sum(ctx: FunctionContext, x: IrValue, *terms: IrValue | int) -> IrValue:
    for term in terms:
        if term != 0:
            y = scalar(ctx, term, UINT32) if isinstance(term, int) else term
            x = ctx.op("stablehlo.add", ctx.types[PLACE], (x, y))
    return x


def _scaled(ctx: FunctionContext, x: IrValue, by: int) -> IrValue:
    return ctx.op("stablehlo.multiply", ctx.types[PLACE], (x, scalar(ctx, by, UINT32)))


def _converted(ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
    return x if x.type == ctx.types[aval] else ctx.op("stablehlo.convert", ctx.types[aval], (x,))


def _at(ctx: FunctionContext, x: IrValue, place: IrValue, aval: ShapedArray) -> IrValue:
    """The element of an array."""
    sizes = {"slice_sizes": ctx.vocabulary.integers((1,))}
    return reshape(ctx, ctx.op("stablehlo.dynamic_slice", ctx.types[aval.update(shape=(1,))], (x, place), sizes), aval)


def _put(ctx: FunctionContext, x: IrValue, element: IrValue, place: IrValue, aval: ShapedArray = PLACE) -> IrValue:
    part = reshape(ctx, element, aval.update(shape=(1,)))
    return ctx.op("stablehlo.dynamic_update_slice", x.type, (x, part, place))


# --- the rule --------------------------------------------------------------------------------------------------------

NUMBERS = {f"{kind}{width}" for kind in ("int", "uint", "float") for width in (8, 16, 32, 64)} | {"bool", "bfloat16"}
# Elements of a row, and in all. Below, XLA's sort is as fast, or what it takes less to compile outweighs many calls.
LONG, MANY = 1 << 10, 1 << 17


def goes_by_digits(avals: Sequence[ShapedArray], dimension: int, num_keys: int) -> bool:
    """Return whether the keys are numbers, and rows are long."""
    shape = avals[0].shape
    if has_symbolic(shape) or any([isinstance(aval.dtype, dtypes.ExtendedDType) for aval in avals]):
        return False
    if any([dtypes.dtype_name(aval.dtype) not in NUMBERS for aval in avals[:num_keys]]):
        return False
    if len(avals) == 1 and dtypes.dtype_name(avals[0].dtype) in ("int64", "uint64"):  # XLA is as fast with them
        return False
    return shape[dimension] >= LONG and MANY <= prod(shape) < 1 << (HALF - 2)


def sort_by_digits(
    ctx: FunctionContext, operands: Sequence[IrValue], avals: Sequence[ShapedArray], dimension: int, num_keys: int
) -> tuple[IrValue, ...]:
    """Sort as `sort` does: by one key after the other, the last one first, each in the order by those before."""
    shape, alone = avals[0].shape, len(avals) == 1
    rows = Rows(shape, dimension, -(-shape[dimension] // STEPS) * STEPS)
    count = prod(shape) // shape[dimension]
    if alone:
        dtype, is_float = avals[0].dtype, avals[0].dtype.kind not in "bui"
        radix = Radix(count, rows.size, _width(dtype), has_order=False, has_pairs=is_float)
        numbers = _inlined(ctx, lambda x: (rows.taken(_numbers(x, is_float)),), operands, avals)
        return tuple(
            _inlined(ctx, lambda x: (_elements(rows.given(x), dtype),), _sorted(ctx, radix, numbers), [radix.words])
        )
    place = avals[0].update(dtype=INT32)
    order: list[IrValue] = []
    for x, aval in zip(reversed(operands[:num_keys]), reversed(avals[:num_keys])):
        radix = Radix(count, rows.size, min(_width(aval.dtype), HALF), has_order=True, has_pairs=False)
        for half in range(-(-_width(aval.dtype) // HALF)):

            def given(x: Value, *order: Value, half: int = half, radix: Radix = radix) -> tuple[Value, ...]:
                """The numbers, and where they were if there is an order."""
                numbers = _numbers(x, False)
                numbers = shift(lax.shift_right_logical_p, numbers, HALF) if half else numbers
                numbers = convert(numbers, radix.key.dtype)
                if not order:
                    return (rows.taken(numbers),)
                return rows.taken(take(numbers, order[0], dimension)), rows.taken(convert(order[0], UINT32))

            found = _inlined(ctx, given, [x, *order], [aval, *[place] * len(order)])
            words = _sorted(ctx, radix, found)
            order = _inlined(ctx, lambda x: (convert(rows.given(x), INT32),), words, [radix.words])
    moved = lambda x, order: (take(x, order, dimension),)
    return tuple([_inlined(ctx, moved, [x, *order], [aval, place])[0] for x, aval in zip(operands, avals)])


def _width(dtype: DType) -> int:
    return max(dtypes.bit_width(dtype), 8)


def _sorted(ctx: FunctionContext, radix: Radix, given: State) -> State:
    ctx.module.looping_calls += 1
    return call_built(ctx, radix.run, given, [ctx.types[radix.words]], ONE_FUNCTION, (radix, len(given)))


def _inlined(
    ctx: FunctionContext,
    function: Callable[..., Sequence[Value]],
    operands: Sequence[IrValue],
    avals: Sequence[ShapedArray],
) -> list[IrValue]:
    return ctx.inline(trace_to_closed_jaxpr(function, avals, "sort"), operands)


# --- elements as numbers, and back ------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Arrays as rows along a dimension, one after the other, each filled up to `size`."""

    shape: tuple[int, ...]
    dimension: int
    size: int

    @property
    def order(self) -> tuple[int, ...]:
        return (*[axis for axis in range(len(self.shape)) if axis != self.dimension], self.dimension)

    def taken(self, x: Value) -> Value:
        """An array of unsigned numbers so; each row ends with the greatest ones."""
        count, size = prod(self.shape) // self.shape[self.dimension], self.shape[self.dimension]
        x = lax.reshape(lax.transpose_p.bind(x, permutation=self.order), (count, size))
        most = number_like(x, 2 * greatest(x) + 1)
        x = lax.pad_p.bind(x, most, padding_config=((0, 0, 0), (0, self.size - size, 0)))
        return lax.reshape(x, (count * self.size,))

    def given(self, x: Value) -> Value:
        """The array again."""
        count, size = prod(self.shape) // self.shape[self.dimension], self.shape[self.dimension]
        x = lax.reshape(x, (count, self.size))
        x = lax.slice_p.bind(x, start_indices=(0, 0), limit_indices=(count, size), strides=None)
        x = lax.reshape(x, tuple([self.shape[axis] for axis in self.order]))
        return lax.transpose_p.bind(x, permutation=tuple(np.argsort(self.order).tolist()))


def _numbers(x: Value, has_pairs: bool) -> Value:
    """Unsigned numbers in the order of the elements."""
    dtype = x.aval.dtype
    if dtype.kind == "b":
        return convert(x, dtypes.as_dtype("uint8"))
    if dtype.kind == "u":
        return x
    bits = bits_of(x)
    if dtype.kind != "i":
        bits = _pairs(bits, dtype) if has_pairs else float_ranks(bits, dtype)
    return _other_sign(bits, "u")


def _elements(numbers: Value, dtype: np.dtype) -> Value:
    """What `_numbers` does undone; of floats, what it does with pairs."""
    if dtype.kind in ("b", "u"):
        return convert(numbers, dtype)
    bits = _other_sign(numbers, "")
    if dtype.kind == "i":
        return bits
    most, nan = greatest(bits), _nan(dtype)
    found = mirrored(lax.sub_p.bind(bits, number_like(bits, 1)))
    below = lax.select_n_p.bind(
        lax.eq_p.bind(bits, number_like(bits, most)), full_like(bits, nan - most - 1), full_like(bits, nan)
    )
    found = lax.select_n_p.bind(lax.ge_p.bind(bits, number_like(bits, most - 1)), found, below)
    return lax.bitcast_convert_type_p.bind(found, new_dtype=dtype)


def _other_sign(x: Value, sign: str) -> Value:
    """Unsigned numbers as signed ones in the same order, or the reverse."""
    dtype = dtypes.as_dtype(f"{sign}int{dtypes.bit_width(x.aval.dtype)}")
    x = lax.bitcast_convert_type_p.bind(x, new_dtype=dtype)
    return lax.add_p.bind(x, number_like(x, -greatest(x) - 1 if not sign else greatest(x) + 1))


def _pairs(bits: Value, dtype: np.dtype) -> Array:
    """As ranks, but with a number for each zero, and one for NaN of each sign."""
    ranks = lax.add_p.bind(mirrored(bits), number_like(bits, 1))
    nan = lax.add_p.bind(
        full_like(bits, greatest(bits)), shift(lax.shift_right_arithmetic_p, bits, dtypes.bit_width(dtype) - 1)
    )
    return lax.select_n_p.bind(_is_nan(bits, dtype), ranks, nan)


def bits_of(x: Value) -> Array:
    width = dtypes.bit_width(x.aval.dtype)
    return lax.bitcast_convert_type_p.bind(x, new_dtype=dtypes.as_dtype(f"int{width}"))


def float_ranks(bits: Value, dtype: np.dtype) -> Array:
    """Integers in the order of floats, of their bits: one for both zeros, and one for all NaN, the greatest."""
    size = lax.and_p.bind(bits, number_like(bits, greatest(bits)))
    ranks = lax.select_n_p.bind(lax.eq_p.bind(size, number_like(bits, 0)), mirrored(bits), full_like(bits, 0))
    return lax.select_n_p.bind(_is_nan(bits, dtype), ranks, full_like(bits, _nan(dtype)))


def _is_nan(bits: Value, dtype: np.dtype) -> Array:
    size = lax.and_p.bind(bits, number_like(bits, greatest(bits)))
    return lax.gt_p.bind(size, number_like(bits, _bits_of(np.inf, dtype)))


def _nan(dtype: np.dtype) -> int:
    return _bits_of(np.nan, dtype) & ((1 << dtypes.bit_width(dtype) - 1) - 1)


def _bits_of(value: float, dtype: np.dtype) -> int:
    return int(np.asarray(value, dtype).view(f"int{dtypes.bit_width(dtype)}"))


def mirrored(bits: Value) -> Array:
    """Bits of floats as integers in their order, and back: below zero all but the sign are inverted."""
    last = dtypes.bit_width(bits.aval.dtype) - 1
    below = shift(lax.shift_right_arithmetic_p, bits, last)
    return lax.xor_p.bind(bits, lax.and_p.bind(below, number_like(bits, greatest(bits))))


def greatest(bits: Value) -> int:
    return (1 << (dtypes.bit_width(bits.aval.dtype) - 1)) - 1


def number_like(x: Value, value: int) -> Literal:
    return literal(value, x.aval.dtype)


def full_like(x: Value, value: int) -> Array:
    return like(x, number_like(x, value))


def like(x: Value, value: object) -> Array:
    return lax.broadcast_in_dim_p.bind(value, shape=x.aval.shape, broadcast_dimensions=())


def shift(primitive: Primitive, x: Value, by: int) -> Array:
    return primitive.bind(x, number_like(x, by))


def take(x: Value, order: Value, dimension: int) -> Array:
    """The elements in an order of their own for each row."""
    rows = tuple([axis for axis in range(x.aval.ndim) if axis != dimension])
    index = lax.broadcast_in_dim_p.bind(
        order, shape=(*order.aval.shape, 1), broadcast_dimensions=tuple(range(order.aval.ndim))
    )
    return gather_p.bind(
        x,
        index,
        dimension_numbers=GatherDimensionNumbers((), (dimension,), (dimension,), rows, rows),
        slice_sizes=(1,) * x.aval.ndim,
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )
