"""How sorting becomes StableHLO: one comparator, which puts floats into a total order; and words of 64 bits on CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.helpers import State, compare, loop, part, physical_aval, reshape, scalar, select, transpose
from tangrad._backend_xla.lower.loops_cpu import convert, may_loop
from tangrad._backend_xla.lower.sorting_cpu import (
    bits_of,
    float_ranks,
    full_like,
    goes_by_digits,
    mirrored,
    number_like,
    shift,
    sort_by_digits,
    take,
)
from tangrad.core import RuleSet, ShapedArray, decomposition_jaxpr, dtypes, trace_to_closed_jaxpr
from tangrad.core.arguments import is_symbolic
from tangrad.extend import lax
from tangrad.extend.lax import (
    GatherDimensionNumbers,
    GatherScatterMode,
    gather_p,
    halve,
    search_sorted_p,
    sort_p,
    top_k_p,
)

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core import Array
    from tangrad.typing import DType, Value


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


def _joined(ctx: FunctionContext, results: list[IrValue], aval: ShapedArray) -> IrValue:
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


# --- How sorting becomes StableHLO ---

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


on_cpu = RuleSet("lower.xla.cpu", api=1)


# --- The greatest elements on CPUs: of the blocks that have them ------------------------------------------------------
# XLA searches floats of 32 bits for the greatest ones, in the order of their bits, and sorts all else. So what has no
# more bits becomes such floats in the same order. And of a long row only those blocks are searched whose own greatest
# elements are among the greatest of blocks: in each other block all are exceeded, or come after their equals, k times.

SINGLE = "float32"
# Elements in all, below which the work around it takes longer; how many times as few have to be searched.
LARGE, FEWER = 1 << 14, 4
LEAST_BLOCK = 256


@on_cpu.rule(top_k_p)
def _top_k_on_cpu(ctx: FunctionContext, operand: IrValue, *, k: int, axis: int) -> tuple[IrValue, ...]:
    aval = ctx.in_avals[0].strip_weak_type()
    form = None
    if ctx.module.meshes is None and not has_symbolic(aval.shape) and not is_symbolic(k) and k:
        form = _top_k_form(aval, k, axis)
    if form is None:
        return _top_k(ctx, operand, k=k, axis=axis)
    program = trace_to_closed_jaxpr(lambda x: form(x, k, axis), (aval,), "top_k")
    return tuple(ctx.inline(program, (operand,)))


def _top_k_form(aval: ShapedArray, k: int, axis: int) -> Callable[..., tuple[Value, ...]] | None:
    """How to find the greatest elements; None for XLA's own way."""
    size = aval.shape[axis]
    if prod(aval.shape) >= LARGE and FEWER * _searched(size, k, _block(size, k)) <= size:
        return _top_k_of_blocks
    return _top_k_of_singles if _becomes_single(aval.dtype) else None


def _block(size: int, k: int) -> int:
    """A power of 2: with about as many blocks as elements in `k` of them, where that is large."""
    return max(1 << (max(size // k, 1).bit_length() // 2), LEAST_BLOCK)


def _searched(size: int, k: int, block: int) -> int:
    """Among how many numbers is searched: the greatest ones of blocks, k blocks, and the elements behind the last."""
    return size // block + k * block + size % block


def _becomes_single(dtype: DType) -> bool:
    return dtypes.bit_width(dtype) <= HALF and dtypes.dtype_name(dtype) != SINGLE


def _top_k_of_singles(x: Value, k: int, axis: int) -> tuple[Value, Value]:
    dtype = x.aval.dtype
    if not _becomes_single(dtype):
        return top_k_p.bind(x, k=k, axis=axis)
    single = dtypes.as_dtype(SINGLE)
    if dtype.kind not in "bui":
        values, positions = top_k_p.bind(convert(x, single), k=k, axis=axis)
        return convert(values, dtype), positions
    ranks = convert(_integer_ranks(x) if dtypes.bit_width(dtype) == HALF else x, POSITION)
    singles = lax.bitcast_convert_type_p.bind(mirrored(ranks), new_dtype=single)
    positions = top_k_p.bind(singles, k=k, axis=axis)[1]
    return take(x, positions, axis), positions


def _top_k_of_blocks(x: Value, k: int, axis: int) -> tuple[Value, Value]:
    shape, last = x.aval.shape, x.aval.ndim - 1
    order = list(range(x.aval.ndim))
    order[axis], order[last] = last, axis
    if axis != last:
        x = lax.transpose_p.bind(x, permutation=tuple(order))
    size, rows = shape[axis], prod(shape) // shape[axis]
    block = _block(size, k)
    count = size // block
    x = lax.reshape(x, (rows, size))
    blocks = lax.reshape(_columns(x, 0, count * block), (rows, count, block))
    greatest = lax.reduce_max_p.bind(_halved(_total_ranks(blocks), 3), axes=(2,))
    chosen = sort_p.bind(_top_k_of_singles(greatest, k, 1)[1], dimension=1, is_stable=True, num_keys=1)[0]
    found = lax.reshape(_take_blocks(blocks, chosen), (rows, k * block))
    firsts = lax.mul_p.bind(chosen, full_like(chosen, block))
    places = lax.add_p.bind(
        lax.broadcast_in_dim_p.bind(firsts, shape=(rows, k, block), broadcast_dimensions=(0, 1)),
        lax.iota_p.bind(dtype=POSITION, shape=(rows, k, block), dimension=2),
    )
    places = lax.reshape(places, (rows, k * block))
    if count * block < size:
        rest = size - count * block
        found = lax.concatenate_p.bind(found, _columns(x, count * block, size), dimension=1)
        behind = lax.iota_p.bind(dtype=POSITION, shape=(rows, rest), dimension=1)
        behind = lax.add_p.bind(behind, full_like(behind, count * block))
        places = lax.concatenate_p.bind(places, behind, dimension=1)
    values, at = _top_k_of_singles(found, k, 1)
    results = [lax.reshape(part, (*[shape[i] for i in order[:-1]], k)) for part in (values, take(places, at, 1))]
    if axis != last:
        results = [lax.transpose_p.bind(part, permutation=tuple(order)) for part in results]
    return results[0], results[1]


def _halved(x: Value, times: int) -> Value:
    """The greater ones of both halves of each block, and so on: XLA does that with several elements at once."""
    for _ in range(times):
        rows, count, size = x.aval.shape
        halves = [
            lax.slice_p.bind(x, start_indices=(0, 0, at), limit_indices=(rows, count, at + size // 2), strides=None)
            for at in (0, size // 2)
        ]
        x = lax.max_p.bind(*halves)
    return x


def _columns(x: Value, start: int, limit: int) -> Array:
    return lax.slice_p.bind(x, start_indices=(0, start), limit_indices=(x.aval.shape[0], limit), strides=None)


def _total_ranks(x: Value) -> Value:
    """Integers in the order of the elements; of floats in that of their bits, as XLA searches them."""
    return x if x.aval.dtype.kind in "bui" else mirrored(bits_of(x))


def _take_blocks(blocks: Value, chosen: Value) -> Array:
    """Blocks of each row."""
    rows, count = chosen.aval.shape
    return gather_p.bind(
        blocks,
        lax.reshape(chosen, (rows, count, 1)),
        dimension_numbers=GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)),
        slice_sizes=(1, 1, blocks.aval.shape[2]),
        indices_are_sorted=False,
        unique_indices=True,
        mode=GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=None,
    )


# --- Sorting on CPUs: long arrays by single words of 64 bits, which XLA sorts six times as fast as anything else ---
# It has one fast way to sort, for one array of integers that are compared as such; with a comparator of several
# operations, or with several arrays, it calls a compiled function for each comparison. So key and position are packed
# into a word: words are never equal, their order is the stable order of the keys, and where an element was is seen
# from its word. Subnormal numbers are distinguished from 0, which XLA's own comparisons do not do on CPUs.

WORD, HALF = dtypes.as_dtype("int64"), 32
POSITION = dtypes.as_dtype("int32")
# Elements along the dimension, and in all: below, the work around it takes longer.
LONG, MANY = 64, 1 << 12
FLOATS = ("float16", "bfloat16", "float32")


@on_cpu.rule(sort_p)
def _sort(
    ctx: FunctionContext, *operands: IrValue, dimension: int, is_stable: bool, num_keys: int
) -> tuple[IrValue, ...]:
    avals = [aval.strip_weak_type() for aval in ctx.in_avals]
    if may_loop(ctx.module) and goes_by_digits(avals, dimension, num_keys):
        return sort_by_digits(ctx, operands, avals, dimension, num_keys)
    if num_keys == 1 and ctx.module.meshes is None and _is_worth_it(avals, dimension):
        sort_packed = _sort_alone if len(avals) == 1 else _sort_together
        program = trace_to_closed_jaxpr(lambda *xs: sort_packed(xs, dimension), avals, "sort")
        return tuple(ctx.inline(program, operands))
    return sort(ctx, *operands, dimension=dimension, is_stable=is_stable, num_keys=num_keys)


def _is_worth_it(avals: Sequence[ShapedArray], dimension: int) -> bool:
    """Whether the keys fit into half a word, the arrays are long, and XLA has no fast way of its own."""
    key = avals[0]
    if has_symbolic(key.shape) or not LONG <= key.shape[dimension] < 1 << (HALF - 1) or prod(key.shape) < MANY:
        return False
    if any([isinstance(aval.dtype, dtypes.ExtendedDType) for aval in avals]):
        return False
    if dtypes.dtype_name(key.dtype) in FLOATS:
        return True
    return len(avals) > 1 and key.dtype.kind in "bui" and dtypes.bit_width(key.dtype) <= HALF


def _sort_alone(xs: Sequence[Value], dimension: int) -> tuple[Array]:
    """One array of floats. The lowest bit of a word has the sign of its element, which zeros lack in the key."""
    (x,) = xs
    bits = bits_of(x)
    last = dtypes.bit_width(bits.aval.dtype) - 1
    sign = convert(shift(lax.shift_right_logical_p, bits, last), WORD)
    place = lax.or_p.bind(shift(lax.shift_left_p, _positions(x.aval.shape, dimension), 1), sign)
    words = _sorted_words(float_ranks(bits, x.aval.dtype), place, dimension)
    ranks = convert(shift(lax.shift_right_arithmetic_p, words, HALF), bits.aval.dtype)
    signs = convert(lax.and_p.bind(words, number_like(words, 1)), bits.aval.dtype)
    found = lax.or_p.bind(mirrored(ranks), shift(lax.shift_left_p, signs, last))
    return (lax.bitcast_convert_type_p.bind(found, new_dtype=x.aval.dtype),)


def _sort_together(xs: Sequence[Value], dimension: int) -> tuple[Value, ...]:
    """Several arrays, by the first one."""
    key = xs[0]
    ranks = float_ranks(bits_of(key), key.aval.dtype) if key.aval.dtype.kind not in "bui" else _integer_ranks(key)
    words = _sorted_words(ranks, _positions(key.aval.shape, dimension), dimension)
    order = convert(lax.and_p.bind(words, number_like(words, (1 << HALF) - 1)), POSITION)
    return tuple([take(x, order, dimension) for x in xs])


# --- words ---------------------------------------------------------------------------------------------------------


def _sorted_words(ranks: Value, places: Value, dimension: int) -> Array:
    words = lax.or_p.bind(shift(lax.shift_left_p, convert(ranks, WORD), HALF), places)
    return sort_p.bind(words, dimension=dimension, is_stable=True, num_keys=1)[0]  # stable, which is the faster way


def _positions(shape: tuple[int, ...], dimension: int) -> Array:
    return lax.iota_p.bind(dtype=WORD, shape=shape, dimension=dimension)


def _integer_ranks(x: Value) -> Value:
    """Signed words in the order of integers of half a word."""
    wide = convert(x, WORD)
    return (
        lax.sub_p.bind(wide, number_like(wide, 1 << (HALF - 1)))
        if dtypes.dtype_name(x.aval.dtype) == "uint32"
        else wide
    )
