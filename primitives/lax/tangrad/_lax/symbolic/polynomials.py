"""Polynomials with integer coefficients over atoms, and the errors of dimensions that are no numbers yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tangrad.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation

# --- The errors about dimensions that are no numbers yet ---


class UnsolvableDimensionsError(ValueError):
    """The sizes of the arguments do not determine the dimension variables, or contradict what is known of them."""


# ----------------------------------------------------------------------------------------------------------------------
# Polynomials with integer coefficients over atoms: variables, and divisions, remainders, maxima and minima of them.
# Plain algebra in canonical form, so that equal polynomials have one text, which they are compared and hashed by. What
# is known of the variables is the business of others.


VARIABLE = "variable"
FLOORDIV, MOD, MAX, MIN = "floordiv", "mod", "max", "min"
OPERATIONS = (FLOORDIV, MOD, MAX, MIN)


class Atom:
    """What polynomials are made of: a variable, or an operation on polynomials that is none itself.

    Attributes:
        kind: VARIABLE, FLOORDIV, MOD, MAX or MIN.
        operands: polynomials.
        text: `n`, `floordiv(n, 2)`; the identity of the atom.
    """

    __slots__ = ("_hash", "kind", "operands", "text")

    def __init__(self, kind: str, operands: tuple[Polynomial, ...], name: str = "") -> None:
        self.kind = kind
        self.operands = operands
        self.text = name if kind == VARIABLE else f"{kind}({', '.join([operand.text for operand in operands])})"
        self._hash = hash(self.text)

    def __eq__(self, other: object) -> bool:
        return type(other) is Atom and self.text == other.text

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.text


Monomial = tuple[tuple[Atom, int], ...]  # atoms, ordered by their texts, with positive exponents; () is 1
ONE: Monomial = ()


def monomial_product(one: Monomial, other: Monomial) -> Monomial:
    if not one or not other:
        return one or other
    powers = dict(one)
    for atom, exponent in other:
        powers[atom] = powers.get(atom, 0) + exponent
    return tuple(sorted(powers.items(), key=_by_text))


def monomial_quotient(one: Monomial, other: Monomial) -> Monomial | None:
    """`one / other`, or None where it does not divide."""
    powers = dict(one)
    for atom, exponent in other:
        left = powers.get(atom, 0) - exponent
        if left < 0:
            return None
        powers[atom] = left
    return tuple([(atom, exponent) for atom, exponent in powers.items() if exponent])


def degree(monomial: Monomial) -> int:
    return sum([exponent for _, exponent in monomial])


def _by_text(power: tuple[Atom, int]) -> str:
    return power[0].text


def _order(term: tuple[Monomial, int]) -> tuple[int, list[tuple[str, int]]]:
    """Terms of higher degree first, then by name: graded lexicographic, so that long division ends."""
    monomial, _ = term
    return -degree(monomial), [(atom.text, -exponent) for atom, exponent in monomial]


def monomial_text(monomial: Monomial) -> str:
    return "*".join([atom.text if exponent == 1 else f"{atom.text}^{exponent}" for atom, exponent in monomial])


MOST_TERMS = 1 << 12  # before those of a product are put together


class Polynomial:
    """A sum of monomials with integer coefficients, immutable.

    Attributes:
        terms: pairs of a monomial and its coefficient, none of them 0, ordered.
        text: `2*n + 1`; what the parser reads back.
    """

    __slots__ = ("_hash", "terms", "text")
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: Iterable[tuple[Monomial, int]]) -> None:
        self.terms = tuple(sorted([term for term in terms if term[1]], key=_order))
        self.text = _text(self.terms)
        self._hash = hash(self.text)

    def __eq__(self, other: object) -> bool:
        return type(other) is Polynomial and self.text == other.text

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.text

    def __add__(self, other: Polynomial) -> Polynomial:
        return combination(self, 1, other, 1)

    def __sub__(self, other: Polynomial) -> Polynomial:
        return combination(self, 1, other, -1)

    def __mul__(self, other: Polynomial) -> Polynomial:
        if len(self.terms) * len(other.terms) > MOST_TERMS:
            raise ValueError(f"a product of sizes of {len(self.terms)} and {len(other.terms)} terms is too large")
        product: dict[Monomial, int] = {}
        for one, factor in self.terms:
            for another, coefficient in other.terms:
                monomial = monomial_product(one, another)
                product[monomial] = product.get(monomial, 0) + factor * coefficient
        return Polynomial(product.items())

    def scaled(self, factor: int) -> Polynomial:
        return Polynomial([(monomial, factor * coefficient) for monomial, coefficient in self.terms])

    def times(self, monomial: Monomial) -> Polynomial:
        return Polynomial([(monomial_product(own, monomial), coefficient) for own, coefficient in self.terms])

    @property
    def constant(self) -> int | None:
        """The number that it is, or None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if self.terms[0][0] == ONE else None

    def coefficient(self, monomial: Monomial) -> int:
        return dict(self.terms).get(monomial, 0)

    def atoms(self) -> Iterator[Atom]:
        """The atoms that it is made of, each once; not those within operations."""
        return iter({atom: None for monomial, _ in self.terms for atom, _ in monomial})

    def variables(self) -> set[str]:
        """The names of the variables in it, those within operations included."""
        found = set()
        for atom in self.atoms():
            found |= (
                {atom.text} if atom.kind == VARIABLE else set().union(*[part.variables() for part in atom.operands])
            )
        return found


def combination(one: Polynomial, factor: int, other: Polynomial, weight: int) -> Polynomial:
    """`factor * one + weight * other`."""
    total = {monomial: factor * coefficient for monomial, coefficient in one.terms}
    for monomial, coefficient in other.terms:
        total[monomial] = total.get(monomial, 0) + weight * coefficient
    return Polynomial(total.items())


def number(value: int) -> Polynomial:
    return Polynomial([(ONE, value)])


def single(atom: Atom) -> Polynomial:
    return Polynomial([(((atom, 1),), 1)])


def variable(name: str) -> Polynomial:
    return single(Atom(VARIABLE, (), name))


def _text(terms: tuple[tuple[Monomial, int], ...]) -> str:
    parts: list[str] = []
    for monomial, coefficient in terms:
        size = abs(coefficient)
        if monomial == ONE:
            body = str(size)
        else:
            body = monomial_text(monomial) if size == 1 else f"{size}*{monomial_text(monomial)}"
        if not parts:
            parts.append(f"-{body}" if coefficient < 0 else body)
        else:
            parts.append(f"- {body}" if coefficient < 0 else f"+ {body}")
    return " ".join(parts) or "0"
