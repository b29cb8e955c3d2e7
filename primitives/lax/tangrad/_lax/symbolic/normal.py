"""Canonical forms: divisions, remainders, maxima and minima in the simplest shape that what is known of them allows."""

from __future__ import annotations

import math

from tangrad._lax.symbolic.polynomials import (
    FLOORDIV,
    MAX,
    MIN,
    MOD,
    ONE,
    Atom,
    InconclusiveDimensionOperation,
    Monomial,
    Polynomial,
    combination,
    monomial_quotient,
    number,
    single,
)
from tangrad._lax.symbolic.proofs import Knowledge, never_negative

ZERO = number(0)
UNIT = number(1)
ROUNDS = 32  # of rewriting; rules that feed each other are left where they are after so many


def normal(polynomial: Polynomial, known: Knowledge) -> Polynomial:
    """The canonical form: equalities of the scope applied, `q * floordiv(e, q)` written as `e - mod(e, q)`."""
    for _ in range(ROUNDS):
        changed = _rewritten(polynomial, known)
        if changed is None:
            return polynomial
        polynomial = changed
    return polynomial


def _rewritten(polynomial: Polynomial, known: Knowledge) -> Polynomial | None:
    """The polynomial with one term replaced; None where none is to be."""
    for monomial, coefficient in polynomial.terms:
        new = _by_rule(monomial, coefficient, known) or _by_division(monomial, coefficient, known)
        if new is not None:
            return combination(polynomial - Polynomial([(monomial, coefficient)]), 1, new, 1)
    return None


def _by_rule(monomial: Monomial, coefficient: int, known: Knowledge) -> Polynomial | None:
    for pattern, value in known.rules:
        rest = monomial_quotient(monomial, pattern)
        if rest is not None:
            return value.times(rest).scaled(coefficient)
    return None


def _by_division(monomial: Monomial, coefficient: int, known: Knowledge) -> Polynomial | None:
    for atom, _ in monomial:
        if atom.kind != FLOORDIV or len(atom.operands[1].terms) != 1:
            continue
        dividend, divisor = atom.operands
        term, factor = divisor.terms[0]
        others = monomial_quotient(monomial, ((atom, 1),))
        rest = None if others is None else monomial_quotient(others, term)
        # Coefficients from 0 up to the factor are left, as in divisions: so equal sums come out alike.
        times = coefficient // factor
        if rest is not None and times:
            product = dividend - remainder(dividend, divisor, known)
            left = Polynomial([(monomial, coefficient - times * factor)])
            return combination(product.times(rest), times, left, 1)
    return None


def quotient(dividend: Polynomial, divisor: Polynomial, known: Knowledge) -> Polynomial:
    """`dividend // divisor`, rounded down. Raises ZeroDivisionError, or refuses a divisor that may be 0."""
    dividend, divisor = _positive_divisor(dividend, divisor, known)
    whole, rest = _divided(dividend, divisor, known)
    if rest != ZERO and not _is_remainder(rest, divisor, known):
        reduced, by, _, _ = _without_common_factor(rest, divisor)
        whole = whole + (single(Atom(FLOORDIV, (reduced, by))) if reduced != ZERO else ZERO)
    return normal(whole, known)


def remainder(dividend: Polynomial, divisor: Polynomial, known: Knowledge) -> Polynomial:
    """`dividend % divisor`, of the sign of the divisor. Raises as `quotient` does."""
    negative = never_negative(divisor.scaled(-1) - UNIT, known)
    dividend, divisor = _positive_divisor(dividend, divisor, known)
    dividend = _congruent(dividend, divisor)
    _, rest = _divided(dividend, divisor, known)
    if rest != ZERO and not _is_remainder(rest, divisor, known):
        reduced, by, factor, left = _without_common_factor(rest, divisor)
        found = single(Atom(MOD, (reduced, by))) if reduced != ZERO else ZERO
        rest = combination(found, factor, number(left), 1)
    return normal(rest.scaled(-1) if negative else rest, known)


def _congruent(dividend: Polynomial, divisor: Polynomial) -> Polynomial:
    """The same modulo a number: `e` in the place of `mod(e, q)` where the divisor divides q."""
    number_of = divisor.constant
    if number_of is None:
        return dividend
    for monomial, coefficient in dividend.terms:
        if degree_one(monomial) and monomial[0][0].kind == MOD:
            inner, modulus = monomial[0][0].operands
            if modulus.constant is not None and modulus.constant % number_of == 0:
                dividend = dividend - Polynomial([(monomial, coefficient)]) + inner.scaled(coefficient)
    return dividend


def _positive_divisor(dividend: Polynomial, divisor: Polynomial, known: Knowledge) -> tuple[Polynomial, Polynomial]:
    if divisor == ZERO:
        raise ZeroDivisionError(f"division of the dimension {dividend} by zero")
    if never_negative(divisor - UNIT, known):
        return dividend, divisor
    if never_negative(divisor.scaled(-1) - UNIT, known):
        return dividend.scaled(-1), divisor.scaled(-1)
    raise InconclusiveDimensionOperation(
        f"{dividend} is divided by {divisor}, which may be 0. If it never is, say so: "
        f'symbolic_shape(..., constraints=("{divisor} >= 1",))'
    )


def _divided(dividend: Polynomial, divisor: Polynomial, known: Knowledge) -> tuple[Polynomial, Polynomial]:
    """A quotient and a rest that is in canonical form, too."""
    whole, rest = _long_division(dividend, divisor)
    for _ in range(ROUNDS):
        canonical = normal(rest, known)
        if canonical == rest:
            break
        more, rest = _long_division(canonical, divisor)
        whole = whole + more
    return whole, rest


def _long_division(dividend: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial]:
    """A quotient and a rest, `dividend = quotient * divisor + rest`; the coefficients of the rest that could go are
    below the divisor's leading one."""
    lead, factor = divisor.terms[0]
    whole = ZERO
    waiting, rest = dividend, ZERO
    while waiting.terms:
        monomial, coefficient = waiting.terms[0]
        part = monomial_quotient(monomial, lead)
        times = 0 if part is None else coefficient // factor
        if part is None or times == 0:
            term = Polynomial([(monomial, coefficient)])
            waiting, rest = waiting - term, rest + term
            continue
        step = Polynomial([(part, times)])
        whole, waiting = whole + step, waiting - step * divisor
        left = Polynomial([(monomial, waiting.coefficient(monomial))])
        waiting, rest = waiting - left, rest + left
    return whole, rest


def _is_remainder(rest: Polynomial, divisor: Polynomial, known: Knowledge) -> bool:
    return never_negative(rest, known) and never_negative(divisor - UNIT - rest, known)


def _without_common_factor(rest: Polynomial, divisor: Polynomial) -> tuple[Polynomial, Polynomial, int, int]:
    """`rest = factor * reduced + left`, `divisor = factor * by`, with `0 <= left < factor`, as large as it can be."""
    last = rest.coefficient(ONE)
    body = rest - number(last)
    factor = math.gcd(*[coefficient for _, coefficient in (*body.terms, *divisor.terms)])
    whole, left = divmod(last, factor)
    reduced = Polynomial([(monomial, coefficient // factor) for monomial, coefficient in body.terms]) + number(whole)
    by = Polynomial([(monomial, coefficient // factor) for monomial, coefficient in divisor.terms])
    return reduced, by, factor, left


def extremum(kind: str, operands: list[Polynomial], known: Knowledge) -> Polynomial:
    """The largest (MAX) or smallest (MIN) of several: without those that others decide."""
    flat: dict[Polynomial, None] = {}
    for operand in operands:
        atom = _only_atom(operand)
        for part in atom.operands if atom is not None and atom.kind == kind else (operand,):
            flat[part] = None
    kept: list[Polynomial] = []
    waiting = sorted(flat, key=lambda part: part.text)
    for position, part in enumerate(waiting):
        if not any([_is_beaten(kind, part, other, known) for other in [*kept, *waiting[position + 1 :]]]):
            kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return normal(single(Atom(kind, tuple(kept))), known)


def _only_atom(polynomial: Polynomial) -> Atom | None:
    if len(polynomial.terms) != 1:
        return None
    monomial, coefficient = polynomial.terms[0]
    return monomial[0][0] if coefficient == 1 and degree_one(monomial) else None


def degree_one(monomial: Monomial) -> bool:
    return len(monomial) == 1 and monomial[0][1] == 1


def _is_beaten(kind: str, part: Polynomial, other: Polynomial, known: Knowledge) -> bool:
    assert kind in (MAX, MIN)
    return never_negative(other - part if kind == MAX else part - other, known)
