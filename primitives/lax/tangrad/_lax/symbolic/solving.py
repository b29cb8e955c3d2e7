"""Dimensions at given sizes: what they are, programs of them, and the sizes that shapes of arguments mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

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
    UnsolvableDimensionsError,
    variable,
)
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, ShapedArray, Var
from tangrad.core.arguments import is_symbolic, max_size, min_size

if TYPE_CHECKING:
    pass

# ----------------------------------------------------------------------------------------------------------------------
# What a dimension is at given sizes: an integer, or what sizes are in another arithmetic (source, StableHLO).


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
    floordiv: Callable[..., Any]
    mod: Callable[..., Any]
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


def evaluate(size: Any, sizes: Mapping[str, object], arithmetic: Arithmetic = INTEGERS) -> int:
    """A size, with the given ones in the place of its variables; an integer is handed to the arithmetic as it is.

    Raises KeyError for a variable without a size, ZeroDivisionError where a divisor is 0.

    >>> from tangrad.export import symbolic_shape
    >>> from tangrad._lax.symbolic.solving import evaluate
    >>> (size,) = symbolic_shape("2*n + m//3")
    >>> evaluate(size, {"n": 5, "m": 7})
    12
    """
    return size.evaluate(sizes, arithmetic) if is_symbolic(size) else arithmetic.constant(size)


def evaluate_shape(shape: Any, sizes: Mapping[str, object]) -> tuple[int, ...]:
    """A shape at given sizes, in integers."""
    return tuple([evaluate(size, sizes) if is_symbolic(size) else size for size in shape])


def evaluate_polynomial(polynomial: Polynomial, sizes: Mapping[str, object], arithmetic: Arithmetic = INTEGERS) -> int:
    """As `evaluate`, of the polynomial that a dimension is made of."""
    return _Evaluation(sizes, arithmetic).polynomial(polynomial)


class _Evaluation:
    def __init__(self, sizes: Mapping[str, Any], arithmetic: Arithmetic) -> None:
        self.sizes = sizes
        self.arithmetic = arithmetic

    def polynomial(self, polynomial: Polynomial) -> int:
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


# --- Programs of symbolic sizes at given sizes: numbers, or other dimensions, in the place of variables ---


def filled_in(value: ClosedJaxpr | ShapedArray, sizes: Mapping[str, object]) -> ClosedJaxpr | ShapedArray:
    """A program, or a parameter or type of one, with `sizes` in the place of its variables.

    Tuples, lists and dictionaries are searched; anything else without sizes is handed back as it is. Raises KeyError
    for a variable without a size.

    >>> import tangrad
    >>> from tangrad import export
    >>> from tangrad._lax.symbolic.solving import filled_in
    >>> spec = export.symbolic_args_specs(tangrad.ShapeDtypeStruct((3,), "float32"), "n")
    >>> filled_in(tangrad.make_jaxpr(lambda x: x.reshape(1, -1))(spec), {"n": 4})
    { lambda ; a:f32[4]. let b:f32[1,4] = reshape[dimensions=None new_sizes=(1, 4)] a in (b,) }
    """
    return _Filling(sizes).value(value)


class _Filling:
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self.sizes = sizes
        self.programs: dict[int, object] = {}  # a program that stands twice stays one

    def value(self, value: Any) -> Any:
        if is_symbolic(value):
            return value.evaluate(self.sizes)
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {name: self.value(item) for name, item in value.items()}
        if isinstance(value, ShapedArray):
            return value.update(shape=evaluate_shape(value.shape, self.sizes))
        if isinstance(value, (ClosedJaxpr, Jaxpr)):
            found = self.programs.get(id(value))
            if found is None:
                found = self.programs[id(value)] = self._program(value)
            return found
        return value

    def _program(self, program: ClosedJaxpr | Jaxpr) -> ClosedJaxpr | Jaxpr:
        if isinstance(program, ClosedJaxpr):
            return ClosedJaxpr(self.value(program.jaxpr), program.consts)
        variables: dict[Any, Any] = {}

        def made(var: Var) -> Var:
            kind = DropVar if type(var) is DropVar else Var
            variables[var] = kind(self.value(var.aval))
            return variables[var]

        def read(atom: Var | Literal) -> Var | Literal:
            return atom if type(atom) is Literal else variables[atom]

        constvars, invars = [[made(var) for var in some] for some in (program.constvars, program.invars)]
        eqns = []
        for eqn in program.eqns:
            operands = [read(atom) for atom in eqn.invars]
            params = self.value(dict(eqn.params))
            results = [made(var) for var in eqn.outvars]
            eqns.append(JaxprEqn(eqn.primitive, operands, results, params, eqn.effects, eqn.source_info))
        outvars = [read(atom) for atom in program.outvars]
        return Jaxpr(constvars, invars, outvars, eqns, program.effects, program.debug_name)


# ----------------------------------------------------------------------------------------------------------------------
# The sizes of dimension variables, from the shapes of arguments: each argument's dimension is an equation.
# Solved one unknown at a time: of the equations in which one unknown is left, linearly, one is taken. What is not used
# for that is checked, and so are the constraints of the scope.


class Place(NamedTuple):
    """A dimension of an argument: the number of the argument, the axis, and the size that is written there."""

    argument: int
    axis: int
    size: Any


class Step(NamedTuple):
    """How a variable is found: `(the size at place - rest) / factor`."""

    name: str
    place: Place
    factor: int
    rest: Polynomial


class Plan(NamedTuple):
    """How the variables of shapes are found, and what is then to be checked.

    Attributes:
        names: of the variables, sorted.
        scope: their scope, None where there is none.
        shapes: the shapes that it was made for.
        steps: in the order in which they are taken.
        checks: the places that no step used.
        labels: what the arguments are called in messages.
    """

    names: tuple[str, ...]
    scope: Any
    shapes: tuple[tuple[object, ...], ...]
    steps: tuple[Step, ...]
    checks: tuple[Place, ...]
    labels: tuple[str, ...]

    def sizes(self, shapes: Sequence[Sequence[int]]) -> dict[str, int]:
        """The sizes of the variables for arguments of these shapes.

        Raises ValueError for shapes that do not fit: it names the argument, the dimension, and both sizes.
        """
        for label, expected, actual in zip(self.labels, self.shapes, shapes, strict=True):
            if len(expected) != len(actual):
                raise ValueError(
                    f"Rank mismatch for {label}, which is of shape {shape_text(expected)} with {len(expected)} "
                    f"dimensions: got one of shape {shape_text(actual)}"
                )
        found: dict[str, int] = {}
        for step in self.steps:
            self._take(step, shapes, found)
        for place in self.checks:
            self._check(place, shapes, found)
        self._check_scope(found)
        return found

    def found(
        self, actual: Callable[[int, int], Any], arithmetic: Arithmetic, known: Mapping[str, object]
    ) -> Iterator[tuple[str, Any]]:
        """Each variable with its value in a given arithmetic; nothing is checked.

        Args:
            actual: from the number of an argument and an axis to the size there.
            known: where the values of the variables that were yielded before are found.
        """
        for step in self.steps:
            size = actual(step.place.argument, step.place.axis)
            if step.rest.terms:
                rest = evaluate_polynomial(step.rest.scaled(-1), known, arithmetic)
                size = arithmetic.add(size, rest)
            if step.factor < 0:
                size = arithmetic.multiply(arithmetic.constant(-1), size)
            if abs(step.factor) != 1:
                size = arithmetic.floordiv(size, arithmetic.constant(abs(step.factor)))
            yield step.name, size

    def _take(self, step: Step, shapes: Sequence[Sequence[int]], found: dict[str, int]) -> None:
        actual = shapes[step.place.argument][step.place.axis]
        rest = evaluate_polynomial(step.rest, found)
        value, left = divmod(actual - rest, step.factor)
        low, high = self.scope.size_range(step.name)
        if left or value < 1:
            known = ", ".join([f"{name} = {size}" for name, size in found.items()])
            raise ValueError(
                f"{self._described(step.place, actual)}, which {step.place.size} is for no {step.name} of at least 1"
                + (f" where {known}" if known else "")
            )
        if value < low or (not math.isinf(high) and value > high):
            limit = f"at least {low}" if value < low else f"at most {high}"
            raise ValueError(
                f"{self._described(step.place, actual)}, so {step.name} is {value}; its constraints "
                f"({', '.join(self.scope.constraints)}) say that it is {limit}"
            )
        found[step.name] = value

    def _check(self, place: Place, shapes: Sequence[Sequence[int]], found: dict[str, int]) -> None:
        actual, expected = shapes[place.argument][place.axis], evaluate(place.size, found)
        if actual != expected:
            origin = f"where {place.size} is {expected}{self._origin(place.size, found)}"
            if is_symbolic(place.size):
                raise ValueError(f"{self._described(place, actual)}, {origin}")
            dimension = f"{self.labels[place.argument]}.shape[{place.axis}]"
            raise ValueError(
                f"Shape mismatch for {dimension} (expected same constant): {self._described(place, actual)}, "
                f"not {expected}"
            )

    def _described(self, place: Place, actual: int) -> str:
        label, shape = self.labels[place.argument], self.shapes[place.argument]
        return f"{label} is of shape {shape_text(shape)}; its dimension {place.axis} has size {actual}"

    def _origin(self, size: Any, found: Mapping[str, int]) -> str:
        """Where the values of the variables in a size come from."""
        if not is_symbolic(size):
            return ""
        parts = []
        for step in self.steps:
            if step.name in size.variables():
                label = self.labels[step.place.argument]
                parts.append(f"{step.name} = {found[step.name]} by dimension {step.place.axis} of {label}")
        return f" ({', '.join(parts)})" if parts else ""

    def _check_scope(self, found: dict[str, int]) -> None:
        for text, left, sign, right in self.scope.stated if self.scope is not None else ():
            if not (left.variables() | right.variables()) <= set(found):
                continue
            sides = evaluate_polynomial(left, found), evaluate_polynomial(right, found)
            if not (sides[0] >= sides[1] if sign == ">=" else sides[0] == sides[1]):
                sizes = ", ".join([f"{name} = {size}" for name, size in sorted(found.items())])
                raise ValueError(
                    f"the constraint {text} does not hold for {sizes}: its sides are {sides[0]} and {sides[1]}"
                )


def shape_text(shape: Sequence[object]) -> str:
    """A shape in words: `(n, 2*m + 1)`."""
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def plan(shapes: Sequence[Sequence[object]], labels: Sequence[str] = ()) -> Plan:
    """How to find the variables in `shapes`, which the arguments called `labels` have.

    Raises UnsolvableDimensionsError where they do not determine them, and for a constraint between one of them and a
    variable that no argument has: what was concluded from it could not be checked.

    >>> from tangrad.export import symbolic_shape
    >>> from tangrad._lax.symbolic.solving import plan
    >>> plan([symbolic_shape("b, 2*n + 1")]).sizes([(4, 7)])
    {'b': 4, 'n': 3}
    """
    labels = tuple(labels) or tuple([f"argument {position}" for position in range(len(shapes))])
    places = [Place(i, axis, size) for i, shape in enumerate(shapes) for axis, size in enumerate(shape)]
    symbolic = [place for place in places if is_symbolic(place.size)]
    scope = _common_scope([place.size for place in symbolic])
    names = sorted(set().union(*[place.size.variables() for place in symbolic]))
    steps: list[Step] = []
    known: set[str] = set()
    while len(known) < len(names):
        step = next((found for place in symbolic if (found := _step(place, known))), None)
        if step is None:
            raise _unsolvable(sorted(set(names) - known), symbolic, labels)
        steps.append(step)
        known.add(step.name)
    _refuse_unknown(scope, known)
    used = {step.place[:2] for step in steps}
    checks = [place for place in places if place[:2] not in used]
    return Plan(tuple(names), scope, tuple(map(tuple, shapes)), tuple(steps), tuple(checks), labels)


def _refuse_unknown(scope: Any, known: Set[str]) -> None:
    for text, left, _, right in scope.stated if scope is not None else ():
        variables = left.variables() | right.variables()
        if variables & known and (unknown := variables - known):
            raise UnsolvableDimensionsError(
                f"Encountered dimension variable {', '.join(map(repr, sorted(unknown)))} in the constraint {text}, and "
                f"no argument has it: what {', '.join(sorted(variables & known))} is cannot be held against it"
            )


def _common_scope(sizes: Sequence[Any]) -> object:
    scopes = {id(size.scope): size.scope for size in sizes}
    if len(scopes) > 1:
        raise ValueError(
            f"the dimensions {', '.join(map(str, sizes))} come from {len(scopes)} scopes; write all shapes with one: "
            "symbolic_shape(..., scope=scope)"
        )
    return next(iter(scopes.values()), None)


def _step(place: Place, known: set[str]) -> Step | None:
    """The one unknown of a dimension, where it is linear in it with a number as its factor."""
    polynomial = place.size.polynomial
    unknown = polynomial.variables() - known
    if len(unknown) != 1:
        return None
    (name,) = unknown
    itself = variable(name)
    factor = polynomial.coefficient(itself.terms[0][0])
    rest = polynomial - itself.scaled(factor)
    return Step(name, place, factor, rest) if factor and name not in rest.variables() else None


def _unsolvable(names: Sequence[str], places: Sequence[Place], labels: Sequence[str]) -> UnsolvableDimensionsError:
    listed = ", ".join([f"{place.size} (dimension {place.axis} of {labels[place.argument]})" for place in places])
    return UnsolvableDimensionsError(
        f"the shapes of the arguments do not determine {', '.join(names)}: there must be dimensions that are linear in "
        f"them one by one, such as n or 2*n + 1; there are {listed}"
    )
