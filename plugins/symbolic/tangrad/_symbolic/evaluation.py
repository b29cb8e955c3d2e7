"""What a dimension is at given sizes: an integer, or what sizes are in another arithmetic (source, StableHLO)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tangrad._symbolic.polynomials import FLOORDIV, MAX, MIN, MOD, ONE, VARIABLE, Atom, Monomial, Polynomial
from tangrad.core.arguments import is_symbolic, max_size, min_size


class Arithmetic(NamedTuple):
    """How sizes are computed: functions on whatever stands for a size.

    Attributes:
        constant: of an integer.
        add, multiply: of two sizes.
        floordiv, mod: rounded down, as Python does.
        maximum, minimum: of two sizes.
    """

    constant: Callable[[int], Any]
    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    floordiv: Callable[[Any, Any], Any]
    mod: Callable[[Any, Any], Any]
    maximum: Callable[[Any, Any], Any]
    minimum: Callable[[Any, Any], Any]


INTEGERS = Arithmetic(
    lambda value: value,
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    max_size,
    min_size,
)


def evaluate(size: Any, sizes: Mapping[str, Any], arithmetic: Arithmetic = INTEGERS) -> Any:
    """A size, with the given ones in the place of its variables; an integer is handed to the arithmetic as it is.

    Raises KeyError for a variable without a size, ZeroDivisionError where a divisor is 0.

    >>> from tangrad.export import symbolic_shape
    >>> from tangrad._symbolic.evaluation import evaluate
    >>> (size,) = symbolic_shape("2*n + m//3")
    >>> evaluate(size, {"n": 5, "m": 7})
    12
    """
    return size.evaluate(sizes, arithmetic) if is_symbolic(size) else arithmetic.constant(size)


def evaluate_shape(shape: Any, sizes: Mapping[str, Any]) -> tuple[int, ...]:
    """A shape at given sizes, in integers."""
    return tuple([evaluate(size, sizes) if is_symbolic(size) else size for size in shape])


def evaluate_polynomial(polynomial: Polynomial, sizes: Mapping[str, Any], arithmetic: Arithmetic = INTEGERS) -> Any:
    """As `evaluate`, of the polynomial that a dimension is made of."""
    return _Evaluation(sizes, arithmetic).polynomial(polynomial)


class _Evaluation:
    def __init__(self, sizes: Mapping[str, Any], arithmetic: Arithmetic) -> None:
        self.sizes = sizes
        self.arithmetic = arithmetic

    def polynomial(self, polynomial: Polynomial) -> Any:
        total = None
        for monomial, coefficient in polynomial.terms:
            term = self.term(monomial, coefficient)
            total = term if total is None else self.arithmetic.add(total, term)
        return self.arithmetic.constant(0) if total is None else total

    def term(self, monomial: Monomial, coefficient: int) -> Any:
        if monomial == ONE:
            return self.arithmetic.constant(coefficient)
        product = None if coefficient == 1 else self.arithmetic.constant(coefficient)
        for atom, exponent in monomial:
            value = self.atom(atom)
            for _ in range(exponent):
                product = value if product is None else self.arithmetic.multiply(product, value)
        return product

    def atom(self, atom: Atom) -> Any:
        if atom.kind == VARIABLE:
            return self.sizes[atom.text]
        function = {
            FLOORDIV: self.arithmetic.floordiv,
            MOD: self.arithmetic.mod,
            MAX: self.arithmetic.maximum,
            MIN: self.arithmetic.minimum,
        }[atom.kind]
        found, *others = [self.polynomial(operand) for operand in atom.operands]
        for other in others:
            found = function(found, other)
        return found
