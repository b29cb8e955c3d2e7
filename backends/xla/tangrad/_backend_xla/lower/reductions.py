"""How reductions and running totals become StableHLO: `reduce` with a body, and windows that reach to the start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._backend_xla.dimension_values import has_symbolic
from tangrad._backend_xla.extrema import MAXIMUM, MINIMUM, by_name, keeping_nan, loses_nan
from tangrad._backend_xla.helpers import (
    accumulate,
    compare,
    convert,
    fill_body,
    iota,
    reduce,
    reducer,
    scalar,
    select,
)
from tangrad._backend_xla.lower.loops_cpu import INT32
from tangrad._backend_xla.lower.loops_cpu import convert as converted
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
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import DType, Value


lower = RuleSet("lower.xla", api=1)

Identity = Callable[[np.dtype], Any]
BOOL = ShapedArray((), bool)


# --- reductions ----------------------------------------------------------------------------------------------------


def _simple(name: str) -> Body:
    body = reducer(name)
    return lambda ctx, x, y, dtype: body(ctx, x, y)


# Primitive -> how two elements are combined.
_OPERATIONS = {
    p.reduce_sum_p: _simple("stablehlo.add"),
    p.reduce_prod_p: _simple("stablehlo.multiply"),
    p.reduce_max_p: MAXIMUM.combine,
    p.reduce_min_p: MINIMUM.combine,
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


_RULES = {
    primitive: _reduction(body, p.identities[primitive], primitive in _ROUNDED)
    for primitive, body in _OPERATIONS.items()
}
for _primitive in (p.reduce_max_p, p.reduce_min_p):
    _RULES[_primitive] = keeping_nan(_RULES[_primitive], _RULES[p.reduce_sum_p])
lower.table(_RULES)


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
    named = by_name(ctx, values, jaxpr, {p.max_p: p.reduce_max_p, p.min_p: p.reduce_min_p}, axes=dimensions)
    if named is not None:
        return named
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


_TOTALS = {
    running: _running(_OPERATIONS[total], p.identities[total])
    for running, total in (
        (p.cumsum_p, p.reduce_sum_p),
        (p.cumprod_p, p.reduce_prod_p),
        (p.cummax_p, p.reduce_max_p),
        (p.cummin_p, p.reduce_min_p),
    )
}
for _primitive in (p.cummax_p, p.cummin_p):
    _TOTALS[_primitive] = keeping_nan(_TOTALS[_primitive], _TOTALS[p.cumsum_p])
lower.table(_TOTALS)
_running_log_sum_exp = _running(_log_add_exp, lambda dtype: np.asarray(-np.inf, dtype))


@lower.rule(p.cumlogsumexp_p)
def _cumlogsumexp(ctx: FunctionContext, x: IrValue, **params: object) -> IrValue:
    if not dtypes.issubdtype(ctx.out_aval.dtype, np.complexfloating):
        return _running_log_sum_exp(ctx, x, **params)
    return ctx.inline(decomposition_jaxpr(p.cumlogsumexp_p, tuple(ctx.in_avals), params), (x,))[0]


# --- on CPUs: positions and truth values ---
#
# XLA reduces pairs, truth values, and whatever is along the last dimension, one element after the other. Along another
# dimension it compares several at once. So there a position is found in two reductions, of the greatest element and of
# the positions of its equals (0.2 to 0.5 of the time), and rows of truth values are in parts side by side (0.3 to 0.6).

on_cpu = RuleSet("lower.xla.cpu", api=1)

MANY = 1 << 16  # elements in all: below, either takes as long, and one reduction is compiled sooner
SMALLEST, WIDEST = 16, 64  # numbers of truth values side by side
LINES = 16  # of them that are reduced together
ELEMENTS = frozenset(["bool", "float16", "bfloat16", "float32", "float64"]) | {
    f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)
}


def _is_large(ctx: FunctionContext, aval: ShapedArray) -> bool:
    shape = aval.shape
    return ctx.module.meshes is None and not has_symbolic(shape) and MANY <= prod(shape) < 1 << 31


def _apart(x: Value) -> Value:
    """The value as an array in memory: XLA neither computes it twice nor along with what follows."""
    return p.optimization_barrier_p.bind(x)[0]


def _position_across(primitive: Primitive, best: Primitive) -> Rule:
    """Where the best elements of a dimension are that others follow: the first of equal ones, or the first NaN."""

    def found(axis: int, index_dtype: DType, x: Value) -> Sequence[Value]:
        x, shape = _apart(_as_number(x)), x.aval.shape
        others = tuple([other for other in range(len(shape)) if other != axis])
        most = p.broadcast_in_dim_p.bind(_apart(best.bind(x, axes=(axis,))), shape=shape, broadcast_dimensions=others)
        places = p.iota_p.bind(dtype=INT32, shape=shape, dimension=axis)
        is_best = p.eq_p.bind(x, most)
        if dtypes.issubdtype(x.aval.dtype, np.floating):  # where there is NaN nothing equals the best, which is NaN
            is_best = p.or_p.bind(is_best, p.ne_p.bind(x, x))
        at = p.select_n_p.bind(is_best, _whole(shape[axis], shape), places)
        return (converted(p.reduce_min_p.bind(at, axes=(axis,)), index_dtype),)

    def rule(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...], index_dtype: np.dtype) -> IrValue:
        aval, (axis,) = ctx.in_avals[0].strip_weak_type(), axes
        is_taken = _is_large(ctx, aval) and dtypes.dtype_name(aval.dtype) in ELEMENTS
        if not is_taken or prod(aval.shape[axis + 1 :]) < SMALLEST:
            return rule_table("lower.xla")[primitive](ctx, x, axes=axes, index_dtype=index_dtype)
        program = trace_to_closed_jaxpr(partial(found, axis, index_dtype), (aval,), primitive.name)
        return ctx.inline(program, (x,))[0]

    return rule


def _whole(value: int, shape: Sequence[int]) -> Value:
    return p.broadcast_in_dim_p.bind(literal(value, INT32), shape=tuple(shape), broadcast_dimensions=())


def _as_number(x: Value) -> Value:
    return converted(x, dtypes.as_dtype("uint8")) if x.aval.dtype == bool else x


def _truth_in_parts(primitive: Primitive, combine: Primitive) -> Rule:
    """Whether any or all of the last dimensions hold."""

    def found(kept: tuple[int, ...], lines: int, lanes: int, x: Value) -> Sequence[Value]:
        rows = prod(kept)
        size, block = prod(x.aval.shape) // rows, lines * lanes
        x, whole = p.reshape(x, (rows, size)), size - size % block
        parts = p.reshape(_columns(x, 0, whole), (rows, whole // block, lines, lanes))
        truth = primitive.bind(_apart(primitive.bind(parts, axes=(2,))), axes=(1, 2))
        if whole < size:
            truth = combine.bind(truth, primitive.bind(_columns(x, whole, size), axes=(1,)))
        return (p.reshape(truth, kept),)

    def rule(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
        aval = ctx.in_avals[0].strip_weak_type()
        first = aval.ndim - len(axes)
        is_taken = aval.dtype == bool and sorted(axes) == list(range(first, aval.ndim)) and _is_large(ctx, aval)
        lines, lanes = _parts(prod(aval.shape[first:])) if is_taken else (0, 0)
        if not lanes:
            return rule_table("lower.xla")[primitive](ctx, x, axes=axes)
        program = trace_to_closed_jaxpr(partial(found, aval.shape[:first], lines, lanes), (aval,), primitive.name)
        return ctx.inline(program, (x,))[0]

    return rule


def _parts(size: int) -> tuple[int, int]:
    """How many lines of how many elements of a row are reduced together; 0 where none divide a short one."""
    if size >= MANY:
        return LINES, WIDEST
    lanes = next((lanes for lanes in range(WIDEST, SMALLEST - 1, -1) if size % lanes == 0), 0)
    return (size // lanes, lanes) if size // SMALLEST >= SMALLEST and lanes else (0, 0)


def _columns(x: Value, start: int, limit: int) -> Value:
    rows, size = x.aval.shape
    if limit - start == size:
        return x
    return p.slice_p.bind(x, start_indices=(0, start), limit_indices=(rows, limit), strides=None)


# --- on CPUs: maxima that keep NaN ---
#
# XLA's own loops keep NaN, and take 3 to 13 times as long as its library, since they go along rows one element after
# the other. So parts of lines are compared side by side, and what they give is put in memory: 1.2 to 2 times the time.

SOME = 1 << 12  # elements in all
LANES = 32  # side by side, at least
DEPTH = 8  # how many lines are one in the first of two steps


class _Extrema(NamedTuple):
    """Maxima or minima in parts."""

    combine: Primitive  # of two arrays
    body: ClosedJaxpr  # of two numbers

    def along_rows(self, x: Value) -> Value:
        """Of (outer, n, inner) those of shape (outer, inner): of what is less than so many lanes, several at a time."""
        outer, n, inner = x.aval.shape
        width = 1 if inner >= SMALLEST else -(-LANES // inner)
        if n < 2 * width:
            return self._whole(x)
        if width == 1:
            return self._along_lines(x)
        whole = n - n % width
        lines = p.reshape(self._part(x, 0, whole), (outer, whole // width, width * inner))
        found = self._whole(p.reshape(_apart(self._along_lines(lines)), (outer, width, inner)))
        return self._with_rest(found, x, whole)

    def _along_lines(self, x: Value) -> Value:
        outer, n, inner = x.aval.shape
        if n < DEPTH**2:
            return self._whole(x)
        whole = n - n % DEPTH
        lines = p.reshape(self._part(x, 0, whole), (outer, whole // DEPTH, DEPTH, inner))
        found = self._whole(_apart(self._whole(lines, 2)))  # no step more: XLA would make one loop of the two
        return self._with_rest(found, x, whole)

    def _with_rest(self, found: Value, x: Value, whole: int) -> Value:
        n = x.aval.shape[1]
        return found if whole == n else self.combine.bind(found, self._whole(self._part(x, whole, n)))

    def _part(self, x: Value, start: int, limit: int) -> Value:
        outer, n, inner = x.aval.shape
        if limit - start == n:
            return x
        return p.slice_p.bind(x, start_indices=(0, start, 0), limit_indices=(outer, limit, inner), strides=None)

    def _whole(self, x: Value, axis: int = 1) -> Value:
        reduction = p.reduce_max_p if self.combine is p.max_p else p.reduce_min_p
        start = literal(p.identities[reduction](x.aval.dtype), x.aval.dtype)
        return p.reduce_p.bind(x, start, jaxpr=self.body, dimensions=(axis,))[0]


def _extrema_in_parts(primitive: Primitive, combine: Primitive) -> Rule:
    def found(kept: tuple[int, ...], shape: tuple[int, int, int], x: Value) -> Sequence[Value]:
        number = ShapedArray((), x.aval.dtype)
        body = trace_to_closed_jaxpr(lambda x, y: (combine.bind(x, y),), (number, number), combine.name)
        return (p.reshape(_Extrema(combine, body).along_rows(p.reshape(x, shape)), kept),)

    def rule(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
        aval = ctx.in_avals[0].strip_weak_type()
        shape = aval.shape
        is_taken = loses_nan(ctx, aval) and ctx.module.meshes is None and axes and not has_symbolic(shape)
        first, last = (min(axes), max(axes) + 1) if is_taken else (0, 0)
        if not is_taken or prod(shape) < SOME or last - first != len(axes):
            return rule_table("lower.xla")[primitive](ctx, x, axes=axes)
        view = (prod(shape[:first]), prod(shape[first:last]), prod(shape[last:]))
        program = trace_to_closed_jaxpr(partial(found, ctx.out_aval.shape, view), (aval,), primitive.name)
        return ctx.inline(program, (x,))[0]

    return rule


on_cpu.table(
    {
        p.reduce_max_p: _extrema_in_parts(p.reduce_max_p, p.max_p),
        p.reduce_min_p: _extrema_in_parts(p.reduce_min_p, p.min_p),
        p.argmax_p: _position_across(p.argmax_p, p.reduce_max_p),
        p.argmin_p: _position_across(p.argmin_p, p.reduce_min_p),
        p.reduce_or_p: _truth_in_parts(p.reduce_or_p, p.or_p),
        p.reduce_and_p: _truth_in_parts(p.reduce_and_p, p.and_p),
    }
)
