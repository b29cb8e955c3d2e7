"""Interval arithmetic: the numbers between which a polynomial is, whatever the sizes are.

After R. E. Moore, Interval Analysis (1966). Ends are integers or infinities.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

from tangrad._symbolic.polynomials import FLOORDIV, MAX, MIN, MOD, VARIABLE, Atom, Monomial, Polynomial

End = Any  # an integer, or an infinity
Interval = tuple[End, End]
INFINITY = math.inf
SIZE: Interval = (1, INFINITY)  # what a dimension variable may be where nothing is said of it


class Knowledge(Protocol):
    """What is known of the variables of a scope."""

    ranges: dict[str, Interval]  # of atoms, by their texts
    facts: list[Polynomial]  # they are at least 0
    rules: list[tuple[Monomial, Polynomial]]  # monomials, and what they are equal to
    decided: dict[Polynomial, bool]  # whether polynomials were proved to be at least 0


def interval(polynomial: Polynomial, known: Knowledge) -> Interval:
    low: End = 0
    high: End = 0
    for monomial, coefficient in polynomial.terms:
        a, b = _scaled(monomial_interval(monomial, known), coefficient)
        low, high = low + a, high + b
    return low, high


def monomial_interval(monomial: Monomial, known: Knowledge) -> Interval:
    found: Interval = (1, 1)
    for atom, exponent in monomial:
        found = _product(found, _power(atom_interval(atom, known), exponent))
    return found


def atom_interval(atom: Atom, known: Knowledge) -> Interval:
    low, high = SIZE if atom.kind == VARIABLE else _operation_interval(atom, known)
    stated = known.ranges.get(atom.text)
    return (low, high) if stated is None else (max(low, stated[0]), min(high, stated[1]))


def _operation_interval(atom: Atom, known: Knowledge) -> Interval:
    operands = [interval(operand, known) for operand in atom.operands]
    lows, highs = [low for low, _ in operands], [high for _, high in operands]
    if atom.kind == MAX:
        return max(lows), max(highs)
    if atom.kind == MIN:
        return min(lows), min(highs)
    if atom.kind == MOD:
        return _remainder(operands[0], operands[1])
    assert atom.kind == FLOORDIV
    return _quotient(operands[0], operands[1])


def _scaled(ends: Interval, factor: int) -> Interval:
    a, b = _times(ends[0], factor), _times(ends[1], factor)
    return (a, b) if factor >= 0 else (b, a)


def _times(one: End, other: End) -> End:
    return 0 if one == 0 or other == 0 else one * other


def _product(one: Interval, other: Interval) -> Interval:
    corners = [_times(a, b) for a in one for b in other]
    return min(corners), max(corners)


def _power(ends: Interval, exponent: int) -> Interval:
    corners = [ends[0] ** exponent, ends[1] ** exponent]
    low = 0 if exponent % 2 == 0 and ends[0] <= 0 <= ends[1] else min(corners)
    return low, max(corners)


def _quotient(dividend: Interval, divisor: Interval) -> Interval:
    if divisor[0] <= 0 <= divisor[1]:
        return -INFINITY, INFINITY
    corners = [_floor_of_quotient(a, b) for a in dividend for b in divisor]
    return min(corners), max(corners)


def _floor_of_quotient(a: End, b: End) -> End:
    if math.isinf(b):
        # The limit from the side of large divisors: a negative quotient, however small, has floor -1.
        return 0 if math.isinf(a) or a == 0 or (a > 0) == (b > 0) else -1
    if math.isinf(a):
        return a if b > 0 else -a
    return a // b


def _remainder(dividend: Interval, divisor: Interval) -> Interval:
    low, high = divisor
    if low > 0:
        return 0, min(high - 1, dividend[1]) if dividend[0] >= 0 else high - 1
    if high < 0:
        return low + 1, 0
    return min(low + 1, 0), max(high - 1, 0)
