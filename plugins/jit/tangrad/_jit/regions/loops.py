"""Long chains of operations element by element as loops: copies that differ in what they are handed, and nothing else.

A call cannot do for such a chain what it does for layers: each result that the gradient needs is computed again from
the region's arguments. A loop hands on from step to step, and stacks what is read elsewhere; a loop that walks a stack
back, as the gradient does, reads it where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tangrad._jit.regions.repeats import (
    Stretch,
    Uses,
    connections,
    find_stretches,
    from_outside,
    program_of,
    starts_of,
    uses_of,
)
from tangrad._jit.regions.structure import Structures, total
from tangrad._jit.settings import Limits
from tangrad.core import DropVar, JaxprEqn, ShapedArray, Var, find_primitive
from tangrad.core.tools import families

if TYPE_CHECKING:
    from tangrad.core import Literal
    from tangrad.typing import Atom

LONG_STEP = 48  # a step that stacks nothing has so many equations: between steps all goes through memory
NEEDED = frozenset({"control_flow", "structure"})  # the families of the primitives that loops are written in
PARTS = 8  # a loop may spare that part of what all have to
SINGLE_READS = 8  # so many elements of stacks may be read outside of loops


class Place(NamedTuple):
    """An element of a stack."""

    stack: Var
    at: int


@dataclass
class _Loops:
    """What has been made so far.

    Attributes:
        places: the variables that are elements of stacks. made: position -> the equation that is there instead.
        covered: which positions are in loops. read: the variables that loops read as they are.
    """

    places: dict[Var, Place] = field(default_factory=dict)
    made: dict[int, JaxprEqn] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)
    read: set[Var] = field(default_factory=set)


def in_loops(
    equations: list[JaxprEqn], results: Sequence[Atom], structures: Structures, limits: Limits
) -> list[JaxprEqn]:
    """The equations, with long chains as loops; the same list where there are none."""
    if len(equations) < limits.loop or not NEEDED.issubset(families()):
        return equations
    numbers = [structures.of_equation(equation) for equation in equations]
    contents = [structures.contents(equation) for equation in equations]
    search = replace(limits, region=1, saved=limits.loop / PARTS, groups=False)
    stretches = find_stretches(numbers, [part.size for part in contents], search)
    uses, loops = uses_of(equations, results), _Loops()
    for stretch in stretches:
        parts = total(contents[stretch.start : stretch.start + stretch.period])
        if not (parts.products or parts.windows or parts.steady):
            _add(equations, uses, _shortest_period(numbers, stretch), limits, loops)
    written = _written(equations, results, loops) if loops.made else equations
    return written if len(written) <= len(equations) - limits.loop else equations


def _shortest_period(numbers: list[int], stretch: Stretch) -> Stretch:
    part = np.asarray(numbers[stretch.start : stretch.start + stretch.length])
    fits = (period for period in range(1, stretch.period) if (part[period:] == part[:-period]).all())
    return stretch._replace(period=next(fits, stretch.period))


def _add(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch, limits: Limits, loops: _Loops) -> None:
    """Make a loop of a stretch, if it can be one."""
    starts, length = starts_of(equations, uses, stretch), stretch.period
    ends = (starts, starts[1:], starts[:-1], starts[1:-1])  # the first copy, or the last, is often connected otherwise
    found = (_loop(equations, uses, inner, length, loops) for inner in ends)
    loop = next(filter(None, found), None)
    if loop is None or not loop.pays(limits):
        return
    if not loop.stacked and not loop.walked and length < LONG_STEP:
        many = -(-LONG_STEP // length)
        starts = loop.starts[: len(loop.starts) // many * many : many]
        longer = _loop(equations, uses, starts, many * length, loops)
        loop = loop if longer is None or len(longer.starts) < 2 else longer
    loops.made[loop.starts[0]] = loop.equation(loops, f"loop_{len(loops.made)}")
    loops.covered.update(range(loop.starts[0], loop.starts[-1] + loop.length))


# --- one loop ---


class _Loop(NamedTuple):
    """A loop: its copies, and what each operand is to it, which is known by its variables in all copies.

    Attributes:
        fixed: equal in all copies. carried: made by the copy before, with the place where it is made.
        walked: elements of stacks, one after another. stacked: the results that are read elsewhere.
    """

    copies: list[Sequence[JaxprEqn]]
    starts: list[int]
    length: int
    operands: list[tuple[Var | Literal, ...]]
    fixed: list[tuple[Any, ...]]
    carried: dict[tuple[Any, ...], tuple[int, int]]
    walked: list[tuple[Any, ...]]
    stacked: list[tuple[int, int]]
    backwards: bool

    def pays(self, limits: Limits) -> bool:
        """Whether it is long enough, and what it stacks small enough: XLA computes the residuals of a chain again."""
        avals = [self.copies[0][at].outvars[position].aval for at, position in self.stacked]
        stacked = len(self.copies) * sum([aval.size * aval.dtype.itemsize for aval in avals])
        largest = limits.stack if len(self.copies) < limits.long else limits.long_stack
        return len(self.copies) >= limits.steps and stacked <= largest

    def equation(self, loops: _Loops, name: str) -> JaxprEqn:
        """The loop as an equation; what it stacks is entered into `loops`."""
        first, last, count = self.copies[0], self.copies[-1], len(self.copies)
        outputs = [*self.carried.values(), *self.stacked]
        body = program_of(first, self.operands, [*self.fixed, *self.carried, *self.walked], outputs, name)
        inits = [argument[0] for argument in (*self.fixed, *self.carried)]
        loops.read.update(inits)
        ends = [last[at].outvars[position] for at, position in self.carried.values()]
        results = [var if var not in ends[:at] else DropVar(var.aval) for at, var in enumerate(ends)]
        for at, position in self.stacked:
            aval = first[at].outvars[position].aval
            stack = Var(ShapedArray((count, *aval.shape), aval.dtype, aval.weak_type))
            results.append(stack)
            for number, copy in enumerate(self.copies):
                index = count - 1 - number if self.backwards else number
                loops.places.setdefault(copy[at].outvars[position], Place(stack, index))
        params = {
            "jaxpr": body,
            "length": count,
            "num_carry": len(self.carried),
            "num_consts": len(self.fixed),
            "reverse": self.backwards,
            "unroll": 1,
        }
        walked = [loops.places[argument[0]].stack for argument in self.walked]
        scan = find_primitive("control_flow.scan")
        return JaxprEqn(scan, [*inits, *walked], results, params, body.effects, first[0].source_info)


def _loop(equations: Sequence[JaxprEqn], uses: Uses, starts: Sequence[int], length: int, loops: _Loops) -> _Loop | None:
    """The loop of the copies that begin at `starts`; None where they are connected in another way than loops are."""
    copies = [equations[start : start + length] for start in starts]
    if len(copies) < 2 or len(set(map(connections, copies))) > 1 or not _is_plain(copies[0]):
        return None
    made = [
        {var: (at, position) for at, equation in enumerate(copy) for position, var in enumerate(equation.outvars)}
        for copy in copies
    ]
    operands = list(zip(*map(from_outside, copies), strict=True))
    found = _Loop(copies, list(starts), length, operands, [], {}, [], [], False)
    steps = set()
    for argument in dict.fromkeys(operands):
        before: set[Any] = {own.get(var) for own, var in zip(made, argument[1:])}
        if len(set(argument)) == 1:
            found.fixed.append(argument)
        elif len(before) == 1 and None not in before:
            found.carried[argument] = before.pop()
        else:
            step = _step(argument, loops)
            if step is None:
                return None
            steps.add(step)
            found.walked.append(argument)
    if len(steps) > 1:
        return None
    found.stacked.extend(_read_elsewhere(found, made, uses))
    return found._replace(backwards=steps == {-1})


def _is_plain(copy: Sequence[JaxprEqn]) -> bool:
    avals = [var.aval for equation in copy for var in (*equation.invars, *equation.outvars)]
    return all([type(aval) is ShapedArray and not aval.named_shape and aval.infer_types is None for aval in avals])


def _step(argument: tuple[Var, ...], loops: _Loops) -> int | None:
    """1 or -1 where an operand goes through a stack from one end to the other; else None."""
    places = [loops.places[var] for var in argument if var in loops.places]
    if len(places) != len(argument) or len({place.stack for place in places}) > 1:
        return None
    indices, through = [place.at for place in places], list(range(places[0].stack.aval.shape[0]))
    return 1 if indices == through else -1 if indices == through[::-1] else None


def _read_elsewhere(loop: _Loop, made: list[dict[Var, tuple[int, int]]], uses: Uses) -> list[tuple[int, int]]:
    """The results, as equation and position, that more than the copy itself and the next one read."""
    found, handed_on = set(), set(loop.carried.values())
    for number, (start, own) in enumerate(zip(loop.starts, made)):
        end = start + (1 if number == len(made) - 1 else 2) * loop.length
        for var, place in own.items():
            if place not in found and uses.last.get(var, -1) >= end:
                if number < len(made) - 1 or place not in handed_on:
                    found.add(place)
    return sorted(found)


# --- the whole ---


def _written(equations: list[JaxprEqn], results: Sequence[Atom], loops: _Loops) -> list[JaxprEqn]:
    """The equations with the loops; those that were given, where much of what is stacked would be read one by one."""
    rest = [equation for at, equation in enumerate(equations) if at not in loops.covered]
    read = {id(atom): atom for equation in rest for atom in equation.invars} | {id(atom): atom for atom in results}
    read |= {id(var): var for var in loops.read}
    single: dict[Var, list[tuple[Any, int]]] = {}
    handed_out = {var for equation in loops.made.values() for var in equation.outvars}
    for var in read.values():
        place = loops.places.get(var) if isinstance(var, Var) and var not in handed_out else None
        if place is not None:
            single.setdefault(place.stack, []).append((var, place.at))
    if sum(map(len, single.values())) > SINGLE_READS:
        return equations
    written: list[JaxprEqn] = []
    for at, equation in enumerate(equations):
        if at in loops.made:
            written.append(loops.made[at])
            for stack in loops.made[at].outvars:
                written += [taken for var, index in single.get(stack, ()) for taken in _element(stack, index, var)]
        elif at not in loops.covered:
            written.append(equation)
    return written


def _element(stack: Var, index: int, var: Var) -> list[JaxprEqn]:
    """The equations that take an element out of a stack."""
    shape = var.aval.shape
    row = Var(ShapedArray((1, *shape), var.aval.dtype, var.aval.weak_type))
    cut = {"start_indices": (index, *[0 for _ in shape]), "limit_indices": (index + 1, *shape), "strides": None}
    return [
        JaxprEqn(find_primitive("structure.slice"), [stack], [row], cut),
        JaxprEqn(find_primitive("structure.squeeze"), [row], [var], {"dimensions": (0,)}),
    ]
