"""Elementwise operations, and how far bounds are moved outwards for what they round.

Increasing ones keep bounds, decreasing ones swap them; of products all corners count.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy

from tangrad import lax
from tangrad.core import RuleSet, dtypes
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tangrad.core import Array, Primitive
    from tangrad.typing import Value
    from tangrad_intervals.transformation import Pair, Pairs, Rule

# --- Bounds are moved outwards by more than the rounding errors of the operations that computed them ---


def is_inexact(value: Value) -> bool:
    """Whether operations on values of this dtype round."""
    return bool(dtypes.issubdtype(value.dtype, numpy.floating))


def outward(low: Value, high: Value, units: float = 1.0) -> Pair:
    """Bounds with room for an error of so many units in the last place of each, and for what flushes to zero.

    NaN, of infinities that meet, bounds nothing: it becomes an infinity.
    """
    if not is_inexact(low):
        return low, high
    low, high = low - _room(low, units), high + _room(high, units)
    infinity = numpy.array(numpy.inf, low.dtype)
    return _instead_of_nan(low, -infinity), _instead_of_nan(high, infinity)


def _room(value: Value, units: float) -> Array:
    limits = dtypes.finfo(value.dtype)
    # Twice: this product and the sum round too. Infinities stay as they are.
    step = abs(value) * numpy.array(2 * units * limits.eps, value.dtype) + numpy.array(2 * limits.tiny, value.dtype)
    return lax.select(lax.is_finite(step), step, lax.full_like(step, 0))


def _instead_of_nan(value: Array, other: numpy.ndarray) -> Array:
    return lax.select(value != value, lax.broadcast(other, value.shape), value)


# --- Operations ---


rules: RuleSet[Rule] = RuleSet("bounds", api=1)

# How far the backends' functions may be from the exact value, in units in the last place.
EXACT, ROUNDED, LIBRARY = 0.0, 1.0, 8.0


def increasing(primitive: Primitive[Array], units: float) -> Rule:
    """The rule of an operation that increases, or stays, with each of its operands."""

    def rule(pairs: Pairs, **params: object) -> Pair:
        lows, highs = zip(*pairs, strict=True)
        low, high = primitive.bind(*lows, **params), primitive.bind(*highs, **params)
        return outward(low, high, units) if units else (low, high)

    return rule


for units, primitives in {
    EXACT: (p.max_p, p.min_p, p.sign_p, p.floor_p, p.ceil_p, p.round_p, p.clamp_p, p.reduce_precision_p),
    ROUNDED: (p.add_p, p.sqrt_p, p.convert_element_type_p),
    LIBRARY: (
        p.exp_p, p.exp2_p, p.expm1_p, p.log_p, p.log1p_p, p.cbrt_p, p.asin_p, p.atan_p, p.sinh_p, p.asinh_p, p.acosh_p,
        p.atanh_p, p.tanh_p, p.logistic_p,
    ),
}.items():  # fmt: skip
    rules.table({one: increasing(one, units) for one in primitives})


@rules.rule(p.neg_p)
def _neg(pairs: Pairs) -> Pair:
    ((low, high),) = pairs
    return -high, -low


def decreasing(primitive: Primitive[Array], units: float) -> Rule:
    """The rule of an operation of one operand that falls, or stays, with it."""
    rule = increasing(primitive, units)
    return lambda pairs, **params: rule([(high, low) for low, high in pairs], **params)


@rules.rule(p.sub_p)
def _sub(pairs: Pairs) -> Pair:
    (low_x, high_x), (low_y, high_y) = pairs
    return outward(low_x - high_y, high_x - low_y)


def hull(values: Sequence[Value]) -> Pair:
    """The least and the greatest of several values, element by element."""
    low = high = values[0]
    for value in values[1:]:
        low, high = lax.min(low, value), lax.max(high, value)
    return low, high


def corners(operation: Callable[[Value, Value], Array], pairs: Pairs) -> list[Array]:
    """What an operation of two operands gives where both are at one of their bounds."""
    (low_x, high_x), (low_y, high_y) = pairs
    return [operation(x, y) for x in (low_x, high_x) for y in (low_y, high_y)]


def unless(anything: Array, low: Value, high: Value, limit: float = math.inf) -> Pair:
    """The bounds; those of all numbers up to a limit where a condition holds."""
    if anything.shape != low.shape:
        anything = lax.broadcast_in_dim(anything, low.shape, ())
    most = lax.full_like(low, limit)
    return lax.select(anything, -most, low), lax.select(anything, most, high)


@rules.rule(p.mul_p)
def mul(pairs: Pairs) -> Pair:
    """Products: least and greatest at corners."""
    return outward(*hull(corners(p.mul_p.bind, pairs)))


@rules.rule(p.div_p)
def _div(pairs: Pairs) -> Pair:
    low, high = pairs[1]
    return unless((low <= 0) & (high >= 0), *outward(*hull(corners(p.div_p.bind, pairs))))


@rules.rule(p.pow_p)
def _pow(pairs: Pairs) -> Pair:
    """Of positive numbers a power rises or falls with each operand; of others it may not be a number."""
    low = pairs[0][0]
    return unless(low <= 0, *outward(*hull(corners(p.pow_p.bind, pairs)), LIBRARY))


@rules.rule(p.rem_p)
def _rem(pairs: Pairs) -> Pair:
    """No further from 0 than either operand, on the side of the first."""
    (low_x, high_x), (low_y, high_y) = pairs
    size, nothing = lax.max(lax.abs(low_y), lax.abs(high_y)), lax.full_like(low_x, 0)
    found = lax.max(lax.min(low_x, nothing), -size), lax.min(lax.max(high_x, nothing), size)
    return unless((low_y <= 0) & (high_y >= 0), *found) if is_inexact(low_x) else found


@rules.rule(p.atan2_p)
def _atan2(pairs: Pairs) -> Pair:
    """Of points that are on one side of the origin, or above or below it, the corners have the extreme angles."""
    (low_y, high_y), (low_x, _) = pairs
    around = (low_x <= 0) & (low_y <= 0) & (high_y >= 0)
    return unless(around, *outward(*hull(corners(p.atan2_p.bind, pairs)), LIBRARY), 3.2)


@rules.rule(p.nextafter_p)
def _nextafter(pairs: Pairs) -> Pair:
    return outward(*pairs[0])


@rules.rule(p.is_finite_p)
def _is_finite(pairs: Pairs) -> Pair:
    ((low, high),) = pairs
    return lax.is_finite(low) & lax.is_finite(high), (low < math.inf) & (high > -math.inf)


def of_size(function: Callable[..., Array], units: float) -> Rule:
    """The rule of an even function that increases with |x|."""

    def rule(pairs: Pairs, **params: object) -> Pair:
        ((low, high),) = pairs
        least = lax.max(lax.max(low, -high), lax.full_like(low, 0))  # of |x|: 0 if 0 is between
        found = function(least, **params), function(lax.max(-low, high), **params)
        return outward(*found, units) if units else found

    return rule


rules.add(p.acos_p, decreasing(p.acos_p, LIBRARY))
rules.table(
    {p.abs_p: of_size(lax.abs, EXACT), p.square_p: of_size(lax.square, ROUNDED), p.cosh_p: of_size(lax.cosh, LIBRARY)}
)


@rules.rule(p.integer_pow_p)
def _integer_pow(pairs: Pairs, *, y: int) -> Pair:
    if y < 0:
        ((low, _),) = pairs
        power = _integer_pow(pairs, y=-y)
        one = lax.full_like(low, 1)
        return _div([(one, one), power])
    rule = of_size(p.integer_pow_p.bind, y) if y % 2 == 0 else increasing(p.integer_pow_p, y)
    return rule(pairs, y=y)


def _wave(function: Callable[[Value], Array], first_peak: float) -> Rule:
    """The rule of sine or cosine: 1 where a peak is between the bounds, -1 where a trough does."""

    def rule(pairs: Pairs) -> Pair:
        ((low, high),) = pairs
        ends = outward(*hull([function(low), function(high)]), LIBRARY)

        def has(point: float) -> Array:
            # With room for the errors of this division, which grow with the numbers.
            first, last = [(one - point) / (2 * math.pi) for one in (low, high)]
            start, stop = outward(first, last, 4)
            return lax.floor(stop) >= lax.ceil(start)

        one = lax.full_like(low, 1)
        least = lax.select(has(first_peak + math.pi), -one, lax.max(ends[0], -one))
        most = lax.select(has(first_peak), one, lax.min(ends[1], one))
        return least, most

    return rule


rules.table({p.sin_p: _wave(lax.sin, math.pi / 2), p.cos_p: _wave(lax.cos, 0.0)})


# --- truth values: what holds surely, and what may hold --------------------------------------------------------------


def _less(primitive: Primitive[Array]) -> Rule:
    def rule(pairs: Pairs) -> Pair:
        (low_x, high_x), (low_y, high_y) = pairs
        return primitive.bind(high_x, low_y), primitive.bind(low_x, high_y)

    return rule


def _greater(primitive: Primitive[Array]) -> Rule:
    return lambda pairs: _less(primitive)(pairs[::-1])


rules.table({p.lt_p: _less(p.lt_p), p.le_p: _less(p.le_p), p.gt_p: _greater(p.lt_p), p.ge_p: _greater(p.le_p)})


def of_truth_values(primitive: Primitive, rule: Rule) -> Rule:
    """The rule, refused for integers, whose bits have no order."""

    def checked(pairs: Pairs, **params: object) -> Pair:
        if pairs[0][0].dtype != bool:
            raise NotImplementedError(f"bounds: {primitive} of the bits of integers")
        return rule(pairs, **params)

    return checked


def _xor(pairs: Pairs) -> Pair:
    (low_x, high_x), (low_y, high_y) = pairs
    return (low_x & ~high_y) | (low_y & ~high_x), ~((low_x & low_y) | ~(high_x | high_y))


def _not(pairs: Pairs) -> Pair:
    ((low, high),) = pairs
    return ~high, ~low


for primitive, rule in {
    p.and_p: increasing(p.and_p, EXACT),
    p.or_p: increasing(p.or_p, EXACT),
    p.xor_p: _xor,
    p.not_p: _not,
}.items():
    rules.add(primitive, of_truth_values(primitive, rule))


@rules.rule(p.eq_p)
def _eq(pairs: Pairs) -> Pair:
    (low_x, high_x), (low_y, high_y) = pairs
    may = (low_x <= high_y) & (low_y <= high_x)
    return may & (low_x == high_x) & (low_y == high_y), may


@rules.rule(p.ne_p)
def _ne(pairs: Pairs) -> Pair:
    surely, may = _eq(pairs)
    return ~may, ~surely


@rules.rule(p.select_n_p)
def _select(pairs: Pairs) -> Pair:
    (first, last), *cases = pairs
    lows, highs = zip(*cases, strict=True)
    if first is last:
        return lax.select_n(first, *lows), lax.select_n(first, *highs)
    if first.dtype != bool:
        raise NotImplementedError("bounds: select_n among more than two cases, by an index that is not known exactly")
    known = lax.select_n(first, *lows), lax.select_n(first, *highs)
    either = hull(lows)[0], hull(highs)[1]
    same = first == last
    if same.shape != either[0].shape:
        same = lax.broadcast_in_dim(same, either[0].shape, ())
    return lax.select(same, known[0], either[0]), lax.select(same, known[1], either[1])


# --- what has no order ------------------------------------------------------------------------------------------------

BITS = (
    p.mulhi_p, p.shift_left_p, p.shift_right_logical_p, p.shift_right_arithmetic_p, p.population_count_p, p.clz_p,
    p.bitcast_convert_type_p, p.eq_to_p, p.lt_to_p, p.le_to_p,
)  # fmt: skip
rules.not_applicable("of numbers between bounds the bits may be any", *BITS)
rules.not_applicable("complex numbers have no order", p.real_p, p.imag_p, p.conj_p, p.complex_p)
