"""Scopes of dimension variables, and dimensions, shapes and constraints read from text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tangrad._lax.symbolic.dimensions import dimension, polynomial_of
from tangrad._lax.symbolic.normal import degree_one, remainder
from tangrad._lax.symbolic.polynomials import (
    MOD,
    ONE,
    VARIABLE,
    Atom,
    Monomial,
    Polynomial,
    UnsolvableDimensionsError,
    number,
    variable,
)
from tangrad._lax.symbolic.proofs import (
    SIZE,
    Interval,
    Knowledge,
    atom_interval,
    interval,
    monomial_interval,
    never_negative,
)
from tangrad.core import class_boundary
from tangrad.core.arguments import max_size, min_size

if TYPE_CHECKING:
    from tangrad.typing import Value


# --- Reading dimensions, shapes and constraints: `b, 2*n + 1, floordiv(m, 2), ...` ---
# shape       = [ "(" ] [ entry { "," entry } [ "," ] ] [ ")" ]
# entry       = "..." | "_" | sum
# constraint  = sum ( ">=" | "<=" | "==" ) sum
# sum         = term { ( "+" | "-" ) term }
# term        = sign { ( "*" | "//" | "%" ) sign }
# sign        = [ "-" | "+" ] power
# power       = primary [ ( "^" | "**" ) integer ]
# primary     = integer | name | operation "(" sum { "," sum } ")" | "(" sum ")"
# operation   = "max" | "min" | "mod" | "floordiv"


ELLIPSIS, PLACEHOLDER = "...", "_"
LIMITS = {"letters": 10_000, "digits": 18, "exponent": 32, "depth": 50}  # what a text from a file may ask for
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\.\.\.|//|\*\*|>=|<=|==|[-+*%^(),/<>]))")


def parse_shape(text: str, scope: Knowledge) -> list[int]:
    """The entries of a shape: integers, dimensions, ELLIPSIS, PLACEHOLDER. Raises ValueError, pointing at the fault."""
    return _Parser(text, scope).shape()


def parse_dimension(text: str, scope: Knowledge) -> Any:
    """One dimension: an integer or a `Dimension`."""
    parser = _Parser(text, scope)
    found = parser.sum()
    parser.end()
    return found


def parse_constraint(text: str, scope: Knowledge) -> tuple[Any, str, Any]:
    """The two sides of a constraint, and `>=`, `<=` or `==` between them."""
    parser = _Parser(text, scope)
    left = parser.sum()
    sign = parser.next
    if sign not in (">=", "<=", "=="):
        parser.fail("expected >=, <= or ==")
    parser.advance()
    right = parser.sum()
    parser.end()
    return left, sign, right


class _Parser:
    """Recursive descent over tokens. `next` is the token at hand, "" at the end."""

    def __init__(self, text: str, scope: Knowledge) -> None:
        if not isinstance(text, str):
            raise TypeError(f"dimensions are written as a string, got {text!r} of type {type(text).__name__}")
        if len(text) > LIMITS["letters"]:
            raise ValueError(f"a shape of {len(text)} letters; {LIMITS['letters']} are read")
        self.text = text
        self.scope = scope
        self.position = self.start = 0
        self.depth = 0
        self.next = ""
        self.advance()

    def advance(self) -> str:
        """Go to the next token; the one that was at hand."""
        passed = self.next
        self.start = self.position
        rest = self.text[self.position :]
        if not rest.strip():
            self.next = ""
            return passed
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.next = rest.strip()[0]
            self.fail("expected a name, a number or an operator")
        self.position = match.end()
        self.next = match[match.lastindex or 0]
        if match[1] and len(match[1]) > LIMITS["digits"]:
            self.fail(f"a number of {len(match[1])} digits")
        return passed

    def fail(self, problem: str) -> NoReturn:
        found = f"{self.next!r} at letter {self.start + 1}" if self.next else "the end"
        raise ValueError(f"cannot read {self.text!r} as symbolic dimensions: {problem}, found {found}")

    def take(self, token: str) -> None:
        if self.next != token:
            self.fail(f"expected {token!r}")
        self.advance()

    def end(self) -> None:
        if self.next:
            self.fail("expected the end")

    def shape(self) -> list[Any]:
        entries: list[Any] = []
        bracket = self._is_wrapped()
        if bracket:
            self.take("(")
        while self.next and self.next != ")":
            entries.append(self.entry())
            if self.next != ",":
                break
            self.advance()
        if bracket:
            self.take(")")
        self.end()
        return entries

    def _is_wrapped(self) -> bool:
        """Whether the whole text stands in one pair of parentheses, as a tuple does: `(a, b)`, not `(a + b) * 2`."""
        stripped = self.text.strip()
        if not stripped.startswith("(") or not stripped.endswith(")"):
            return False
        depth = 0
        for position, letter in enumerate(stripped):
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                return position == len(stripped) - 1
        return False

    def entry(self) -> Any:
        if self.next in (ELLIPSIS, PLACEHOLDER):
            return self.advance()
        return self.sum()

    def sum(self) -> Any:
        self.depth += 1
        if self.depth > LIMITS["depth"]:
            self.fail("nested too deeply")
        total = self.term()
        while self.next in ("+", "-"):
            sign = self.advance()
            term = self.term()
            total = total + term if sign == "+" else total - term
        self.depth -= 1
        return total

    def term(self) -> int:
        product = self.sign()
        while self.next in ("*", "//", "%"):
            if self.next == "*":
                self.advance()
                product = product * self.sign()
            else:
                operation = _OPERATIONS["floordiv" if self.advance() == "//" else "mod"]
                product = operation([product, self.sign()])
        return product

    def sign(self) -> Any:
        if self.next in ("-", "+"):
            return -self.power() if self.advance() == "-" else self.power()
        return self.power()

    def power(self) -> int:
        base = self.primary()
        if self.next not in ("^", "**"):
            return base
        self.advance()
        if not self.next.isdigit() or int(self.next) > LIMITS["exponent"]:
            self.fail(f"expected an exponent up to {LIMITS['exponent']}")
        return base ** int(self.advance())

    def primary(self) -> Any:
        if self.next.isdigit():
            return int(self.advance())
        if self.next == "(":
            self.advance()
            inside = self.sum()
            self.take(")")
            return inside
        if not self.next.isidentifier() or self.next == PLACEHOLDER:
            self.fail("expected a dimension")
        name = self.advance()
        if self.next != "(":
            if name in _OPERATIONS:
                self.fail(f"expected the operands of {name}")
            return dimension(self.scope, variable(name))
        return self.operation(name)

    def operation(self, name: str) -> Any:
        if name not in _OPERATIONS:
            self.fail(f"{name} is no operation on dimensions (those are {', '.join(_OPERATIONS)})")
        self.advance()
        operands = [self.sum()]
        while self.next == ",":
            self.advance()
            operands.append(self.sum())
        self.take(")")
        if len(operands) < 2 or (len(operands) > 2 and name in ("mod", "floordiv")):
            self.fail(f"{name} does not take {len(operands)} operands")
        return _OPERATIONS[name](operands)


def _divided(operands: list[Value]) -> Any:
    _refuse_zero(operands)
    return operands[0] // operands[1]


def _remainder(operands: list[Value]) -> Any:
    _refuse_zero(operands)
    return operands[0] % operands[1]


def _refuse_zero(operands: Sequence[object]) -> None:
    if type(operands[1]) is int and operands[1] == 0:
        raise ValueError(f"the dimension {operands[0]} is divided by 0")


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "max": lambda operands: max_size(*operands),
    "min": lambda operands: min_size(*operands),
    "mod": _remainder,
    "floordiv": _divided,
}


# --- Scopes: which dimension variables belong together, and what is known of them ---


MOST_DIVIDED = 4096  # divisors of larger numbers are not looked for


@class_boundary
class SymbolicScope:
    """The scope of dimension variables: dimensions of one scope may meet, and its constraints hold of them.

    A variable is at least 1, unless a constraint gives more. Of the constraints `left >= right` and `left <= right`
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
        if divisor is None or divisor > MOST_DIVIDED:
            return
        for smaller in range(2, divisor):
            if divisor % smaller == 0:
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
        """What `coefficient * atom + rest >= 0` implies for the atom alone."""
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
