"""Elementwise operations: by differential equations that they solve.

Griewank and Walther, Evaluating Derivatives, 2nd edition, 2008, chapter 13: where v = f(u) solves v' = g(v) u', the
coefficients of v follow one after the other from those of u and of g(v), with K²/2 products for order K. Operations
whose derivative does without themselves (`log`, `atan`, `erf`, ...) need no rule: their jvp rules say as much.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tangrad.core import RuleSet
from tangrad.extend import lax as p
from tangrad_taylor.arithmetic import (
    coefficient,
    divided,
    minus,
    multiplied,
    number_like,
    plus,
    scaled,
    square_coefficient,
    times,
    total,
)
from tangrad_taylor.linear import linear, piecewise_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tangrad.core import Array, Primitive
    from tangrad.typing import Value
    from tangrad_taylor.arithmetic import Series, Term, Terms

rules = RuleSet("taylor", api=1)

LINEAR = (
    p.neg_p, p.real_p, p.imag_p, p.conj_p, p.complex_p, p.select_n_p, p.convert_element_type_p, p.reduce_precision_p,
)  # fmt: skip
rules.table({primitive: linear(primitive) for primitive in LINEAR})
rules.table({primitive: piecewise_linear(primitive) for primitive in (p.max_p, p.min_p, p.rem_p)})


def _termwise(operation: Callable[[Term, Term], Term]) -> Callable[[Sequence[Series]], Terms]:
    """The rule of sums."""
    return lambda series: tuple([operation(x, y) for x, y in zip(*series)])


rules.table(
    {
        p.add_p: _termwise(plus),
        p.sub_p: _termwise(minus),
        p.mul_p: lambda series: multiplied(*series),
        p.square_p: lambda series: multiplied(series[0], series[0]),
        p.div_p: lambda series: divided(*series),
    }
)


@rules.rule(p.integer_pow_p)
def _integer_pow(series: Sequence[Series], *, y: int) -> Series:
    """By squaring: a product for each binary digit, and one more for each that is 1."""
    (x,) = series
    first = p.integer_pow_p.bind(x[0], y=y)
    if y == 0:
        return first, *[None] * (len(x) - 1)
    power: Series = x
    for digit in f"{abs(y):b}"[1:]:
        power = multiplied(power, power)
        if digit == "1":
            power = multiplied(power, x)
    if y < 0:
        power = divided((number_like(1, first), *[None] * (len(x) - 1)), power)
    return first, *power[1:]


def _slopes(series: Series) -> list[Term]:
    """The coefficients of u', each where it is needed: k u_k at place k."""
    return [None, *[scaled(k, term) for k, term in enumerate(series[1:], 1)]]


def _integrated(slopes: Terms, gs: Terms, k: int) -> Term:
    """The k-th coefficient of the v for which v' = g u'."""
    return scaled(1 / k, coefficient(slopes, gs, k))


# --- v' = (a + b v + c v²) u' ----------------------------------------------------------------------------------------


def _riccati(primitive: Primitive[Array], a: float, b: float, c: float) -> Callable[[Sequence[Series]], Series]:
    def rule(series: Sequence[Series]) -> Series:
        (u,) = series
        slopes, first = _slopes(u), primitive.bind(u[0])
        vs: list[Term] = [first]
        gs: list[Term] = []
        for k in range(1, len(u)):
            gs.append(_horner(first, a, b, c) if k == 1 else _quadratic(vs, b, c, k - 1))
            vs.append(_integrated(slopes, gs, k))
        return first, *vs[1:]

    return rule


def _quadratic(vs: Terms, b: float, c: float, k: int) -> Term:
    """The k-th coefficient of a + b v + c v²."""
    return plus(scaled(b, vs[k]) if b else None, scaled(c, square_coefficient(vs, k)) if c else None)


def _horner(v: Value, a: float, b: float, c: float) -> Value:
    """a + v (b + c v), without the terms that are 0: of a function near its limit no more is lost than has to be."""
    inner = scaled(c, v) if c else None
    inner = p.add_p.bind(number_like(b, v), inner) if b and c else number_like(b, v) if b else inner
    outer = p.mul_p.bind(v, inner) if c or b != 1 else v
    return p.add_p.bind(number_like(a, v), outer) if a else outer


rules.table(
    {
        primitive: _riccati(primitive, *numbers)
        for primitive, numbers in {
            p.exp_p: (0, 1, 0),
            p.exp2_p: (0, math.log(2), 0),
            p.expm1_p: (1, 1, 0),
            p.logistic_p: (0, 1, -1),
            p.tanh_p: (1, 0, -1),
            p.tan_p: (1, 0, 1),
        }.items()
    }
)


# --- s' = c u', c' = ± s u' ------------------------------------------------------------------------------------------


def _wave(
    sine: Primitive[Array], cosine: Primitive[Array], sign: int, place: int
) -> Callable[[Sequence[Series]], Series]:
    def rule(series: Sequence[Series]) -> Series:
        (u,) = series
        slopes = _slopes(u)
        firsts = sine.bind(u[0]), cosine.bind(u[0])
        pair: tuple[list[Term], list[Term]] = [firsts[0]], [firsts[1]]
        for k in range(1, len(u)):
            s, c = _integrated(slopes, pair[1], k), scaled(sign, _integrated(slopes, pair[0], k))
            pair[0].append(s)
            pair[1].append(c)
        return firsts[place], *pair[place][1:]

    return rule


for sine, cosine, sign in ((p.sin_p, p.cos_p, -1), (p.sinh_p, p.cosh_p, 1)):
    rules.table({sine: _wave(sine, cosine, sign, 0), cosine: _wave(sine, cosine, sign, 1)})


# --- roots -----------------------------------------------------------------------------------------------------------


@rules.rule(p.sqrt_p)
def _sqrt(series: Sequence[Series]) -> Series:
    """From v v = u."""
    (u,) = series
    first = p.sqrt_p.bind(u[0])
    vs: list[Term] = [first]
    half = p.div_p.bind(number_like(0.5, first), first)
    for k in range(1, len(u)):
        rest = minus(u[k], square_coefficient([None, *vs[1:], None], k))
        vs.append(None if rest is None else p.mul_p.bind(rest, half))
    return first, *vs[1:]


@rules.rule(p.rsqrt_p)
def _rsqrt(series: Sequence[Series]) -> Series:
    """From v' u = -½ v u'."""
    (u,) = series
    first = p.rsqrt_p.bind(u[0])
    vs: list[Term] = [first]
    inverse = p.div_p.bind(number_like(1, u[0]), u[0])
    for k in range(1, len(u)):
        rest = total(scaled((j / 2 - k) / k, times(u[j], vs[k - j])) for j in range(1, k + 1))
        vs.append(None if rest is None else p.mul_p.bind(rest, inverse))
    return first, *vs[1:]
