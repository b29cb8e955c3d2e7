"""Where a sequence repeats itself, what stands in the way of that, and how such a stretch is cut into copies."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
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


MANY = 6  # from so many copies on, one may be given up for a better place to cut,
GIVEN_UP = 0.7  # where so much of what is handed on is left


class Uses(NamedTuple):
    """Which equation makes each variable, and which is the last to read it; results of the program: the end."""

    made: dict[Var, int]
    last: dict[Var, int]


def uses_of(equations: Sequence[JaxprEqn], results: Sequence[Var | Literal]) -> Uses:
    made: dict[Var, int] = {}
    last: dict[Var, int] = {}
    for position, equation in enumerate(equations):
        last.update(dict.fromkeys([atom for atom in equation.invars if type(atom) is not Literal], position))
        made.update(dict.fromkeys(equation.outvars, position))
    last.update(dict.fromkeys([atom for atom in results if type(atom) is not Literal], len(equations)))
    return Uses(made, last)


# --- where to cut -----------------------------------------------------------------------------------------------------


def starts_of(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch) -> list[int]:
    """Where the copies begin: there where least is handed on from one to the next."""
    crossing = _crossing(equations, uses, stretch)
    copies = stretch.length // stretch.period
    fewest = copies - 1 if copies >= MANY else copies
    best: tuple[float, int] | None = None  # a shift that costs a copy must hand on that much less
    for shift in range(stretch.period):
        count = (stretch.length - shift) // stretch.period
        if count < fewest:
            break
        inner = crossing[shift + stretch.period : shift + count * stretch.period : stretch.period]
        cost = float(inner.mean()) if len(inner) else 0.0
        worth = cost if count == copies else cost / GIVEN_UP
        if best is None or worth < best[0]:
            best = (worth, shift)
    shift = 0 if best is None else best[1]
    count = (stretch.length - shift) // stretch.period
    return [stretch.start + shift + copy * stretch.period for copy in range(count)]


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


# --- what is cut out --------------------------------------------------------------------------------------------------


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


def program_of(
    copy: Sequence[JaxprEqn],
    operands: Sequence[tuple[object, ...]],
    arguments: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[int, int]],
    name: str,
) -> ClosedJaxpr:
    """The region as a program, made of its first copy."""
    variables = {argument: Var(argument[0].aval) for argument in arguments}
    outside = iter(operands)
    own: dict[object, Var] = {}

    def inner(atom: Var | Literal) -> Var | Literal:
        if type(atom) is Literal:
            return atom
        return own[atom] if atom in own else variables[next(outside)]

    equations = []
    for at, equation in enumerate(copy):
        inputs = [inner(atom) for atom in equation.invars]
        outvars = [
            DropVar(var.aval) if type(var) is DropVar and (at, position) not in outputs else Var(var.aval)
            for position, var in enumerate(equation.outvars)
        ]
        own.update(zip(equation.outvars, outvars, strict=True))
        equations.append(equation.replace(invars=inputs, outvars=outvars))
    results = [equations[at].outvars[position] for at, position in outputs]
    return ClosedJaxpr(Jaxpr([], list(variables.values()), results, equations, debug_name=name))
