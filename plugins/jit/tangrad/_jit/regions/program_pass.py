"""The pass: a program in which parts that are equal are calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from tangrad._jit.primitives import region_p
from tangrad._jit.regions.loops import in_loops
from tangrad._jit.regions.repeats import (
    Copies,
    Incomplete,
    Stretch,
    Uses,
    copies_of,
    find_stretches,
    incomplete_copy,
    parts_first,
    places_to_cut,
    program_of,
    uses_of,
)
from tangrad._jit.regions.structure import Structures, total, work_of
from tangrad._jit.settings import Limits
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Var, dce_jaxpr
from tangrad.core.arguments import is_symbolic

if TYPE_CHECKING:
    from tangrad.typing import Atom


def outline(
    equations: list[JaxprEqn], results: Sequence[Atom], structures: Structures, limits: Limits
) -> list[JaxprEqn]:
    """The equations, with those that repeat themselves as calls of regions; the same list where none do."""
    given = equations
    equations = parts_first(given, [structures.of_equation(equation) for equation in given])
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
        end = stretches[number + 1].start if number + 1 < len(stretches) else len(equations)
        cut = _cut(equations, numbers, uses, stretch, (done, end), limits)
        for first, until, written in _calls(equations, cut, stretch.period, f"region_{number}") if cut else ():
            made += [*equations[done:first], *written]
            done = until
    return [*made, *equations[done:]] if made else given


class _Cut(NamedTuple):
    """The copies of a stretch, and the calls of incomplete ones at its ends."""

    copies: Copies
    ends: list[Incomplete]


CUTS = 6  # places to cut at that are looked at, where they hand on equally much
OUTER = 2  # of so many copies at each end
WORTH = 0.5  # so much of an incomplete copy is there


def _cut(
    equations: list[JaxprEqn], numbers: list[int], uses: Uses, stretch: Stretch, free: tuple[int, int], limits: Limits
) -> _Cut | None:
    """Where most is in copies, complete or not, of the places where least is handed on."""
    options = places_to_cut(equations, uses, stretch, CUTS if limits.spent else 1)

    def cut(starts: list[int], count: int) -> _Cut | None:
        copies = copies_of(equations, uses, starts, stretch.period)
        if copies is None:
            return None
        return _Cut(copies, _ends(equations, numbers, uses, copies, free, limits.spent * count) if limits.spent else [])

    if len(options) > 1:
        few = len(options[0]) > 2 * OUTER
        outer = lambda starts: [*starts[:OUTER], *starts[-OUTER:]] if few else starts
        worth = lambda starts: _worth(cut(outer(starts), len(starts)), len(starts))
        options = [max(options, key=worth)]
    return cut(options[0], len(options[0]))


def _worth(cut: _Cut | None, count: int) -> int:
    """How many equations are in copies, beside those that are computed in vain."""
    if cut is None:
        return -1
    length = len(next(iter(cut.copies.parts.values())))
    return count * length + sum([2 * len(end.pairs) - length for end in cut.ends])


def _ends(
    equations: list[JaxprEqn], numbers: list[int], uses: Uses, copies: Copies, free: tuple[int, int], spent: float
) -> list[Incomplete]:
    """The incomplete copies of which half is there, and that compute no more in vain than `spent` copies compute."""
    starts, copy = list(copies.parts), next(iter(copies.parts.values()))
    length = len(copy)
    before = max(free[0], starts[0] - 2 * length), starts[0]
    behind = starts[-1] + length, min(free[1], starts[-1] + 3 * length)
    most = spent * sum([work for work in map(work_of, copy) if work < inf])
    found = []
    for first, end in (before, behind):
        part = incomplete_copy(equations, numbers, uses, copies, first, end)
        if part is not None and len(part.pairs) >= WORTH * length:
            vain = sum([work_of(equation) for at, equation in enumerate(copy) if at not in part.pairs])
            found += [part] if vain <= most and vain < inf else []
    return found


Replaced = list[tuple[int, int, list[JaxprEqn]]]  # what stands from one position to another instead


def _calls(equations: Sequence[JaxprEqn], cut: _Cut, length: int, name: str) -> Replaced:
    """The calls in place of the copies."""
    copies, outputs = cut.copies, cut.copies.outputs
    first = next(iter(copies.parts.values()))
    program = program_of(first, copies.operands, copies.arguments, outputs, name)
    params = {"jaxpr": program, "name": name}

    def call(operands: list[Var], results: list[Var], source: JaxprEqn) -> JaxprEqn:
        return JaxprEqn(region_p, operands, results, params, program.effects, source.source_info)

    found: Replaced = []
    for number, (start, copy) in enumerate(copies.parts.items()):
        results = [copy[at].outvars[position] for at, position in outputs]
        operands = [variables[number] for variables in copies.arguments]
        found.append((start, start + length, [call(operands, results, copy[0])]))
    for end in cut.ends:
        own = {at: equations[position] for at, position in end.pairs.items()}
        results = [
            own[at].outvars[position] if at in own else DropVar(first[at].outvars[position].aval)
            for at, position in outputs
        ]
        written = end.written(equations, call(end.operands, results, equations[end.first]))
        found.append((end.first, end.end, written))
    return sorted(found, key=lambda part: part[0])


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
