"""Stretches of equal equations as calls of one program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tangrad._jit.regions.cutting import Uses, connections, from_outside, program_of, starts_of, uses_of
from tangrad._jit.regions.limits import Limits
from tangrad._jit.regions.primitives import region_p
from tangrad._jit.regions.reordering import parts_first
from tangrad._jit.regions.repeats import find_stretches
from tangrad._jit.regions.structure import Structures, total
from tangrad.core import ClosedJaxpr, JaxprEqn, Var


def outline(
    equations: list[JaxprEqn], results: Sequence[Var], structures: Structures, limits: Limits
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
