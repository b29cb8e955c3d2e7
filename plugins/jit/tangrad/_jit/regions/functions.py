"""A region: the function, what its calls stand for, and what it computes again rather than have others hand it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tangrad._jit.primitives import region_p
from tangrad._jit.regions.repeats import Again, Copies, Incomplete, program_of, sources_of
from tangrad._jit.regions.structure import is_cheap
from tangrad.core import ClosedJaxpr, DropVar, JaxprEqn, Literal, Var, dce_jaxpr

if TYPE_CHECKING:
    from tangrad.typing import Atom


class Cut(NamedTuple):
    """The copies of a stretch, and the calls of incomplete ones at its ends."""

    copies: Copies
    ends: list[Incomplete]


Replaced = list[tuple[int, int, list[JaxprEqn]]]  # what stands from one position to another instead


class Region:
    """A function, and what its calls stand for.

    Attributes:
        calls_of: for each call, which equation of the function is which of the program.
        arguments: what the complete copies take -> what all calls take. outputs: as equation and position.
        again: arguments that the function computes. given: the arguments as they were, by their numbers.
    """

    def __init__(self, equations: list[JaxprEqn], cut: Cut, name: str) -> None:
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

    def intervals(self) -> list[tuple[int, int]]:
        """From which equation to which each of the calls stands instead."""
        length = len(self.copy)
        return [
            *[(start, start + length) for start in self.copies.parts],
            *[(end.first, end.end) for end in self._ends],
        ]

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


# --- what is computed again rather than handed on ---

Place = tuple[int, int]
# Families and primitives whose results are certainly no arguments, whatever XLA simplifies.
NEW = frozenset(
    {"contractions", "reductions", "windows", "elementwise.rsqrt", "elementwise.tanh", "elementwise.logistic"}
)
NEW_OF_TWO = frozenset({"elementwise.add", "elementwise.sub", "elementwise.mul"})
LONGEST = 12  # so many equations are computed again for one result


class _Chains:
    """How results of a region are computed again from its arguments and its other results."""

    def __init__(self, region: Region) -> None:
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


def compute_again(equations: list[JaxprEqn], results: Sequence[Atom], regions: list[Region]) -> None:
    """Have regions compute cheap arguments from what others took and made, where that is less than they hand on."""
    homes: dict[object, tuple[Region, int, Place]] = {}
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


def _replace(region: Region, homes: Mapping[Any, tuple[Region, int, Place]], loose: set[Any], chains: Chains) -> None:
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


def _everywhere(region: Region, at: int, position: int) -> list[Var | None]:
    return [region.variable(call, at, position) for call in range(len(region.calls_of))]


def _taken(home: Region, calls: list[int], sources: set[Any], count: int) -> dict[Var, tuple[Any, list[Any]]] | None:
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
