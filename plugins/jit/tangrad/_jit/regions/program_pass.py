"""The pass: a program in which parts that are equal are calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._jit.primitives import region_p
from tangrad._jit.regions.loops import in_loops
from tangrad._jit.regions.repeats import (
    Again,
    Copies,
    Incomplete,
    Stretch,
    Uses,
    copies_of,
    find_stretches,
    incomplete_copy,
    places_to_cut,
    program_of,
    sources_of,
    uses_of,
)
from tangrad._jit.regions.structure import Structures, is_cheap, parts_first, total, work_of
from tangrad._jit.settings import Limits
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, dce_jaxpr
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
    regions: list[_Region] = []
    done = 0
    for number, stretch in enumerate(stretches):
        if not limits.fits(total(contents[stretch.start : stretch.start + stretch.period])):
            continue
        end = stretches[number + 1].start if number + 1 < len(stretches) else len(equations)
        cut = _cut(equations, numbers, uses, stretch, (done, end), limits)
        if cut is not None:
            regions.append(_Region(equations, cut, f"region_{number}"))
            done = regions[-1].end
    if limits.again and len(regions) > 1:
        _compute_again(equations, results, regions)
    made: list[JaxprEqn] = []
    done = 0
    for region in regions:
        for first, until, written in region.calls():
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


class _Region:
    """A function, and what its calls stand for.

    Attributes:
        calls_of: for each call, which equation of the function is which of the program.
        arguments: what the complete copies take -> what all calls take. outputs: as equation and position.
        again: arguments that the function computes. given: the arguments as they were, by their numbers.
    """

    def __init__(self, equations: list[JaxprEqn], cut: _Cut, name: str) -> None:
        self.copies, self._ends, self._equations, self._name = cut.copies, cut.ends, equations, name
        self.copy = next(iter(cut.copies.parts.values()))
        complete = [{at: start + at for at in range(len(self.copy))} for start in cut.copies.parts]
        self.calls_of = [*complete, *[end.pairs for end in cut.ends]]
        self.arguments = {
            argument: [*argument, *[end.operands[number] for end in cut.ends]]
            for number, argument in enumerate(cut.copies.arguments)
        }
        self.given = list(self.arguments.values())
        of_copies = [True] * len(cut.copies.parts)
        self.is_read = [
            [*of_copies, *[number not in end.spare for end in cut.ends]] for number in range(len(self.given))
        ]
        self.outputs = cut.copies.outputs
        self.again: dict[tuple[Var, ...], Again] = {}
        self.end = max([position for pairs in self.calls_of for position in pairs.values()]) + 1

    def variable(self, call: int, at: int, position: int) -> Var | None:
        """A result in one of the calls; None where an incomplete copy lacks it."""
        found = self.calls_of[call].get(at)
        return None if found is None else self._equations[found].outvars[position]

    def calls(self) -> Replaced:
        """The calls in place of the copies."""
        program = program_of(
            self.copy, self.copies.operands, list(self.arguments), self.outputs, self._name, self.again
        )
        if self.again or self.outputs != self.copies.outputs:
            thin, _ = dce_jaxpr(program.jaxpr, [True] * len(self.outputs), instantiate=True)
            program = ClosedJaxpr(thin, program.consts)
        found: Replaced = []
        for number, pairs in enumerate(self.calls_of):
            call = self._call(number, program)
            complete = number < len(self.copies.parts)
            first = min(pairs.values())
            if complete:
                found.append((first, first + len(pairs), [call]))
            else:
                end = self._ends[number - len(self.copies.parts)]
                found.append((end.first, end.end, end.written(self._equations, call)))
        return sorted(found, key=lambda part: part[0])

    def _call(self, number: int, program: ClosedJaxpr) -> JaxprEqn:
        results: list[Var] = []
        for at, position in self.outputs:
            var = self.variable(number, at, position)
            results.append(DropVar(self.copy[at].outvars[position].aval) if var is None else var)
        operands = [variables[number] for variables in self.arguments.values()]
        source = self._equations[min(self.calls_of[number].values())].source_info
        return JaxprEqn(region_p, operands, results, {"jaxpr": program, "name": self._name}, program.effects, source)


# --- what is computed again rather than handed on ---------------------------------------------------------------------

Place = tuple[int, int]
# Families and primitives whose results are certainly no arguments, whatever XLA simplifies.
NEW = frozenset(
    {"contractions", "reductions", "windows", "elementwise.rsqrt", "elementwise.tanh", "elementwise.logistic"}
)
NEW_OF_TWO = frozenset({"elementwise.add", "elementwise.sub", "elementwise.mul"})
LONGEST = 12  # so many equations are computed again for one result


class _Chains:
    """How results of a region are computed again from its arguments and its other results."""

    def __init__(self, region: _Region) -> None:
        self._copy, self._sources = region.copy, sources_of(region.copies)
        self._arguments = [argument[0].aval.size for argument in region.copies.arguments]
        self._outputs = frozenset(region.copies.outputs)
        self._known: dict[int, tuple[set[int], set[Any]] | None] = {}

    def of(self, at: int) -> tuple[set[int], set[Any]] | None:
        """The equations, and what they take: numbers of arguments, and places; None where it is best handed on."""
        if at not in self._known:
            self._known[at] = self._found(at)
        return self._known[at]

    def _found(self, at: int) -> tuple[set[int], set[Any]] | None:
        equation = self._copy[at]
        if not is_cheap(equation):
            return None
        chain, taken = {at}, set[Any]()
        for source in self._sources[at]:
            inner = self.of(source[0]) if isinstance(source, tuple) else None
            if inner is not None:
                chain |= inner[0]
                taken |= inner[1]
            elif source is not None:
                taken.add(source)
        if any([isinstance(source, tuple) and not self._may_return(source) for source in taken]):
            return None
        full = [source for source in taken if self._size(source) >= equation.outvars[0].aval.size]
        return None if len(full) > 1 or len(chain) > LONGEST else (chain, taken)

    def _may_return(self, source: tuple[int, int]) -> bool:
        """Whether the region returns it, or can without its calls being less worth: see `lower/regions.py` of XLA."""
        equation = self._copy[source[0]]
        identity = equation.primitive.identity
        read = {atom for atom in equation.invars if type(atom) is not Literal}
        return (
            source in self._outputs
            or identity.partition(".")[0] in NEW
            or identity in NEW
            or (identity in NEW_OF_TWO and len(read) > 1)
        )

    def _size(self, source: Any) -> int:
        if isinstance(source, tuple):
            return int(self._copy[source[0]].outvars[source[1]].aval.size)
        return self._arguments[source]


Chains = dict[int, _Chains]


def _compute_again(equations: list[JaxprEqn], results: Sequence[Atom], regions: list[_Region]) -> None:
    """Have regions compute cheap arguments from what others took and made, where that is less than they hand on."""
    homes: dict[object, tuple[_Region, int, Place]] = {}
    for region in regions:
        for call, pairs in enumerate(region.calls_of):
            for at, number in pairs.items():
                for position, var in enumerate(equations[number].outvars):
                    homes[var] = (region, call, (at, position))
    inside = {number for region in regions for pairs in region.calls_of for number in pairs.values()}
    loose = {
        atom
        for number, equation in enumerate(equations)
        if number not in inside
        for atom in equation.invars
        if type(atom) is not Literal
    }
    loose.update([atom for atom in results if type(atom) is not Literal])
    chains = {id(region): _Chains(region) for region in regions}
    for region in regions:
        _replace(region, homes, loose, chains)
    if any([region.again for region in regions]):
        read = {var for region in regions for variables in region.arguments.values() for var in variables} | loose
        for region in regions:
            region.outputs = [
                (at, position)
                for at, equation in enumerate(region.copy)
                for position in range(len(equation.outvars))
                if not read.isdisjoint([region.variable(call, at, position) for call in range(len(region.calls_of))])
            ]


Rows = dict[tuple[Var, ...], tuple[list[Var], list[bool]]]  # argument -> what calls take, and which of them need it


def _replace(region: _Region, homes: Mapping[Any, tuple[_Region, int, Place]], loose: set[Any], chains: Chains) -> None:
    """Compute again what that is possible for, if that makes it less."""
    rows: Rows = {
        key: (list(row), list(read)) for (key, row), read in zip(region.arguments.items(), region.is_read, strict=True)
    }
    found: dict[tuple[Var, ...], tuple[Again, list[tuple[Var, ...]]]] = {}
    for argument, (variables, read) in list(rows.items()):
        places = [homes[var] for var in variables if var in homes]
        if len(places) < len(variables) or len({(id(home), place) for home, _, place in places}) > 1:
            continue
        home, _, (at, position) = places[0]
        chain = chains[id(home)].of(at)
        if home is region or chain is None or not loose.isdisjoint(_everywhere(home, at, position)):
            continue
        taken = _taken(home, [call for _, call, _ in places], chain[1], len(argument))
        if taken is not None and all([_is_merged(rows, key, row, read) for key, row in taken.values()]):
            given = {var: key for var, (key, _) in taken.items()}
            parts = [home.copy[number] for number in sorted(chain[0])]
            found[argument] = Again(parts, home.copy[at].outvars[position], given), list(given.values())
    for argument in [argument for argument in found if any([argument in keys for _, keys in found.values()])]:
        del found[argument]
    sources = dict.fromkeys([key for _, keys in found.values() for key in keys])
    made = [key[0].aval.size for key in sources if key not in region.arguments and key[0] in homes]
    if sum(made) <= sum([argument[0].aval.size for argument in found]):
        region.again = {argument: again for argument, (again, _) in found.items()}
        kept = [argument for argument in region.arguments if argument not in found]
        region.arguments = {key: rows[key][0] for key in dict.fromkeys([*kept, *sources])}


def _is_merged(rows: Rows, key: tuple[Var, ...], row: list[Var], read: list[bool]) -> bool:
    """Enter what calls take for an argument; False where two need different ones."""
    known, needed = rows.setdefault(key, (list(row), list(read)))
    if any([one is not other and both for one, other, both in zip(known, row, map(min, needed, read), strict=True)]):
        return False
    for at, var in enumerate(row):
        if read[at] and not needed[at]:
            known[at], needed[at] = var, True
    return True


def _everywhere(region: _Region, at: int, position: int) -> list[Var | None]:
    return [region.variable(call, at, position) for call in range(len(region.calls_of))]


def _taken(home: _Region, calls: list[int], sources: set[Any], count: int) -> dict[Var, tuple[Any, list[Any]]] | None:
    """What a chain takes: the variable in the first copy -> the argument for it, and what all calls take for it."""
    found: dict[Var, tuple[Any, list[Any]]] = {}
    for source in sorted(sources, key=str):
        if isinstance(source, tuple):
            row = [home.variable(call, *source) for call in calls]
            own = home.copy[source[0]].outvars[source[1]]
        else:
            row = [home.given[source][call] for call in calls]
            own = home.given[source][0]
        if None in row:
            return None
        found[own] = tuple(row[:count]), row
    return found


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
