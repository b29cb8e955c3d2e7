"""Convolutions and reductions over windows as StableHLO; for GPUs, on which XLA before 0.12 reduces no pairs, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._backend_xla import jaxlib_api
from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.extrema import MAXIMUM, MINIMUM, by_name, keeping_nan
from tangrad._backend_xla.helpers import (
    accumulate,
    compare,
    fill_body,
    full,
    pad,
    reducer,
    same_type,
    scalar,
    select,
)
from tangrad._backend_xla.library_functions import rules_for_gpus
from tangrad._backend_xla.lower.loops_cpu import INT32
from tangrad._backend_xla.lower.loops_cpu import convert as converted
from tangrad._backend_xla.windows import convolution, padding_attribute, reduce_window
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, ShapedArray, dtypes, literal, trace_to_closed_jaxpr
from tangrad.extend import lax as p
from tangrad.extend.lax import ge_p, greatest, least, zero

if TYPE_CHECKING:
    from tangrad._backend_xla.helpers import Body, Rule
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue
    from tangrad.typing import DType, Value


lower = RuleSet("lower.xla", api=1)


lower.table({p.conv_general_dilated_p: convolution})


# --- reductions over windows ---------------------------------------------------------------------------------------


def _simple(combine: Body, identity: Callable[[np.dtype], Any]) -> Rule:
    def rule(ctx: FunctionContext, x: IrValue, **params: Any) -> IrValue:
        out = ctx.out_aval
        start = scalar(ctx, identity(out.dtype), out.dtype)

        def body(inner: FunctionContext, a: IrValue, b: IrValue) -> Sequence[IrValue]:
            return combine(inner, a, b, out.dtype)

        return reduce_window(ctx, body, [x], [start], [out], **params)[0]

    return rule


def _add(ctx: FunctionContext, x: IrValue, y: IrValue, dtype: DType) -> Sequence[IrValue]:
    return (same_type(ctx, "stablehlo.add", x, y),)


_sums = _simple(_add, zero)
lower.table(
    {
        p.reduce_window_sum_p: _sums,
        p.reduce_window_max_p: keeping_nan(_simple(MAXIMUM.combine, least), _sums),
        p.reduce_window_min_p: keeping_nan(_simple(MINIMUM.combine, greatest), _sums),
    }
)


@lower.rule(p.reduce_window_p)
def _reduce_window(ctx: FunctionContext, *values: IrValue, jaxpr: ClosedJaxpr, **params: Any) -> tuple[IrValue, ...]:
    count = len(values) // 2
    named = by_name(ctx, values, jaxpr, {p.max_p: p.reduce_window_max_p, p.min_p: p.reduce_window_min_p}, **params)
    if named is not None:
        return named
    return tuple(reduce_window(ctx, accumulate(jaxpr), values[:count], values[count:], ctx.out_avals, **params))


# --- the derivative of the greatest and least elements -------------------------------------------------------------


def _unselected(ctx: FunctionContext, select_prim: Primitive, dtype: np.dtype) -> IrValue:
    """A number that is selected only where there is no other."""
    return scalar(ctx, (least if select_prim is ge_p else greatest)(dtype), dtype)


@lower.rule(p.select_and_gather_add_p)
def _select_and_gather_add(
    ctx: FunctionContext, tangents: IrValue, operand: IrValue, *, select_prim: Primitive, **params: Any
) -> IrValue:
    """Elements and tangents reduced together; the pair that is there stays where the two are equal."""
    out = ctx.out_aval
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def body(inner: FunctionContext, x: IrValue, dx: IrValue, y: IrValue, dy: IrValue) -> Sequence[IrValue]:
        stays = compare(inner, direction, x, y, value)
        return select(inner, stays, x, y, value), select(inner, stays, dx, dy, value)

    infinity = np.asarray(-np.inf if select_prim is ge_p else np.inf, out.dtype)
    initial = [scalar(ctx, infinity, out.dtype), scalar(ctx, 0, out.dtype)]
    return reduce_window(ctx, body, [operand, tangents], initial, [out, out], **params)[1]


@lower.rule(p.select_and_scatter_add_p)
def _select_and_scatter_add(
    ctx: FunctionContext,
    source: IrValue,
    operand: IrValue,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...],
) -> IrValue:
    """With padding made beforehand: XLA's own has crashed on the CPU and on GPUs."""
    out, words = ctx.out_aval, ctx.vocabulary
    padded = out.update(shape=tuple([size + low + high for size, (low, high) in zip(out.shape, padding)]))
    if any(map(any, padding)):
        config = [(low, high, 0) for low, high in padding]
        operand = pad(ctx, operand, _unselected(ctx, select_prim, out.dtype), padded, config)
    attributes: dict[str, IrAttribute] = {
        "window_dimensions": words.integers(window_dimensions),
        "window_strides": words.integers(window_strides),
        "padding": padding_attribute(ctx, ((0, 0),) * out.ndim),
    }
    start = scalar(ctx, 0, out.dtype)
    operation = ctx.ops(
        "stablehlo.select_and_scatter", [ctx.types[padded]], [operand, source, start], attributes, regions=2
    )
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def choose(inner: FunctionContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
        return (compare(inner, direction, x, y, value),)

    fill_body(ctx, operation, choose, [out.dtype])
    fill_body(ctx, operation, reducer("stablehlo.add"), [out.dtype], region=1)
    result = operation.results[0]
    if not any(map(any, padding)):
        return result
    back = [(-low, -high, 0) for low, high in padding]
    return pad(ctx, result, start, out, back)


# --- the same on CPUs ---
#
# XLA goes through the windows one element after the other. Several elements at a time are compared where each window is
# one of several arrays, of the elements at one place of all windows: a number of each window is that of what stays.
# Each element then has a sum of those windows that it stays in, in their order, or takes the one that it is in.

on_cpu = RuleSet("lower.xla.cpu", api=1)

LARGE, MOST = 1 << 13, 32  # elements at least: below, one loop is compiled sooner; places of a window at most
FLOATS = ("float16", "bfloat16", "float32", "float64")
FLOAT32 = dtypes.as_dtype("float32")


@on_cpu.rule(p.select_and_scatter_add_p)
def _shifted(
    ctx: FunctionContext,
    source: IrValue,
    operand: IrValue,
    *,
    select_prim: Primitive,
    window_dimensions: tuple[int, ...],
    window_strides: tuple[int, ...],
    padding: tuple[tuple[int, ...], ...],
) -> IrValue:
    out, of_source = ctx.out_aval.strip_weak_type(), ctx.in_avals[0].strip_weak_type()
    params = {"window_dimensions": window_dimensions, "window_strides": window_strides, "padding": padding}
    is_known = ctx.module.meshes is None and not has_symbolic(out.shape)
    is_apart = all([step >= size for step, size in zip(window_strides, window_dimensions)])
    # XLA rounds narrow floats with each addition, which is exact where there is one window alone.
    is_taken = is_known and dtypes.dtype_name(out.dtype) in (FLOATS if is_apart else FLOATS[-2:])
    if not (is_taken and prod(out.shape) >= LARGE and prod(of_source.shape) and 1 < prod(window_dimensions) <= MOST):
        return _select_and_scatter_add(ctx, source, operand, select_prim=select_prim, **params)

    def program(source: Value, operand: Value) -> Sequence[Value]:
        none = literal((least if select_prim is ge_p else greatest)(out.dtype), out.dtype)
        operand = p.pad_p.bind(operand, none, padding_config=tuple([(low, high, 0) for low, high in padding]))
        if dtypes.bit_width(out.dtype) < 32:
            source, operand = converted(source, FLOAT32), converted(operand, FLOAT32)
        windows = _Windows(window_dimensions, window_strides, of_source.shape, operand.aval.shape)
        stays = p.optimization_barrier_p.bind(windows.staying(operand, select_prim))[0]
        found = windows.taken(source, stays) if windows.are_tiles else windows.summed(source, stays)
        back = tuple([(-low, -high, 0) for low, high in padding])
        return (p.pad_p.bind(converted(found, out.dtype), literal(0, out.dtype), padding_config=back),)

    jaxpr = trace_to_closed_jaxpr(program, (of_source, out), "select_and_scatter_add")
    return ctx.inline(jaxpr, (source, operand))[0]


class _Windows(NamedTuple):
    """Windows of an array of shape `whole`, which are as many along each dimension as `counts` has."""

    dimensions: tuple[int, ...]
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    whole: tuple[int, ...]

    @property
    def are_tiles(self) -> bool:
        """Whether every element is in one of them, and in no other."""
        covered = tuple([step * count for step, count in zip(self.steps, self.counts)])
        return self.dimensions == self.steps and covered == self.whole

    @property
    def places(self) -> list[tuple[int, ...]]:
        """Those of a window's elements, in order."""
        return list(np.ndindex(*self.dimensions))

    def staying(self, x: Value, select_prim: Primitive) -> Value:
        """The number of the place whose element stays, for each window."""
        number = self.filled(0, INT32)
        best = self.at(x, (0,) * len(self.whole))
        for at, place in enumerate(self.places[1:], 1):
            here = self.at(x, place)
            stays = select_prim.bind(best, here)
            best = p.select_n_p.bind(stays, here, best)
            number = p.select_n_p.bind(stays, self.filled(at, INT32), number)
        return number

    def at(self, x: Value, place: tuple[int, ...]) -> Value:
        """The element at one place of each window."""
        limits = [start + step * (count - 1) + 1 for start, step, count in zip(place, self.steps, self.counts)]
        return p.slice_p.bind(x, start_indices=place, limit_indices=tuple(limits), strides=self.steps)

    def filled(self, value: int, dtype: DType) -> Value:
        return p.broadcast_in_dim_p.bind(literal(value, dtype), shape=self.counts, broadcast_dimensions=())

    def summed(self, source: Value, stays: Value) -> Value:
        """For each element the sum of what the windows have in which it stays: of the first windows first."""
        parts = [self.part(source, stays, at, place) for at, place in enumerate(self.places)]
        return reduce(p.add_p.bind, reversed(parts))

    def part(self, source: Value, stays: Value, at: int, place: tuple[int, ...]) -> Value:
        """What the windows have whose element at one place stays, at that element; zeros elsewhere."""
        dtype = source.aval.dtype
        is_here = p.eq_p.bind(stays, self.filled(at, INT32))
        sizes = zip(place, self.steps, self.counts, self.whole)
        config = [(start, size - start - step * (count - 1) - 1, step - 1) for start, step, count, size in sizes]
        found = p.select_n_p.bind(is_here, self.filled(0, dtype), source)
        return p.pad_p.bind(found, literal(0, dtype), padding_config=tuple(config))

    def taken(self, source: Value, stays: Value) -> Value:
        """The same of windows that have no element in common, and all together every element."""
        split = tuple([size for pair in zip(self.counts, self.dimensions) for size in pair])
        outer = tuple(range(0, len(split), 2))
        number = p.broadcast_in_dim_p.bind(literal(0, INT32), shape=split, broadcast_dimensions=())
        weights = np.cumprod([1, *self.dimensions[:0:-1]])[::-1].tolist()
        for axis, weight in enumerate(weights):
            if self.dimensions[axis] > 1:
                place = p.iota_p.bind(dtype=INT32, shape=split, dimension=2 * axis + 1)
                scale = p.broadcast_in_dim_p.bind(literal(weight, INT32), shape=split, broadcast_dimensions=())
                number = p.add_p.bind(number, p.mul_p.bind(place, scale))
        stays, source = [p.broadcast_in_dim_p.bind(x, shape=split, broadcast_dimensions=outer) for x in (stays, source)]
        nothing = p.broadcast_in_dim_p.bind(literal(0, source.aval.dtype), shape=split, broadcast_dimensions=())
        is_here = p.and_p.bind(p.eq_p.bind(stays, number), p.ne_p.bind(source, nothing))  # no zero below zero is added
        return p.reshape(p.select_n_p.bind(is_here, nothing, source), self.whole)


# --- Reductions over windows on GPUs, where XLA before 0.12 does not reduce pairs: these are packed in words ---


def _in_words(
    ctx: FunctionContext, tangents: IrValue, operand: IrValue, *, select_prim: Primitive, **params: Any
) -> IrValue:
    """An element in the upper half of a word, its tangent in the lower; a double keeps half of its bits."""
    out, (aval, _) = ctx.out_aval, ctx.in_avals
    pairs = _Pairs(out.dtype)
    value, direction = ShapedArray((), out.dtype), "GE" if select_prim is ge_p else "LE"

    def body(inner: FunctionContext, x: IrValue, y: IrValue) -> Sequence[IrValue]:
        stays = compare(inner, direction, pairs.first(inner, x), pairs.first(inner, y), value)
        return (select(inner, stays, x, y, ShapedArray((), pairs.word)),)

    infinity = scalar(ctx, -np.inf if select_prim is ge_p else np.inf, out.dtype)
    start = pairs.pack(ctx, infinity, scalar(ctx, 0, out.dtype), value)
    word = out.update(dtype=pairs.word)
    (found,) = reduce_window(ctx, body, [pairs.pack(ctx, operand, tangents, aval)], [start], [word], **params)
    return pairs.second(ctx, found, out)


class _Pairs:
    """Pairs of floats as words."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.bits = dtypes.bit_width(dtype)
        self.half = dtypes.as_dtype(f"uint{self.bits}")
        self.is_exact = self.bits < 64
        self.word = dtypes.as_dtype(f"uint{2 * self.bits}") if self.is_exact else self.half
        self.shift = self.bits if self.is_exact else self.bits // 2

    def pack(self, ctx: FunctionContext, x: IrValue, y: IrValue, aval: ShapedArray) -> IrValue:
        """The words of two values of type `aval`."""
        x, y = self._bits(ctx, x, aval), self._bits(ctx, y, aval)
        word = aval.update(dtype=self.word)
        distance = full(ctx, self.shift, word)
        if self.is_exact:
            x, y = [ctx.op("stablehlo.convert", ctx.types[word], (z,)) for z in (x, y)]
            x = same_type(ctx, "stablehlo.shift_left", x, distance)
        else:
            y = same_type(ctx, "stablehlo.shift_right_logical", y, distance)
        return same_type(ctx, "stablehlo.or", x, y)

    def _bits(self, ctx: FunctionContext, x: IrValue, aval: ShapedArray) -> IrValue:
        if not self.is_exact:
            limits = dtypes.finfo(self.dtype)
            words = ctx.vocabulary
            attributes = {
                "exponent_bits": words.integer32(limits.nexp),
                "mantissa_bits": words.integer32(self.shift - limits.nexp - 1),
            }
            x = ctx.op("stablehlo.reduce_precision", ctx.types[aval], (x,), attributes)
        return ctx.op("stablehlo.bitcast_convert", ctx.types[aval.update(dtype=self.half)], (x,))

    def first(self, ctx: FunctionContext, word: IrValue) -> IrValue:
        """The first value of a word of rank 0."""
        value, bits = ShapedArray((), self.dtype), ShapedArray((), self.half)
        if self.is_exact:
            upper = same_type(ctx, "stablehlo.shift_right_logical", word, scalar(ctx, self.shift, self.word))
            upper = ctx.op("stablehlo.convert", ctx.types[bits], (upper,))
        else:
            mask = scalar(ctx, ((1 << self.shift) - 1) << self.shift, self.word)
            upper = same_type(ctx, "stablehlo.and", word, mask)
        return ctx.op("stablehlo.bitcast_convert", ctx.types[value], (upper,))

    def second(self, ctx: FunctionContext, word: IrValue, aval: ShapedArray) -> IrValue:
        """The second values of words, of type `aval`."""
        if self.is_exact:
            lower_half = ctx.op("stablehlo.convert", ctx.types[aval.update(dtype=self.half)], (word,))
        else:
            distance = full(ctx, self.shift, aval.update(dtype=self.word))
            lower_half = same_type(ctx, "stablehlo.shift_left", word, distance)
        return ctx.op("stablehlo.bitcast_convert", ctx.types[aval], (lower_half,))


# Where it does, the rule for all platforms serves, which loses no bits.
cuda, rocm = rules_for_gpus({} if jaxlib_api.GPUS_REDUCE_PAIRS else {p.select_and_gather_add_p: _in_words})
