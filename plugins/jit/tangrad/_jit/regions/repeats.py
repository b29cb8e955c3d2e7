"""Where a sequence repeats itself, what stands in the way of that, and how such a stretch is cut into copies."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tangrad._jit.settings import Limits
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var

LONG = 8  # a subsequence of so many numbers hardly ever occurs twice within one layer
CANDIDATES = 12  # distances that are looked at, for each length of subsequences
STRETCHES = 64  # at most so many are found


class Stretch(NamedTuple):
    """A part of a sequence that repeats itself.

    Attributes:
        start, length: where it is. period: after how many places it repeats, whole regions of enough weight at a time.
    """

    start: int
    length: int
    period: int


def find_stretches(numbers: Sequence[int], weights: Sequence[int], limits: Limits) -> list[Stretch]:
    """The stretches that spare most, none of which overlap, in order.

    Args:
        numbers: the sequence. weights: the equations that each item stands for.
    """
    sequence = np.asarray(numbers, np.int64)
    until = np.concatenate([[0], np.cumsum(np.asarray(weights, np.int64))])
    heap: list[tuple[int, int, Stretch, int]] = []

    def offer(start: int, length: int, period: int) -> None:
        stretch = _grouped(start, length, period, until, limits)
        if stretch is not None:
            saved = _saved(stretch, until)
            if saved >= limits.saved:
                heapq.heappush(heap, (-saved, stretch.period, stretch, period))

    for period in _distances(sequence, until):
        for start, length in _runs(sequence, period):
            offer(start, length, period)
    found: list[Stretch] = []
    free = np.ones(len(sequence), bool)
    while heap and len(found) < STRETCHES:
        _, _, stretch, period = heapq.heappop(heap)
        within = free[stretch.start : stretch.start + stretch.length]
        if within.all():
            found.append(stretch)
            within[:] = False
            continue
        for start, length in _true_runs(within):
            offer(stretch.start + start, length, period)
    return sorted(found)


def _grouped(start: int, length: int, period: int, until: np.ndarray, limits: Limits) -> Stretch | None:
    """The stretch in periods of enough weight; None where less than two of them fit."""
    if length < 2 * period:
        return None
    one, total = int(until[start + period] - until[start]), int(until[start + length] - until[start])
    wanted = limits.grouped(one, total)
    group = min(wanted, length // (2 * period))
    return None if group < wanted and group * one < limits.region else Stretch(start, length, group * period)


def _saved(stretch: Stretch, until: np.ndarray) -> int:
    """The equations that need not be compiled if each period but the first is a call."""
    one = int(until[stretch.start + stretch.period] - until[stretch.start])
    return (stretch.length // stretch.period - 1) * (one - 1)


def _distances(sequence: np.ndarray, until: np.ndarray) -> list[int]:
    """The distances at which most of the sequence, by weight, comes again."""
    long, length = sequence, 1
    while length < LONG and len(long) > 2 * length:
        pairs = long[:-length] * (int(long.max()) + 1) + long[length:]
        long, length = np.unique(pairs, return_inverse=True)[1], 2 * length
    found: dict[int, None] = {}
    for items in (long, sequence):
        order = np.argsort(items, kind="stable")
        later = order[1:][items[order][1:] == items[order][:-1]]
        gaps = np.diff(order)[items[order][1:] == items[order][:-1]]
        if len(gaps):
            weight = np.bincount(gaps, (until[later + 1] - until[later]).astype(float))
            best = np.argsort(-weight, kind="stable")[:CANDIDATES]
            found.update(dict.fromkeys([int(gap) for gap in best if weight[gap] > 0]))
    return list(found)


def _runs(sequence: np.ndarray, period: int) -> Iterator[tuple[int, int]]:
    """Where, and how far, the sequence repeats after `period` places: twice at least."""
    for start, length in _true_runs(sequence[period:] == sequence[:-period]):
        if length >= period:
            yield start, length + period


def _true_runs(flags: np.ndarray) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    for start, end in edges.reshape(-1, 2):
        yield int(start), int(end - start)


MANY = 6  # from so many copies on, one may be given up for a better place to cut,
GIVEN_UP = 0.7  # where so much of what is handed on is left


class Uses(NamedTuple):
    """Which equation makes each variable, and which is the last to read it; results of the program: the end."""

    made: dict[Var, int]
    last: dict[Var, int]

    def readers(self, equations: Sequence[JaxprEqn], first: int, end: int) -> dict[Var, list[int]]:
        """Which of the equations from `first` to `end` read each variable."""
        found: dict[Var, list[int]] = {}
        for position in range(first, end):
            for atom in equations[position].invars:
                if type(atom) is not Literal:
                    found.setdefault(atom, []).append(position)
        return found


def uses_of(equations: Sequence[JaxprEqn], results: Sequence[Var | Literal]) -> Uses:
    made: dict[Var, int] = {}
    last: dict[Var, int] = {}
    for position, equation in enumerate(equations):
        last.update(dict.fromkeys([atom for atom in equation.invars if type(atom) is not Literal], position))
        made.update(dict.fromkeys(equation.outvars, position))
    last.update(dict.fromkeys([atom for atom in results if type(atom) is not Literal], len(equations)))
    return Uses(made, last)


# --- where to cut ---


def starts_of(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch) -> list[int]:
    """Where the copies begin: there where least is handed on from one to the next."""
    return places_to_cut(equations, uses, stretch)[0]


def places_to_cut(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch, most: int = 1) -> list[list[int]]:
    """Where copies may begin so that least is handed on from one to the next: `most` such lists of starts at most."""
    crossing = _crossing(equations, uses, stretch)
    copies = stretch.length // stretch.period
    fewest = copies - 1 if copies >= MANY else copies
    worths = []  # a shift that costs a copy must hand on that much less
    for shift in range(stretch.period):
        count = (stretch.length - shift) // stretch.period
        if count < fewest:
            break
        inner = crossing[shift + stretch.period : shift + count * stretch.period : stretch.period]
        cost = float(inner.mean()) if len(inner) else 0.0
        worths.append(cost if count == copies else cost / GIVEN_UP)
    least, length, period = min(worths), stretch.length, stretch.period
    best = [shift for shift, worth in enumerate(worths) if worth == least]
    if most > 1:  # rather there where less is left over at one of the ends
        best.sort(key=lambda shift: min(shift, (length - shift) % period))
    ends = stretch.start + length - period + 1
    return [list(range(stretch.start + shift, ends, period)) for shift in best[:most]]


def _crossing(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch) -> np.ndarray:
    """For each place in a stretch, the elements that are made before it, read behind it, and not read outside."""
    change = np.zeros(stretch.length + 1)
    end = stretch.start + stretch.length
    for position in range(stretch.start, end):
        for var in equations[position].outvars:
            last = uses.last.get(var, position)
            if position < last < end:
                size = 1 + var.aval.size if hasattr(var.aval, "size") else 1
                change[position + 1 - stretch.start] += size
                change[last + 1 - stretch.start] -= size
    return np.cumsum(change)


# --- what is cut out ---


def connections(copy: Sequence[JaxprEqn]) -> tuple[tuple[int, ...], ...]:
    """How the equations of a copy are connected: for each operand which result it is, -1 for one from outside."""
    places: dict[object, int] = {}
    found = []
    for equation in copy:
        found.append(tuple([-1 if type(atom) is Literal else places.get(atom, -1) for atom in equation.invars]))
        for var in equation.outvars:
            places[var] = len(places)
    return tuple(found)


def from_outside(copy: Sequence[JaxprEqn]) -> list[Var]:
    """The operands of a copy that it does not make, as often as they are read."""
    own = {var for equation in copy for var in equation.outvars}
    return [atom for equation in copy for atom in equation.invars if type(atom) is not Literal and atom not in own]


class Copies(NamedTuple):
    """Equal parts of a program that are connected alike.

    Attributes:
        parts: the equations of each, by where it begins.
        operands: those that no copy makes itself, as often as they are read: the variables of all copies.
        arguments: the same, each once. outputs: what is read elsewhere, as equation and position.
    """

    parts: dict[int, Sequence[JaxprEqn]]
    operands: list[tuple[Var, ...]]
    arguments: list[tuple[Var, ...]]
    outputs: list[tuple[int, int]]


def copies_of(equations: Sequence[JaxprEqn], uses: Uses, starts: Sequence[int], length: int) -> Copies | None:
    """The copies that begin at `starts`, without those that are connected otherwise; None for less than two."""
    shapes = {start: connections(equations[start : start + length]) for start in starts}
    usual, count = Counter(shapes.values()).most_common(1)[0]
    if count < 2:
        return None
    parts = {start: equations[start : start + length] for start in starts if shapes[start] == usual}
    operands = list(zip(*map(from_outside, parts.values()), strict=True))
    return Copies(parts, operands, list(dict.fromkeys(operands)), _outputs(parts, uses))


Source = int | tuple[int, int] | None  # which argument, or which result of which equation; None for literals


def sources_of(copies: Copies) -> list[list[Source]]:
    """What each operand of each equation of a copy is."""
    arguments = {argument: at for at, argument in enumerate(copies.arguments)}
    outside = iter(copies.operands)
    own: dict[object, tuple[int, int]] = {}
    found = []
    for at, equation in enumerate(next(iter(copies.parts.values()))):
        row: list[Source] = []
        for atom in equation.invars:
            row.append(None if type(atom) is Literal else own[atom] if atom in own else arguments[next(outside)])
        found.append(row)
        own.update({var: (at, position) for position, var in enumerate(equation.outvars)})
    return found


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


class Again(NamedTuple):
    """What a region computes again in place of an argument: the equations of the copy that made it.

    Attributes:
        equations: those of the first copy. result: what they compute. given: for what they take, the arguments.
    """

    equations: list[JaxprEqn]
    result: Var
    given: dict[Var, tuple[Var, ...]]


def program_of(
    copy: Sequence[JaxprEqn],
    operands: Sequence[tuple[object, ...]],
    arguments: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[int, int]],
    name: str,
    again: Mapping[tuple[Any, ...], Again] = MappingProxyType({}),
) -> ClosedJaxpr:
    """The region as a program, made of its first copy."""
    inputs = {argument: Var(argument[0].aval) for argument in arguments}
    variables: dict[object, Var] = dict(inputs)
    outside = iter(operands)
    own: dict[object, Var] = {}

    def inner(atom: Var | Literal) -> Var | Literal:
        if type(atom) is Literal:
            return atom
        return own[atom] if atom in own else variables[next(outside)]

    equations = []
    for argument, chain in again.items():
        made: dict[object, Var] = {var: variables[given] for var, given in chain.given.items()}
        for equation in chain.equations:
            outvars = [Var(var.aval) for var in equation.outvars]
            read = [atom if type(atom) is Literal else made[atom] for atom in equation.invars]
            equations.append(equation.replace(invars=read, outvars=outvars))
            made.update(zip(equation.outvars, outvars, strict=True))
        variables[argument] = made[chain.result]
    before = len(equations)
    for at, equation in enumerate(copy):
        read = [inner(atom) for atom in equation.invars]
        outvars = [
            DropVar(var.aval) if type(var) is DropVar and (at, position) not in outputs else Var(var.aval)
            for position, var in enumerate(equation.outvars)
        ]
        own.update(zip(equation.outvars, outvars, strict=True))
        equations.append(equation.replace(invars=read, outvars=outvars))
    results = [equations[before + at].outvars[position] for at, position in outputs]
    return ClosedJaxpr(Jaxpr([], list(inputs.values()), results, equations, debug_name=name))


# --- copies that lack equations ---


class Incomplete(NamedTuple):
    """What stands before the first copy, or behind the last, and is a copy but for equations that it does not need.

    Attributes:
        first, end: where it is, with others in between. pairs: which equation of a copy is which of the program.
        operands: the arguments; those that only what is missing reads, `spare`, are those of the copy beside it.
    """

    first: int
    end: int
    pairs: dict[int, int]
    operands: list[Var]
    spare: frozenset[int]

    def written(self, equations: Sequence[JaxprEqn], call: JaxprEqn) -> list[JaxprEqn]:
        """The equations from `first` to `end`, with the call in place of its own."""
        own, after = set(self.pairs.values()), self.dependent(equations)
        others = [at for at in range(self.first, self.end) if at not in own]
        before = [equations[at] for at in others if at not in after]
        return [*before, call, *[equations[at] for at in others if at in after]]

    def dependent(self, equations: Sequence[JaxprEqn]) -> set[int]:
        """The equations in between that need what the copy makes."""
        own, made, found = set(self.pairs.values()), set[object](), set()
        for at in range(self.first, self.end):
            if at in own or not made.isdisjoint([atom for atom in equations[at].invars if type(atom) is not Literal]):
                made.update(equations[at].outvars)
                if at not in own:
                    found.add(at)
        return found


def incomplete_copy(
    equations: Sequence[JaxprEqn], numbers: Sequence[int], uses: Uses, copies: Copies, first: int, end: int
) -> Incomplete | None:
    """What is a copy but for some equations, from `first` to `end`, before the first copy or behind the last."""
    return _Matching(equations, numbers, uses, copies, first, end).run() if first < end else None


def _places(copy: Sequence[JaxprEqn]) -> dict[object, tuple[int, int]]:
    """Where each variable is made, as equation and position."""
    return {var: (at, position) for at, equation in enumerate(copy) for position, var in enumerate(equation.outvars)}


class _Matching:
    """Pairs the equations of a copy with those of a part of the program, along what they are connected by."""

    def __init__(
        self, equations: Sequence[JaxprEqn], numbers: Sequence[int], uses: Uses, copies: Copies, first: int, end: int
    ) -> None:
        self._equations, self._numbers, self._uses = equations, numbers, uses
        self._copies, self._first, self._end = copies, first, end
        self._readers = uses.readers(equations, first, end)
        self._start, self._copy = next(iter(copies.parts.items()))
        self._sources = sources_of(copies)
        self._pairs: dict[int, int] = {}
        self._taken: set[int] = set()
        self._given = {at: var[0] for at, var in enumerate(copies.arguments) if len(set(var)) == 1}
        self._operands: dict[int, Any] = {}
        self._is_behind = first > self._start

    def _handed_on(self) -> dict[int, tuple[int, int]]:
        """The arguments that are made by the copy before, with the place where."""
        found: dict[int, tuple[int, int]] = {}
        starts = list(self._copies.parts)
        follows = [at for at in range(1, len(starts)) if starts[at] - starts[at - 1] == len(self._copy)]
        made = [_places(self._copies.parts[starts[at - 1]]) for at in follows]
        for number, argument in enumerate(self._copies.arguments):
            places = {own.get(argument[at]) for own, at in zip(made, follows, strict=True)}
            if len(places) == 1 and (place := places.pop()) is not None:
                found[number] = place
        return found

    def run(self) -> Incomplete | None:
        """Pair what is before the first copy, from what that takes, or behind the last, from what that hands on."""
        last = list(self._copies.parts.values())[-1]
        for number, (at, position) in self._handed_on().items():
            if self._is_behind:
                self._given[number] = last[at].outvars[position]
            else:
                self._pair(at, self._uses.made.get(self._copies.arguments[number][0], -1))
        self._operands = {**self._given, **self._operands}
        self._follow()
        return self._found()

    def _pair(self, at: int, position: int) -> None:
        """Pair two equations, and those that make their operands."""
        waiting = [(at, position)]
        while waiting:
            at, position = waiting.pop()
            if not self._is_free(at, position):
                continue
            self._pairs[at] = position
            self._taken.add(position)
            for source, atom in zip(self._sources[at], self._equations[position].invars, strict=True):
                if isinstance(source, tuple) and isinstance(atom, Var):
                    waiting.append((source[0], self._uses.made.get(atom, -1)))
                elif isinstance(source, int):
                    self._operands.setdefault(source, atom)

    def _is_free(self, at: int, position: int) -> bool:
        within = self._first <= position < self._end
        return (
            within
            and at not in self._pairs
            and position not in self._taken
            and self._numbers[position] == self._numbers[self._start + at]
        )

    def _follow(self) -> None:
        """Pair what reads that which is known."""
        for at, sources in enumerate(self._sources):
            if at not in self._pairs:
                known = [(slot, var) for slot, var in enumerate(map(self._known, sources)) if var is not None]
                readers = min([self._readers.get(var, []) for _, var in known], key=len, default=[])
                for position in readers:
                    operands = self._equations[position].invars
                    if self._is_free(at, position) and all([operands[slot] is var for slot, var in known]):
                        self._pair(at, position)
                        break

    def _known(self, source: Source) -> Var | None:
        if isinstance(source, tuple):
            at = self._pairs.get(source[0])
            return None if at is None else self._equations[at].outvars[source[1]]
        return None if source is None else self._operands.get(source)

    def _found(self) -> Incomplete | None:
        """What is connected as a copy is, if it can be a call; else None."""
        pairs: dict[int, int] = {}
        operands = dict(self._given)
        for at in sorted(self._pairs):
            new: dict[int, Any] = {}
            inputs = self._equations[self._pairs[at]].invars
            for source, atom in zip(self._sources[at], inputs, strict=True):
                if isinstance(source, tuple):
                    made = pairs.get(source[0])
                    if made is None or self._equations[made].outvars[source[1]] is not atom:
                        break
                elif isinstance(source, int) and operands.get(source, new.setdefault(source, atom)) is not atom:
                    break
            else:
                pairs[at] = self._pairs[at]
                operands.update(new)
        return self._as_call(pairs, operands) if pairs else None

    def _as_call(self, pairs: dict[int, int], known: dict[int, Any]) -> Incomplete | None:
        beside = -1 if self._is_behind else 0
        operands = [known.get(number, argument[beside]) for number, argument in enumerate(self._copies.arguments)]
        first, end = min(pairs.values()), max(pairs.values()) + 1
        spare = frozenset(range(len(operands))).difference(known)
        call = Incomplete(first, end, pairs, operands, spare)
        late = {*pairs.values(), *call.dependent(self._equations)}
        made = [self._uses.made.get(var, -1) for var in operands]
        if any([at >= end or at in late for at in made]) or self._hands_on_more(pairs):
            return None
        return None if any([equation.effects for equation in self._equations[first:end]]) else call

    def _hands_on_more(self, pairs: dict[int, int]) -> bool:
        """Whether something is read elsewhere that no other copy is read for."""
        own, outputs = set(pairs.values()), set(self._copies.outputs)
        for at, number in pairs.items():
            for position, var in enumerate(self._equations[number].outvars):
                read = self._uses.last.get(var, -1) >= self._end or not own.issuperset(self._readers.get(var, ()))
                if read and (at, position) not in outputs:
                    return True
        return False
