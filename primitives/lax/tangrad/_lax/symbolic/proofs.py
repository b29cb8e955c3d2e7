"""What is certain of polynomials whatever the sizes are: bounds, and whether one is never negative."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Protocol

from tangrad._lax.symbolic.polynomials import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    ONE,
    VARIABLE,
    Atom,
    Monomial,
    Polynomial,
    combination,
    degree,
    monomial_quotient,
    number,
    single,
)

# --- Interval arithmetic: the numbers between which a polynomial is, whatever the sizes are ---
# After R. E. Moore, Interval Analysis (1966). Ends are integers or infinities.


End = Any  # an integer, or an infinity
Interval = tuple[End, End]
INFINITY = math.inf
SIZE: Interval = (1, INFINITY)  # what a dimension variable may be without constraints


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


# ----------------------------------------------------------------------------------------------------------------------
# Whether a polynomial is never negative: a search for a combination of what is known from which that follows.
# A step adds a known fact (a polynomial that is at least 0) in such a multiple that a term goes
# away; what is left is tried by interval arithmetic. This is Fourier-Motzkin elimination, goal first and cut off at a
# depth, over monomials taken as unknowns. It may miss a proof, it never finds a wrong one.


DEPTH = 4  # facts that a proof may use
EFFORT = 200  # polynomials that are looked at before the search gives up
TERMS = (
    100_000  # and terms of theirs and of facts, some tenths of a second: a file may state facts of hundreds of terms
)
REMEMBERED = 4096


def never_negative(polynomial: Polynomial, known: Knowledge) -> bool:
    """Whether `polynomial >= 0` follows from what is known. False: it does not, or no proof was found."""
    constant = polynomial.constant
    if constant is not None:
        return constant >= 0
    found = known.decided.get(polynomial)
    if found is None:
        found = _Search(known).proves(polynomial, DEPTH)
        if len(known.decided) >= REMEMBERED:
            known.decided.clear()
        known.decided[polynomial] = found
    return found


class _Search:
    def __init__(self, known: Knowledge) -> None:
        self.known = known
        self.seen: dict[Polynomial, int] = {}  # polynomial -> the depth it was tried with
        self.terms = 0  # that were looked at

    @property
    def is_exhausted(self) -> bool:
        """Whether the search gives up."""
        return len(self.seen) > EFFORT or self.terms > TERMS

    def proves(self, polynomial: Polynomial, depth: int) -> bool:
        if interval(polynomial, self.known)[0] >= 0:
            return True
        if depth == 0 or self.is_exhausted or self.seen.get(polynomial, 0) >= depth:
            return False
        self.seen[polynomial] = depth
        cases = _cases(polynomial)
        if cases is not None:
            return all([self.proves(case, depth - 1) for case in cases])
        for monomial, coefficient in polynomial.terms:
            if monomial == ONE:
                continue
            for fact in self._facts(monomial):
                if self.is_exhausted:
                    return False
                self.terms += len(polynomial.terms) + len(fact.terms)
                weight = fact.coefficient(monomial)
                if weight * coefficient > 0:
                    left = combination(polynomial, abs(weight), fact, -abs(coefficient))
                    if self.proves(left, depth - 1):
                        return True
        return False

    def _facts(self, monomial: Monomial) -> Iterator[Polynomial]:
        """Polynomials that are at least 0, and have a term with this monomial."""
        known = self.known
        for fact in known.facts:
            self.terms += len(fact.terms)
            for term, _ in fact.terms:
                rest = None if term == ONE else monomial_quotient(monomial, term)
                if rest is not None and monomial_interval(rest, known)[0] >= 0:
                    yield fact.times(rest)
        for atom, _ in monomial:
            rest = monomial_quotient(monomial, ((atom, 1),))
            if rest is None or monomial_interval(rest, known)[0] < 0:
                continue
            if degree(rest):
                low, high = atom_interval(atom, known)
                if low > -INFINITY:
                    yield (single(atom) - number(low)).times(rest)
                if high < INFINITY:
                    yield (number(high) - single(atom)).times(rest)
            for fact in _facts_of_operation(atom, known):
                yield fact.times(rest)


def _cases(polynomial: Polynomial) -> list[Polynomial] | None:
    """`r - max(a, b) >= 0` holds where `r - a >= 0` and `r - b >= 0` do, and only there; `r + min(a, b)` likewise."""
    for monomial, coefficient in polynomial.terms:
        if degree(monomial) == 1 and monomial[0][0].kind == (MAX if coefficient < 0 else MIN):
            rest = polynomial - Polynomial([(monomial, coefficient)])
            return [combination(rest, 1, operand, coefficient) for operand in monomial[0][0].operands]
    return None


def _facts_of_operation(atom: Atom, known: Knowledge) -> Iterator[Polynomial]:
    """What holds of an operation and its operands."""
    itself = single(atom)
    if atom.kind in (MAX, MIN):
        for operand in atom.operands:
            yield itself - operand if atom.kind == MAX else operand - itself
    elif atom.kind in (FLOORDIV, MOD):
        dividend, divisor = atom.operands
        if interval(divisor, known)[0] < 1:
            return
        if atom.kind == MOD:
            yield divisor - number(1) - itself
            if interval(dividend, known)[0] >= 0:
                yield dividend - itself
        else:
            remainder = dividend - divisor * itself
            yield remainder
            yield divisor - number(1) - remainder
