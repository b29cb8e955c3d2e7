"""The pass: a program in which parts that are equal are calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._jit.primitives import region_p
from tangrad._jit.regions.loops import in_loops
from tangrad._jit.regions.repeats import (
    Uses,
    connections,
    find_stretches,
    from_outside,
    parts_first,
    program_of,
    starts_of,
    uses_of,
)
from tangrad._jit.regions.structure import Structures, total
from tangrad._jit.settings import Limits
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Var, dce_jaxpr
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import Atom


def outline(
    equations: list[JaxprEqn], results: Sequence[Atom], structures: Structures, limits: Limits
) -> list[JaxprEqn]:
    """The equations, with those that repeat themselves as calls of regions; the same list where none do."""
    written = equations
    equations = parts_first(written, [structures.of_equation(equation) for equation in written])
    numbers = [structures.of_equation(equation) for equation in equations]
    contents = [structures.contents(equation) for equation in equations]
    weights = [1 if eqn.primitive is region_p else part.size for eqn, part in zip(equations, contents, strict=True)]
    stretches = find_stretches(numbers, weights, limits)
    uses = uses_of(equations, results)
    made: list[JaxprEqn] = []
    done = 0
    for number, stretch in enumerate(stretches):
        if not limits.fits(total(contents[stretch.start : stretch.start + stretch.period])):
            continue
        starts = starts_of(equations, uses, stretch)
        calls = _calls(equations, uses, starts, stretch.period, f"region_{number}")
        for start, call in calls.items():
            made += [*equations[done:start], call]
            done = start + stretch.period
    return [*made, *equations[done:]] if made else written


def _calls(
    equations: Sequence[JaxprEqn], uses: Uses, starts: Sequence[int], length: int, name: str
) -> dict[int, JaxprEqn]:
    """The calls in place of the copies that begin at `starts`; copies that are connected otherwise stay."""
    shapes = {start: connections(equations[start : start + length]) for start in starts}
    usual, count = Counter(shapes.values()).most_common(1)[0]
    if count < 2:
        return {}
    copies = {start: equations[start : start + length] for start in starts if shapes[start] == usual}
    operands = list(zip(*map(from_outside, copies.values()), strict=True))
    arguments = list(dict.fromkeys(operands))  # operands that are one in all copies are one argument
    outputs = _outputs(copies, uses)
    program = program_of(next(iter(copies.values())), operands, arguments, outputs, name)
    return {
        start: _call(copy, program, [variables[number] for variables in arguments], outputs, name)
        for number, (start, copy) in enumerate(copies.items())
    }


def _outputs(copies: dict[int, Sequence[JaxprEqn]], uses: Uses) -> list[tuple[int, int]]:
    """The results, as equation and position: those that some copy is read for elsewhere."""
    found: dict[tuple[int, int], None] = {}
    for start, copy in copies.items():
        end = start + len(copy)
        for at, equation in enumerate(copy):
            for position, var in enumerate(equation.outvars):
                if uses.last.get(var, -1) >= end:
                    found[at, position] = None
    return sorted(found)


def _call(
    copy: Sequence[JaxprEqn],
    program: ClosedJaxpr,
    operands: Sequence[Var],
    outputs: Sequence[tuple[int, int]],
    name: str,
) -> JaxprEqn:
    results = [copy[at].outvars[position] for at, position in outputs]
    params = {"jaxpr": program, "name": name}
    return JaxprEqn(region_p, list(operands), results, params, program.effects, copy[0].source_info)


# Primitives whose programs are lowered where they stand, and looked into. The others are left alone.
LOOKED_INTO = frozenset(
    {
        "jit.jit",
        "control_flow.scan",
        "control_flow.while",
        "control_flow.cond",
        "checkpointing.remat",
        "custom_rules.custom_jvp_call",
        "custom_rules.custom_vjp_call",
    }
)


def with_regions(closed: ClosedJaxpr, limits: Limits, unmarked: bool) -> ClosedJaxpr | None:
    """The program with regions, None where it has none that pay.

    Args:
        unmarked: whether repetitions are looked for beside the calls of jitted functions.
    """
    structures = Structures()
    if structures.contents_of_program(closed).size < limits.program or _has_symbolic_sizes(closed):
        return None
    thin, _ = dce_jaxpr(closed.jaxpr, [True] * len(closed.out_avals), instantiate=True)
    found = _Pass(structures, limits, unmarked).run(thin)
    return None if found is None else ClosedJaxpr(found, closed.consts)


def _has_symbolic_sizes(closed: ClosedJaxpr) -> bool:
    return any([is_symbolic(size) for aval in closed.in_avals for size in getattr(aval, "shape", ())])


class _Pass:
    """One run. `changes`: how many regions were made so far."""

    def __init__(self, structures: Structures, limits: Limits, unmarked: bool) -> None:
        self._structures = structures
        self._limits = limits
        self._unmarked = unmarked
        self._calls: Counter[int] = Counter()  # structure of a program -> calls of it
        self._regions: dict[int, ClosedJaxpr] = {}
        self._programs: dict[int, ClosedJaxpr] = {}
        self._seen: set[int] = set()
        self.changes = 0

    def run(self, jaxpr: Jaxpr) -> Jaxpr | None:
        self._count(jaxpr)
        found = self._jaxpr(jaxpr)
        return found if self.changes else None

    def _count(self, jaxpr: Jaxpr) -> None:
        """Count the calls of equal programs, in each program once."""
        for equation in jaxpr.eqns:
            for program in _programs_of(equation):
                number = self._structures.of_program(program)
                self._calls[number] += equation.primitive.identity == "jit.jit"
                if number not in self._seen:
                    self._seen.add(number)
                    self._count(program.jaxpr)

    def _jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        equations = [self._equation(equation) for equation in jaxpr.eqns]
        if self._unmarked:
            looped = in_loops(equations, jaxpr.outvars, self._structures, self._limits)
            self.changes += looped is not equations
            equations = looped
            outlined = outline(equations, jaxpr.outvars, self._structures, self._limits)
            self.changes += outlined is not equations
            equations = outlined
        return jaxpr.replace(eqns=equations)

    def _equation(self, equation: JaxprEqn) -> JaxprEqn:
        programs = _programs_of(equation)
        if not programs:
            return equation
        if equation.primitive.identity == "jit.jit" and self._is_region(equation):
            self.changes += 1
            params = {"jaxpr": self._region(programs[0]), "name": equation.params["name"]}
            return equation.replace(primitive=region_p, params=params)
        return equation.replace(params={name: self._rewritten(value) for name, value in equation.params.items()})

    def _is_region(self, equation: JaxprEqn) -> bool:
        if equation.effects or not self._limits.fits(self._structures.contents(equation)):
            return False
        return self._calls[self._structures.of_program(equation.params["jaxpr"])] > 1

    def _region(self, program: ClosedJaxpr) -> ClosedJaxpr:
        """One program for all that are equal."""
        number = self._structures.of_program(program)
        found = self._regions.get(number)
        if found is None:
            found = self._regions[number] = self._program(program)
        return found

    def _rewritten(self, value: object) -> object:
        if isinstance(value, ClosedJaxpr):
            return self._program(value)
        return tuple([self._rewritten(item) for item in value]) if type(value) is tuple else value

    def _program(self, program: ClosedJaxpr) -> ClosedJaxpr:
        """A program with its regions; itself, where it has none."""
        found = self._programs.get(id(program))
        if found is None:
            before = self.changes
            jaxpr = self._jaxpr(program.jaxpr)
            found = program if self.changes == before else ClosedJaxpr(jaxpr, program.consts)
            self._programs[id(program)] = found
        return found


def _programs_of(equation: JaxprEqn) -> list[ClosedJaxpr]:
    """The programs in the parameters of an equation that are looked into."""
    if not equation.params or equation.primitive.identity not in LOOKED_INTO:
        return []
    values = [item for value in equation.params.values() for item in (value if type(value) is tuple else (value,))]
    return [value for value in values if isinstance(value, ClosedJaxpr)]
