"""Where stretches of equal equations are cut into copies, and what of a copy makes a program of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tangrad._jit.regions.repeats import Stretch
from tangrad.core import ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var

MANY = 6  # from so many copies on, one may be given up for a better place to cut,
GIVEN_UP = 0.7  # where so much of what is handed on is left


class Uses(NamedTuple):
    """Which equation makes each variable, and which is the last to read it; results of the program: the end."""

    made: dict[Any, int]
    last: dict[Any, int]


def uses_of(equations: Sequence[JaxprEqn], results: Sequence[Var]) -> Uses:
    made: dict[Any, int] = {}
    last: dict[Any, int] = {}
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


def connections(copy: Sequence[JaxprEqn]) -> tuple[Any, ...]:
    """How the equations of a copy are connected: for each operand which result it is, -1 for one from outside."""
    places: dict[Any, int] = {}
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
    operands: Sequence[tuple[Any, ...]],
    arguments: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[int, int]],
    name: str,
) -> ClosedJaxpr:
    """The region as a program, made of its first copy."""
    variables = {argument: Var(argument[0].aval) for argument in arguments}
    outside = iter(operands)
    own: dict[Any, Any] = {}

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
