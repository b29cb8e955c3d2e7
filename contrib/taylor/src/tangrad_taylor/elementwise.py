"""Elementwise operations: by differential equations that they solve.

Griewank and Walther, Evaluating Derivatives, 2nd edition, 2008, chapter 13: where v = f(u) solves v' = g(v) u', the
coefficients of v follow one after the other from those of u and of g(v), with K²/2 products for order K. Operations
whose derivative does without themselves (`log`, `atan`, `erf`, ...) need no rule: their jvp rules say as much.
"""

from __future__ import annotations

import math
from typing import Any

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

rules = RuleSet("taylor", api=1)

LINEAR = (
    p.neg_p, p.real_p, p.imag_p, p.conj_p, p.complex_p, p.select_n_p, p.convert_element_type_p, p.reduce_precision_p,
)  # fmt: skip
rules.table({primitive: linear(primitive) for primitive in LINEAR})
rules.table({primitive: piecewise_linear(primitive) for primitive in (p.max_p, p.min_p, p.rem_p)})


def _termwise(operation: Any) -> Any:
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
def _integer_pow(series: Any, *, y: int) -> Any:
    """By squaring: a product for each binary digit, and one more for each that is 1."""
    (x,) = series
    first = p.integer_pow_p.bind(x[0], y=y)
    if y == 0:
        return first, *[None] * (len(x) - 1)
    power = x
    for digit in f"{abs(y):b}"[1:]:
        power = multiplied(power, power)
        if digit == "1":
            power = multiplied(power, x)
    if y < 0:
        power = divided((number_like(1, first), *[None] * (len(x) - 1)), power)
    return first, *power[1:]


def _slopes(series: Any) -> list[Any]:
    """The coefficients of u', each where it is needed: k u_k at place k."""
    return [None, *[scaled(k, term) for k, term in enumerate(series[1:], 1)]]


def _integrated(slopes: Any, gs: Any, k: int) -> Any:
    """The k-th coefficient of the v for which v' = g u'."""
    return scaled(1 / k, coefficient(slopes, gs, k))


# --- v' = (a + b v + c v²) u' ----------------------------------------------------------------------------------------


def _riccati(primitive: Any, a: float, b: float, c: float) -> Any:
    def rule(series: Any) -> Any:
        (u,) = series
        slopes, vs = _slopes(u), [primitive.bind(u[0])]
        gs: list[Any] = []
        for k in range(1, len(u)):
            gs.append(_horner(vs[0], a, b, c) if k == 1 else _quadratic(vs, b, c, k - 1))
            vs.append(_integrated(slopes, gs, k))
        return tuple(vs)

    return rule


def _quadratic(vs: Any, b: float, c: float, k: int) -> Any:
    """The k-th coefficient of a + b v + c v²."""
    return plus(scaled(b, vs[k]) if b else None, scaled(c, square_coefficient(vs, k)) if c else None)


def _horner(v: Any, a: float, b: float, c: float) -> Any:
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


def _wave(sine: Any, cosine: Any, sign: int, place: int) -> Any:
    def rule(series: Any) -> Any:
        (u,) = series
        slopes = _slopes(u)
        pair: tuple[list[Any], list[Any]] = [sine.bind(u[0])], [cosine.bind(u[0])]
        for k in range(1, len(u)):
            s, c = _integrated(slopes, pair[1], k), scaled(sign, _integrated(slopes, pair[0], k))
            pair[0].append(s)
            pair[1].append(c)
        return tuple(pair[place])

    return rule


for sine, cosine, sign in ((p.sin_p, p.cos_p, -1), (p.sinh_p, p.cosh_p, 1)):
    rules.table({sine: _wave(sine, cosine, sign, 0), cosine: _wave(sine, cosine, sign, 1)})


# --- roots -----------------------------------------------------------------------------------------------------------


@rules.rule(p.sqrt_p)
def _sqrt(series: Any) -> Any:
    """From v v = u."""
    (u,) = series
    vs = [p.sqrt_p.bind(u[0])]
    half = p.div_p.bind(number_like(0.5, vs[0]), vs[0])
    for k in range(1, len(u)):
        rest = minus(u[k], square_coefficient([None, *vs[1:], None], k))
        vs.append(None if rest is None else p.mul_p.bind(rest, half))
    return tuple(vs)


@rules.rule(p.rsqrt_p)
def _rsqrt(series: Any) -> Any:
    """From v' u = -½ v u'."""
    (u,) = series
    vs = [p.rsqrt_p.bind(u[0])]
    inverse = p.div_p.bind(number_like(1, u[0]), u[0])
    for k in range(1, len(u)):
        rest = total(scaled((j / 2 - k) / k, times(u[j], vs[k - j])) for j in range(1, k + 1))
        vs.append(None if rest is None else p.mul_p.bind(rest, inverse))
    return tuple(vs)
