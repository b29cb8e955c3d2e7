"""The pass: a program in which parts that are equal are calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING

from tangrad._jit.primitives import region_p
from tangrad._jit.regions.functions import Cut, Region, compute_again
from tangrad._jit.regions.loops import in_loops
from tangrad._jit.regions.repeats import (
    Copies,
    Incomplete,
    Stretch,
    Uses,
    copies_of,
    find_stretches,
    incomplete_copy,
    places_to_cut,
    uses_of,
)
from tangrad._jit.regions.structure import Structures, body_of, parts_first, total, work_of
from tangrad._jit.settings import Limits
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, dce_jaxpr
from tangrad.core.arguments import is_symbolic
from tangrad.core.tools import sub_jaxprs, with_sub_jaxprs

if TYPE_CHECKING:
    from tangrad.typing import Atom


Marks = dict[str, list[list[JaxprEqn]]]  # a name -> the equations of the calls that have it, each


def outline(
    equations: list[JaxprEqn],
    results: Sequence[Atom],
    structures: Structures,
    limits: Limits,
    marks: Marks,
    unmarked: bool = True,
) -> list[JaxprEqn]:
    """The equations, with those that repeat themselves as calls of regions; the same list where none do.

    Args:
        marks: what the user has marked as equal, which is a region unless longer repetitions go through it.
        unmarked: whether repetitions are looked for.
    """
    given = equations
    equations = parts_first(given, [structures.of_equation(equation) for equation in given])
    numbers = [structures.of_equation(equation) for equation in equations]
    uses = uses_of(equations, results)
    places = {id(equation): place for place, equation in enumerate(equations)}
    marked = {name: _starts(copies, places) for name, copies in marks.items()}
    regions: list[Region] = []
    if unmarked:
        within = {start + at for starts, length in marked.values() for start in starts for at in range(1, length)}
        regions = _repeated(equations, numbers, uses, structures, limits, within)
    regions += _marked(equations, numbers, uses, marked, limits, _places_of(regions))
    if limits.again and len(regions) > 1:
        compute_again(equations, results, regions)
    made: list[JaxprEqn] = []
    done = 0
    for first, until, written in sorted([call for region in regions for call in region.calls()], key=itemgetter(0)):
        made += [*equations[done:first], *written]
        done = until
    return [*made, *equations[done:]] if made else given


def _repeated(
    equations: list[JaxprEqn],
    numbers: list[int],
    uses: Uses,
    structures: Structures,
    limits: Limits,
    within: set[int],
) -> list[Region]:
    """The regions that are found. `within`: where marked calls go on, which are one equation each for this."""
    contents = [structures.contents(equation) for equation in equations]
    weights = [1 if eqn.primitive is region_p else part.size for eqn, part in zip(equations, contents, strict=True)]
    weights = [0 if place in within else weight for place, weight in enumerate(weights)]
    stretches = find_stretches(numbers, weights, limits)
    regions: list[Region] = []
    done = 0
    for number, stretch in enumerate(stretches):
        if not limits.fits(total(contents[stretch.start : stretch.start + stretch.period])):
            continue
        end = stretches[number + 1].start if number + 1 < len(stretches) else len(equations)
        cut = _cut(equations, numbers, uses, stretch, (done, end), limits)
        if cut is not None:
            regions.append(Region(equations, cut, f"region_{number}"))
            done = regions[-1].end
    return regions


def _starts(copies: list[list[JaxprEqn]], places: dict[int, int]) -> tuple[list[int], int]:
    """Where marked copies begin, and how long they are; but for those that others came between, or loops took."""
    found = [sorted([places.get(id(equation), -1) for equation in copy]) for copy in copies]
    length = len(found[0])
    return [where[0] for where in found if 0 <= where[0] == where[-1] - length + 1 and len(where) == length], length


def _places_of(regions: Sequence[Region]) -> set[int]:
    return {place for region in regions for first, until in region.intervals() for place in range(first, until)}


def _marked(
    equations: list[JaxprEqn],
    numbers: list[int],
    uses: Uses,
    marked: dict[str, tuple[list[int], int]],
    limits: Limits,
    taken: set[int],
) -> list[Region]:
    """The regions of marked calls, by where those begin and their length. `taken`: the equations of other regions."""
    busy = {start + at for starts, length in marked.values() for start in starts for at in range(length)} | taken
    regions = []
    for name, (starts, length) in marked.items():
        alone = [start for start in starts if taken.isdisjoint(range(start, start + length))]
        copies = copies_of(equations, uses, alone, length) if len(alone) > 1 else None
        if copies is None:
            continue
        first, end = alone[0], alone[-1] + length  # beside these, as far as nothing else is there
        while first and first - 1 not in busy:
            first -= 1
        while end < len(equations) and end not in busy:
            end += 1
        spent = limits.spent * len(alone)
        ends = _ends(equations, numbers, uses, copies, (first, end), spent) if spent else []
        regions.append(Region(equations, Cut(copies, ends), name))
        busy |= _places_of(regions[-1:])
    return regions


CUTS = 6  # places to cut at that are looked at, where they hand on equally much
OUTER = 2  # of so many copies at each end
WORTH = 0.5  # so much of an incomplete copy is there


def _cut(
    equations: list[JaxprEqn], numbers: list[int], uses: Uses, stretch: Stretch, free: tuple[int, int], limits: Limits
) -> Cut | None:
    """Where most is in copies, complete or not, of the places where least is handed on."""
    options = places_to_cut(equations, uses, stretch, CUTS if limits.spent else 1)

    def cut(starts: list[int], count: int) -> Cut | None:
        copies = copies_of(equations, uses, starts, stretch.period)
        if copies is None:
            return None
        return Cut(copies, _ends(equations, numbers, uses, copies, free, limits.spent * count) if limits.spent else [])

    if len(options) > 1:
        few = len(options[0]) > 2 * OUTER
        outer = lambda starts: [*starts[:OUTER], *starts[-OUTER:]] if few else starts
        worth = lambda starts: _worth(cut(outer(starts), len(starts)), len(starts))
        options = [max(options, key=worth)]
    return cut(options[0], len(options[0]))


def _worth(cut: Cut | None, count: int) -> int:
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
        equations, marks = self._with_bodies(jaxpr)
        if self._unmarked:
            looped = in_loops(equations, jaxpr.outvars, self._structures, self._limits)
            self.changes += looped is not equations
            equations = looped
        if self._unmarked or marks:
            outlined = outline(equations, jaxpr.outvars, self._structures, self._limits, marks, self._unmarked)
            self.changes += outlined is not equations
            equations = outlined
        return jaxpr.replace(eqns=equations)

    def _with_bodies(self, jaxpr: Jaxpr) -> tuple[list[JaxprEqn], Marks]:
        """The equations, with the bodies of marked calls in place of the calls, and those bodies by name.

        So regions can be more than was marked, and hand on less. What is called at several levels is a region at each.
        """
        alike: dict[int, list[JaxprEqn]] = {}
        for equation in jaxpr.eqns:
            if equation.primitive.identity == "jit.jit" and self._is_region(equation):
                alike.setdefault(self._structures.of_program(equation.params["jaxpr"]), []).append(equation)
        groups = {number: calls for number, calls in alike.items() if len(calls) > 1}
        several = {id(call): number for number, calls in groups.items() for call in calls}
        names = {calls[0].params["name"] for calls in groups.values()}
        found: dict[int, list[list[JaxprEqn]]] = {}
        equations: list[JaxprEqn] = []
        for equation in jaxpr.eqns:
            number, body = several.get(id(equation)), None
            if number is not None:
                body = body_of(equation, self._region(equation.params["jaxpr"]))
            elif names and equation.primitive.identity == "jit.jit" and equation.params["name"] in names:
                body = body_of(equation, self._program(equation.params["jaxpr"]))  # perhaps an incomplete copy
            if body is None:
                equations.append(self._equation(equation))
                continue
            equations += body
            if number is not None:
                found.setdefault(number, []).append(body)
        marks: Marks = {}
        for number, bodies in found.items():
            name = str(groups[number][0].params["name"])
            marks[name if name not in marks else f"{name}_{number}"] = bodies
        return equations, marks

    def _equation(self, equation: JaxprEqn) -> JaxprEqn:
        programs = _programs_of(equation)
        if not programs:
            return equation
        if equation.primitive.identity == "jit.jit" and self._is_region(equation):
            self.changes += 1
            params = {"jaxpr": self._region(programs[0]), "name": equation.params["name"]}
            return equation.replace(primitive=region_p, params=params)
        params = with_sub_jaxprs(equation.params, self._rewritten)
        return equation if params is equation.params else equation.replace(params=params)

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

    def _rewritten(self, program: ClosedJaxpr | Jaxpr) -> ClosedJaxpr | Jaxpr:
        return self._program(program) if isinstance(program, ClosedJaxpr) else program

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
    if equation.primitive.programs is None or equation.primitive is region_p:
        return []
    return [program for program in sub_jaxprs(equation.params) if isinstance(program, ClosedJaxpr)]
