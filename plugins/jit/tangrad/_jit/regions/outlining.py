"""Stretches of equal equations as calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tangrad._jit.regions.limits import Limits
from tangrad._jit.regions.primitives import region_p
from tangrad._jit.regions.reordering import parts_first
from tangrad._jit.regions.repeats import Stretch, find_stretches
from tangrad._jit.regions.structure import Structures, total
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var

MANY = 6  # from so many copies on, one may be given up for a better place to cut,
GIVEN_UP = 0.7  # where so much of what is handed on is left


class Uses(NamedTuple):
    """Which equation makes each variable, and which is the last to read it; results of the program: the end."""

    made: dict[Any, int]
    last: dict[Any, int]


def outline(
    equations: list[JaxprEqn], results: Sequence[Any], structures: Structures, limits: Limits
) -> list[JaxprEqn]:
    """The equations, with those that repeat themselves as calls of regions; the same list where none do."""
    written = equations
    equations = parts_first(written, [structures.of_equation(equation) for equation in written])
    numbers = [structures.of_equation(equation) for equation in equations]
    contents = [structures.contents(equation) for equation in equations]
    weights = [1 if eqn.primitive is region_p else part.size for eqn, part in zip(equations, contents, strict=True)]
    stretches = find_stretches(numbers, weights, limits)
    uses = _uses(equations, results)
    made: list[JaxprEqn] = []
    done = 0
    for number, stretch in enumerate(stretches):
        if not limits.fits(total(contents[stretch.start : stretch.start + stretch.period])):
            continue
        starts = _starts(equations, uses, stretch)
        calls = _calls(equations, uses, starts, stretch.period, f"region_{number}")
        for start, call in calls.items():
            made += [*equations[done:start], call]
            done = start + stretch.period
    return [*made, *equations[done:]] if made else written


def _uses(equations: Sequence[JaxprEqn], results: Sequence[Any]) -> Uses:
    made: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for position, equation in enumerate(equations):
        last.update(dict.fromkeys([atom for atom in equation.invars if type(atom) is not Literal], position))
        made.update(dict.fromkeys(equation.outvars, position))
    last.update(dict.fromkeys([atom for atom in results if type(atom) is not Literal], len(equations)))
    return Uses(made, last)


# --- where to cut -----------------------------------------------------------------------------------------------------


def _starts(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch) -> list[int]:
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


def _crossing(equations: Sequence[JaxprEqn], uses: Uses, stretch: Stretch) -> Any:
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


def _calls(
    equations: Sequence[JaxprEqn], uses: Uses, starts: Sequence[int], length: int, name: str
) -> dict[int, JaxprEqn]:
    """The calls in place of the copies that begin at `starts`; copies that are connected otherwise stay."""
    shapes = {start: _connections(equations[start : start + length]) for start in starts}
    usual, count = Counter(shapes.values()).most_common(1)[0]
    if count < 2:
        return {}
    copies = {start: equations[start : start + length] for start in starts if shapes[start] == usual}
    operands = list(zip(*map(_from_outside, copies.values()), strict=True))
    arguments = list(dict.fromkeys(operands))  # operands that are one in all copies are one argument
    outputs = _outputs(copies, uses)
    program = _program(next(iter(copies.values())), operands, arguments, outputs, name)
    return {
        start: _call(copy, program, [variables[number] for variables in arguments], outputs, name)
        for number, (start, copy) in enumerate(copies.items())
    }


def _connections(copy: Sequence[JaxprEqn]) -> tuple[Any, ...]:
    """How the equations of a copy are connected: for each operand which result it is, -1 for one from outside."""
    places: dict[Any, int] = {}
    found = []
    for equation in copy:
        found.append(tuple([-1 if type(atom) is Literal else places.get(atom, -1) for atom in equation.invars]))
        for var in equation.outvars:
            places[var] = len(places)
    return tuple(found)


def _from_outside(copy: Sequence[JaxprEqn]) -> list[Any]:
    """The operands of a copy that it does not make, as often as they are read."""
    own = {var for equation in copy for var in equation.outvars}
    return [atom for equation in copy for atom in equation.invars if type(atom) is not Literal and atom not in own]


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


def _program(
    copy: Sequence[JaxprEqn],
    operands: Sequence[tuple[Any, ...]],
    arguments: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[int, int]],
    name: str,
) -> ClosedJaxpr:
    """The region as a program, made of its first copy."""
    variables = {argument: Var(argument[0].aval) for argument in arguments}
    outside = iter(operands)
    own: dict[Any, Any] = {}

    def inner(atom: Any) -> Any:
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


def _call(
    copy: Sequence[JaxprEqn],
    program: ClosedJaxpr,
    operands: Sequence[Any],
    outputs: Sequence[tuple[int, int]],
    name: str,
) -> JaxprEqn:
    results = [copy[at].outvars[position] for at, position in outputs]
    params = {"jaxpr": program, "name": name}
    return JaxprEqn(region_p, list(operands), results, params, program.effects, copy[0].source_info)
