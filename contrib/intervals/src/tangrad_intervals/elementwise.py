"""Elementwise operations. Increasing ones keep bounds, decreasing ones swap them; of products all corners count."""

from __future__ import annotations

import math
from typing import Any

from tangrad import lax
from tangrad.core import RuleSet
from tangrad.lax.elementwise import primitives as p
from tangrad_intervals.rounding import outward

rules = RuleSet("bounds", api=1)

# How far the backends' functions may be from the exact value, in units in the last place.
EXACT, ROUNDED, LIBRARY = 0.0, 1.0, 8.0


def increasing(primitive: Any, units: float) -> Any:
    """The rule of an operation that increases, or stays, with each of its operands."""

    def rule(pairs: Any, **params: Any) -> Any:
        lows, highs = zip(*pairs, strict=True)
        low, high = primitive.bind(*lows, **params), primitive.bind(*highs, **params)
        return outward(low, high, units) if units else (low, high)

    return rule


for units, primitives in {
    EXACT: (p.max_p, p.min_p, p.sign_p, p.floor_p, p.ceil_p, p.round_p, p.clamp_p),
    ROUNDED: (p.add_p, p.sqrt_p, p.convert_element_type_p),
    LIBRARY: (
        p.exp_p, p.exp2_p, p.expm1_p, p.log_p, p.log1p_p, p.cbrt_p, p.asin_p, p.atan_p, p.sinh_p, p.asinh_p, p.acosh_p,
        p.atanh_p, p.tanh_p, p.logistic_p,
    ),
}.items():  # fmt: skip
    rules.table({one: increasing(one, units) for one in primitives})


@rules.rule(p.neg_p)
def _neg(pairs: Any) -> Any:
    ((low, high),) = pairs
    return -high, -low


@rules.rule(p.acos_p)
def _acos(pairs: Any) -> Any:
    ((low, high),) = pairs
    return outward(lax.acos(high), lax.acos(low), LIBRARY)


@rules.rule(p.sub_p)
def _sub(pairs: Any) -> Any:
    (low_x, high_x), (low_y, high_y) = pairs
    return outward(low_x - high_y, high_x - low_y)


def hull(values: Any) -> Any:
    """The least and the greatest of several values, element by element."""
    low = high = values[0]
    for value in values[1:]:
        low, high = lax.min(low, value), lax.max(high, value)
    return low, high


@rules.rule(p.mul_p)
def _mul(pairs: Any) -> Any:
    (low_x, high_x), (low_y, high_y) = pairs
    return outward(*hull([low_x * low_y, low_x * high_y, high_x * low_y, high_x * high_y]))


@rules.rule(p.div_p)
def _div(pairs: Any) -> Any:
    (low_x, high_x), (low_y, high_y) = pairs
    low, high = outward(*hull([low_x / low_y, low_x / high_y, high_x / low_y, high_x / high_y]))
    around_0 = (low_y <= 0) & (high_y >= 0)
    if around_0.shape != low.shape:
        around_0 = lax.broadcast_in_dim(around_0, low.shape, ())
    infinity = lax.full_like(low, math.inf)
    return lax.select(around_0, -infinity, low), lax.select(around_0, infinity, high)


def of_size(function: Any, units: float) -> Any:
    """The rule of an even function that increases with |x|."""

    def rule(pairs: Any, **params: Any) -> Any:
        ((low, high),) = pairs
        least = lax.max(lax.max(low, -high), lax.full_like(low, 0))  # of |x|: 0 if 0 is between
        found = function(least, **params), function(lax.max(-low, high), **params)
        return outward(*found, units) if units else found

    return rule


rules.table(
    {p.abs_p: of_size(lax.abs, EXACT), p.square_p: of_size(lax.square, ROUNDED), p.cosh_p: of_size(lax.cosh, LIBRARY)}
)


@rules.rule(p.integer_pow_p)
def _integer_pow(pairs: Any, *, y: int) -> Any:
    if y < 0:
        ((low, _),) = pairs
        power = _integer_pow(pairs, y=-y)
        one = lax.full_like(low, 1)
        return _div([(one, one), power])
    rule = of_size(p.integer_pow_p.bind, y) if y % 2 == 0 else increasing(p.integer_pow_p, y)
    return rule(pairs, y=y)


def _wave(function: Any, first_peak: float) -> Any:
    """The rule of sine or cosine: 1 where a peak lies between the bounds, -1 where a trough does."""

    def rule(pairs: Any) -> Any:
        ((low, high),) = pairs
        ends = outward(*hull([function(low), function(high)]), LIBRARY)

        def has(point: float) -> Any:
            # With room for the errors of this division, which grow with the numbers.
            turns = [(one - point) / (2 * math.pi) for one in (low, high)]
            start, stop = outward(*turns, 4)
            return lax.floor(stop) >= lax.ceil(start)

        one = lax.full_like(low, 1)
        least = lax.select(has(first_peak + math.pi), -one, lax.max(ends[0], -one))
        most = lax.select(has(first_peak), one, lax.min(ends[1], one))
        return least, most

    return rule


rules.table({p.sin_p: _wave(lax.sin, math.pi / 2), p.cos_p: _wave(lax.cos, 0.0)})


# --- truth values: what holds surely, and what may hold --------------------------------------------------------------


def _less(primitive: Any) -> Any:
    def rule(pairs: Any) -> Any:
        (low_x, high_x), (low_y, high_y) = pairs
        return primitive.bind(high_x, low_y), primitive.bind(low_x, high_y)

    return rule


def _greater(primitive: Any) -> Any:
    return lambda pairs: _less(primitive)(pairs[::-1])


rules.table({p.lt_p: _less(p.lt_p), p.le_p: _less(p.le_p), p.gt_p: _greater(p.lt_p), p.ge_p: _greater(p.le_p)})
rules.table({p.and_p: increasing(p.and_p, EXACT), p.or_p: increasing(p.or_p, EXACT)})  # of truth values


@rules.rule(p.eq_p)
def _eq(pairs: Any) -> Any:
    (low_x, high_x), (low_y, high_y) = pairs
    may = (low_x <= high_y) & (low_y <= high_x)
    return may & (low_x == high_x) & (low_y == high_y), may


@rules.rule(p.ne_p)
def _ne(pairs: Any) -> Any:
    surely, may = _eq(pairs)
    return ~may, ~surely


@rules.rule(p.not_p)
def _not(pairs: Any) -> Any:
    ((low, high),) = pairs
    return ~high, ~low


@rules.rule(p.select_n_p)
def _select(pairs: Any) -> Any:
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
