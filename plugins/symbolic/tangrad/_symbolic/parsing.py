"""Reading dimensions, shapes and constraints: `b, 2*n + 1, floordiv(m, 2), ...`.

shape       = [ "(" ] [ entry { "," entry } [ "," ] ] [ ")" ]
entry       = "..." | "_" | sum
constraint  = sum ( ">=" | "<=" | "==" ) sum
sum         = term { ( "+" | "-" ) term }
term        = sign { ( "*" | "//" | "%" ) sign }
sign        = [ "-" | "+" ] power
power       = primary [ ( "^" | "**" ) integer ]
primary     = integer | name | operation "(" sum { "," sum } ")" | "(" sum ")"
operation   = "max" | "min" | "mod" | "floordiv"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from tangrad._symbolic.dimensions import dimension
from tangrad._symbolic.intervals import Knowledge
from tangrad._symbolic.polynomials import variable
from tangrad.core.arguments import max_size, min_size

ELLIPSIS, PLACEHOLDER = "...", "_"
LIMITS = {"letters": 10_000, "digits": 18, "exponent": 32, "depth": 50}  # what a text from a file may ask for
_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\.\.\.|//|\*\*|>=|<=|==|[-+*%^(),/<>]))")


def parse_shape(text: str, scope: Knowledge) -> list[Any]:
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

    def term(self) -> Any:
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

    def power(self) -> Any:
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


def _divided(operands: list[Any]) -> Any:
    _refuse_zero(operands)
    return operands[0] // operands[1]


def _remainder(operands: list[Any]) -> Any:
    _refuse_zero(operands)
    return operands[0] % operands[1]


def _refuse_zero(operands: list[Any]) -> None:
    if type(operands[1]) is int and operands[1] == 0:
        raise ValueError(f"the dimension {operands[0]} is divided by 0")


_OPERATIONS: dict[str, Callable[[list[Any]], Any]] = {
    "max": lambda operands: max_size(*operands),
    "min": lambda operands: min_size(*operands),
    "mod": _remainder,
    "floordiv": _divided,
}
