"""What equations and programs are, whatever their variables are called: numbers that are equal where the parts are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var
from tangrad.core.caches import typed_key
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from tangrad.core import ShapedArray

# Calls of functions with rules of their own: in a compiled program nothing is left of the rules.
_RULES_OF_CALLS = {
    "custom_rules.custom_jvp_call": ("rule", "name"),
    "custom_rules.custom_vjp_call": ("fwd", "name"),
}
_NAMES_OF_CALLS = {"jit.jit": ("name",), "regions.region": ("name",)}
UNREAD = {**_RULES_OF_CALLS, **_NAMES_OF_CALLS}  # parameters that say nothing of what is computed


PRODUCTS = frozenset({"contractions.dot_general"})
WINDOWS = frozenset({"windows.conv_general_dilated"})


class Contents(NamedTuple):
    """How many equations a part has, and how many of them are contractions and convolutions.

    Attributes:
        windows: convolutions that are slower in functions. steady: the others.
    """

    size: int
    products: int
    windows: int
    steady: int


class Structures:
    """Numbers the structures that it is shown, in time linear in their size; equal ones have one number.

    It keeps what it has seen alive: its tables are by identity.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._programs: dict[int, int] = {}
        self._contents: dict[int, Contents] = {}
        self._equations: dict[int, int] = {}
        self._seen: list[object] = []

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def of_equation(self, equation: JaxprEqn) -> int:
        """The number of an equation: its primitive, parameters and types. One with effects is equal to no other."""
        found = self._equations.get(id(equation))
        if found is None:
            self._seen.append(equation)
            found = self._equations[id(equation)] = self._of_new(equation)
        return found

    def _of_new(self, equation: JaxprEqn) -> int:
        if equation.effects:
            return self._number(("alone", len(self._numbers)))
        primitive, params = equation.primitive, equation.params
        try:
            read = tuple([(name, self._value(value)) for name, value in params.items()] if params else ())
            unread = UNREAD.get(primitive.identity)
            if unread:
                read = tuple([item for item in read if item[0] not in unread])
            inputs = tuple([_literal(atom) if type(atom) is Literal else atom.aval for atom in equation.invars])
            return self._number((primitive, read, inputs, tuple([var.aval for var in equation.outvars])))
        except TypeError:  # a parameter that cannot be hashed
            return self._number(("alone", len(self._numbers)))

    def _value(self, value: object) -> Hashable:
        if isinstance(value, (ClosedJaxpr, Jaxpr)):
            return "program", self.of_program(value)
        if type(value) is tuple:
            return (tuple, *[self._value(item) for item in value])
        return typed_key(value)

    def of_program(self, program: ClosedJaxpr | Jaxpr) -> int:
        """The number of a program: its equations, how they are connected, and the objects that its constants are."""
        found = self._programs.get(id(program))
        if found is None:
            jaxpr, consts = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
            self._seen.append(program)
            found = self._programs[id(program)] = self._number((*self._jaxpr(jaxpr), tuple(map(id, consts))))
        return found

    def _jaxpr(self, jaxpr: Jaxpr) -> tuple[object, ...]:
        places: dict[Any, int] = {}
        for var in (*jaxpr.constvars, *jaxpr.invars):
            places[var] = len(places)
        inputs = tuple([var.aval for var in places])
        equations = []
        for equation in jaxpr.eqns:
            reads = tuple([-1 if type(atom) is Literal else places[atom] for atom in equation.invars])
            equations.append((self.of_equation(equation), reads))
            for var in equation.outvars:
                places[var] = len(places)
        outputs = tuple([_literal(atom) if type(atom) is Literal else places[atom] for atom in jaxpr.outvars])
        return inputs, len(jaxpr.constvars), tuple(equations), outputs

    def contents(self, equation: JaxprEqn) -> Contents:
        """What an equation stands for: the contents of its programs, or itself."""
        found = self._contents.get(id(equation))
        if found is None:
            self._seen.append(equation)
            found = self._contents[id(equation)] = self._contents_of_new(equation)
        return found

    def _contents_of_new(self, equation: JaxprEqn) -> Contents:
        programs = list(sub_jaxprs(equation.params)) if equation.params else []
        if programs:
            return total([self.contents_of_program(program) for program in programs])
        identity = equation.primitive.identity
        steady = identity in WINDOWS and _is_steady(equation)
        return Contents(1, identity in PRODUCTS, identity in WINDOWS and not steady, steady)

    def contents_of_program(self, program: ClosedJaxpr | Jaxpr) -> Contents:
        """The contents of all equations of a program."""
        found = self._contents.get(id(program))
        if found is None:
            self._seen.append(program)
            found = self._contents[id(program)] = total(map(self.contents, program.eqns))
        return found


def total(parts: Iterable[Contents]) -> Contents:
    """The contents of several parts together."""
    size = products = windows = steady = 0
    for part in parts:
        size, products, windows, steady = size + part[0], products + part[1], windows + part[2], steady + part[3]
    return Contents(size, products, windows, steady)


# Families whose primitives take the same time whatever the values of their operands are.
EVEN = frozenset(
    {"activations", "autodiff", "contractions", "elementwise", "indexing", "reductions", "structure", "windows"}
)
CALLS = frozenset({"jit.jit", "custom_rules.custom_jvp_call", "custom_rules.custom_vjp_call"})
PER_ELEMENT = 8  # so many products take as long as an element that goes through memory


def work_of(equation: JaxprEqn) -> float:
    """About how long an equation takes, in elements that go through memory; infinite where that is not known."""
    identity = equation.primitive.identity
    if identity in CALLS:
        return sum([work_of(inner) for program in sub_jaxprs(equation.params) for inner in program.eqns])
    if identity.partition(".")[0] not in EVEN:
        return math.inf
    size = sum([var.aval.size for var in (*equation.invars, *equation.outvars)])
    if identity in PRODUCTS:
        (contracted, _), _ = equation.params["dimension_numbers"]
        each = math.prod([equation.invars[0].aval.shape[axis] for axis in contracted])
    elif identity in WINDOWS:
        kernel, specs = equation.invars[1].aval, equation.params["dimension_numbers"]
        each = kernel.size // max(kernel.shape[specs[1][0]], 1)
    else:
        return float(size)
    return float(size + equation.outvars[0].aval.size * each / PER_ELEMENT)


# What XLA computes in the loop that reads it, however often: no functions that take long, sums, or other orders.
CHEAP = {
    "elementwise": frozenset(
        {"add", "sub", "mul", "neg", "select_n", "eq", "ne", "lt", "le", "gt", "ge", "max", "min", "square"}
        | {"convert_element_type"}
    ),
    "structure": frozenset({"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "iota"}),
    "autodiff": frozenset({"add_any"}),
}


def is_cheap(equation: JaxprEqn) -> bool:
    """Whether an equation may be computed where it is read."""
    family, _, name = equation.primitive.identity.partition(".")
    divides = name == "div" and isinstance(equation.invars[1], Literal)  # by a number
    return (name in CHEAP.get(family, ()) or divides) and not equation.effects


def _is_steady(equation: JaxprEqn) -> bool:
    """Whether a convolution is as fast in a function: features in runs, no groups, wide numbers, an image at least.

    Measured on XLA's CPUs, see docs/compiling.md.
    """
    params, specs = equation.params, equation.params["dimension_numbers"]
    if params["feature_group_count"] != 1 or params["batch_group_count"] != 1:
        return False
    last = len(specs[0]) - 1
    runs = all([last in spec[:2] for spec in specs])
    return runs and last > 2 and all([var.aval.dtype.itemsize >= 4 for var in equation.invars])


def _literal(literal: Literal) -> tuple[str, ShapedArray, bytes]:
    return "literal", literal.aval, literal.ndarray.tobytes()


# --- calls, as what they do ---


def body_of(call: JaxprEqn, program: ClosedJaxpr) -> list[JaxprEqn] | None:
    """The equations of a called program, in place of the call; None where its results are not made by them alone."""
    jaxpr = program.jaxpr
    made = {var for equation in jaxpr.eqns for var in equation.outvars}
    results = dict(zip(jaxpr.outvars, call.outvars, strict=True))
    if program.consts or len(results) < len(call.outvars) or not made.issuperset(results):
        return None
    if any([type(atom) is Literal for atom in call.invars]):  # copies would differ in it
        return None
    names: dict[Any, Any] = dict(zip(jaxpr.invars, call.invars, strict=True))
    found = []
    for equation in jaxpr.eqns:
        read = [atom if type(atom) is Literal else names[atom] for atom in equation.invars]
        written = [var if type(var) is DropVar else results.get(var) or Var(var.aval) for var in equation.outvars]
        names.update(zip(equation.outvars, written, strict=True))
        found.append(equation.replace(invars=read, outvars=written))
    return found


# --- parts at places of their own ---

TAKES_A_PART = frozenset({"structure.slice"})
FAMILY = 4  # so many equations of one primitive and types, and each of few of them: they differ from step to step


def parts_first(equations: list[JaxprEqn], numbers: Sequence[int]) -> list[JaxprEqn]:
    """The equations, with those that take a part at a place of their own as early as can be.

    Args:
        numbers: the structure of each equation.
    """
    early = _varying(equations, numbers)
    if not early:
        return equations
    places = {var: at for at, equation in enumerate(equations) if at not in early for var in equation.outvars}
    waiting: dict[int, list[JaxprEqn]] = {}
    for at in early:  # in order: one may take a part of what another took
        equation = equations[at]
        place = max([places.get(atom, -1) for atom in equation.invars if type(atom) is not Literal], default=-1)
        waiting.setdefault(place, []).append(equation)
        places.update(dict.fromkeys(equation.outvars, place))
    ordered = waiting.get(-1, [])
    for at, equation in enumerate(equations):
        if at not in early:
            ordered += [equation, *waiting.get(at, ())]
    return ordered


def _varying(equations: Sequence[JaxprEqn], numbers: Sequence[int]) -> dict[int, None]:
    """The positions of such equations: many are alike but for their parameters, and few are equal."""
    found = [at for at, equation in enumerate(equations) if equation.primitive.identity in TAKES_A_PART]
    alike = Counter([_types(equations[at]) for at in found])
    equal = Counter([numbers[at] for at in found])
    few = [at for at in found if FAMILY * equal[numbers[at]] <= alike[_types(equations[at])]]
    return dict.fromkeys([at for at in few if not equations[at].effects])


def _types(equation: JaxprEqn) -> tuple[object, ...]:
    return equation.primitive, equation.invars[0].aval, equation.outvars[0].aval
