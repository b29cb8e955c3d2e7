"""Scopes: which dimension variables belong together, and what is known of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tangrad._symbolic.dimensions import dimension, polynomial_of
from tangrad._symbolic.errors import UnsolvableDimensionsError
from tangrad._symbolic.intervals import SIZE, Interval, atom_interval, interval, monomial_interval
from tangrad._symbolic.normal import degree_one, remainder
from tangrad._symbolic.parsing import parse_constraint
from tangrad._symbolic.polynomials import MOD, ONE, VARIABLE, Atom, Monomial, Polynomial, number
from tangrad._symbolic.proofs import never_negative
from tangrad.core import class_boundary

MOST_DIVIDED = 4096  # divisors of larger numbers are not looked for


@class_boundary
class SymbolicScope:
    """The scope of dimension variables: dimensions of one scope may meet, and its constraints hold of them.

    A variable is at least 1, unless a constraint says more. Of the constraints `left >= right` and `left <= right`
    decide comparisons; `left == right`, where a side is one variable, product or operation, replaces that throughout.

    Args:
        constraints_str: strings such as `"a >= 2*b"`, `"mod(n, 8) == 0"`, `"m == n + 1"`.

    Raises:
        ValueError: for a constraint that cannot be read, or that can never hold with those before it.

    Attributes:
        constraints: as they were given.

    >>> from tangrad.export import SymbolicScope, symbolic_shape
    >>> scope = SymbolicScope(["a >= b + 2", "mod(c, 8) == 0"])
    >>> a, b, c = symbolic_shape("a, b, c", scope=scope)
    >>> a > b, c % 8, 8 * (c // 8)
    (True, 0, c)
    """

    __slots__ = ("__weakref__", "constraints", "decided", "facts", "ranges", "rules", "stated")

    def __init__(self, constraints_str: Iterable[str] = ()) -> None:
        constraints = (constraints_str,) if isinstance(constraints_str, str) else constraints_str
        self.ranges: dict[str, Interval] = {}
        self.facts: list[Polynomial] = []
        self.rules: list[tuple[Monomial, Polynomial]] = []
        self.decided: dict[Polynomial, bool] = {}
        self.constraints: tuple[str, ...] = ()
        # What has to be checked of actual sizes: (text, left, sign, right), as stated.
        self.stated: list[tuple[str, Polynomial, str, Polynomial]] = []
        for text in constraints:
            self._add(text)

    def __repr__(self) -> str:
        return f"SymbolicScope(constraints={list(self.constraints)})"

    def _add(self, text: str) -> None:
        left, sign, right = parse_constraint(text, self)
        if sign == "<=":
            left, sign, right = right, ">=", left
        sides = [polynomial_of(left, self), polynomial_of(right, self)]
        assert sides[0] is not None and sides[1] is not None
        difference = sides[0] - sides[1]
        self._refuse_contradiction(text, sign, difference)
        self.constraints += (text,)
        self.stated.append((text, sides[0], sign, sides[1]))
        self.decided.clear()
        if sign == "==" and difference.terms:
            self._add_rule(sides[0], sides[1])
            self._add_fact(difference.scaled(-1))
        self._add_fact(difference)

    def _refuse_contradiction(self, text: str, sign: str, difference: Polynomial) -> None:
        below = [difference, difference.scaled(-1)] if sign == "==" else [difference]
        for polynomial in below:
            if never_negative(polynomial.scaled(-1) - number(1), self):
                raise UnsolvableDimensionsError(
                    f"the constraint {text} can never hold"
                    + (f" together with {', '.join(self.constraints)}" if self.constraints else " of sizes from 1 up")
                )

    def _add_rule(self, left: Polynomial, right: Polynomial) -> None:
        """Replace a side that is a single monomial by the other one, wherever it occurs."""
        ways = [(left, right), (right, left)]
        if _is_variable(right) and not _is_variable(left):
            ways.reverse()  # n by a*b, so that n is seen to be a multiple of a
        for pattern, value in ways:
            if len(pattern.terms) == 1 and pattern.terms[0][1] == 1 and pattern.constant is None:
                monomial = pattern.terms[0][0]
                names = {atom for atom, _ in monomial}
                if not names & set(value.atoms()) and not pattern.variables() & _inside(value):
                    low, high = monomial_interval(monomial, self)
                    self.rules.append((monomial, value))
                    if value == number(0):
                        self._add_divisors(monomial[0][0])
                    # What was known of the monomial is known of what stands in its place.
                    if low > -math.inf:
                        self._add_fact(value - number(low))
                    if high < math.inf:
                        self._add_fact(number(high) - value)
                    return

    def _add_divisors(self, atom: Atom) -> None:
        """What leaves nothing when divided by a number leaves nothing by its divisors either."""
        divisor = atom.operands[1].constant if atom.kind == MOD else None
        for smaller in range(2, divisor if divisor is not None and divisor <= MOST_DIVIDED else 0):
            if divisor % smaller == 0:  # type: ignore[operator]
                left = remainder(atom.operands[0], number(smaller), self)
                if len(left.terms) == 1 and left.terms[0][1] == 1 and left.constant is None:
                    self.rules.append((left.terms[0][0], number(0)))

    def _add_fact(self, fact: Polynomial) -> None:
        if fact.constant is not None:
            return
        self.facts.append(fact)
        for monomial, coefficient in fact.terms:
            if monomial != ONE and degree_one(monomial):
                self._narrow(monomial, coefficient, fact)

    def _narrow(self, monomial: Monomial, coefficient: int, fact: Polynomial) -> None:
        """What `coefficient * atom + rest >= 0` says of the atom by itself."""
        atom = monomial[0][0]
        rest = fact - Polynomial([(monomial, coefficient)])
        _, high = interval(rest, self)
        if math.isinf(high):
            return
        low_end, high_end = atom_interval(atom, self)
        if coefficient > 0:
            low_end = max(low_end, -(high // coefficient))
        else:
            high_end = min(high_end, high // -coefficient)
        self.ranges[atom.text] = (low_end, high_end)

    def size_range(self, name: str) -> Interval:
        """The bounds of a variable."""
        return self.ranges.get(name, SIZE)

    def size(self, polynomial: Polynomial) -> Any:
        """A polynomial as a dimension of this scope, or an integer."""
        return dimension(self, polynomial)


def _is_variable(polynomial: Polynomial) -> bool:
    return polynomial.variables() == {polynomial.text}


def _inside(polynomial: Polynomial) -> set[str]:
    """The variables within operations: a rule that puts them there would never end."""
    found: set[str] = set()
    for atom in polynomial.atoms():
        if atom.kind != VARIABLE:
            found = found.union(*[operand.variables() for operand in atom.operands])
    return found
