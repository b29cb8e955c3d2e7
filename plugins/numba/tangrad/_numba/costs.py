"""What a loop costs without numba, estimated from its equations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tangrad.core.tools import sub_jaxprs

# Seconds, measured: a call of NumPy's, an element of it; and of compiled code an equation and an element.
CALL, ELEMENT = 0.6e-6, 0.3e-9
COMPILED_CALL, COMPILED_ELEMENT = 20e-9, 1e-9
UNKNOWN_TRIPS = 100  # of a while loop, whose number is not known before it runs
STRETCH = 0.02  # seconds that compiled code may run before Python looks after signals


@dataclass(frozen=True)
class Cost:
    """`ordinary`: seconds of a call in ordinary code; `stretch`: iterations that compiled code does at a time."""

    ordinary: float
    stretch: int


def cost_of_loop(identity: str, params: Any) -> Cost | None:
    """The cost of a scan or while loop; None where its sizes are not known."""
    programs = list(sub_jaxprs(params))
    counts = [_work(program) for program in programs]
    if not all([isinstance(count, (int, float)) for pair in counts for count in pair]):
        return None
    equations, elements = [sum(numbers) for numbers in zip(*counts)]
    trips = params["length"] if identity == "control_flow.scan" else UNKNOWN_TRIPS
    if not isinstance(trips, int):
        return None
    once = equations * COMPILED_CALL + elements * COMPILED_ELEMENT
    return Cost(trips * (equations * CALL + elements * ELEMENT), max(1, int(STRETCH / max(once, 1e-9))))


def _work(jaxpr: Any) -> tuple[Any, Any]:
    """How many equations a program runs, and how many elements they compute."""
    equations: Any = 0
    elements: Any = 0
    for eqn in jaxpr.eqns:
        inner = list(_inner(eqn))
        trips = eqn.params.get("length", 1) if inner else 1
        for program in inner:
            more_equations, more_elements = _work(program)
            equations, elements = equations + trips * more_equations, elements + trips * more_elements
        if not inner:
            equations += 1
            elements += sum([var.aval.size for var in eqn.outvars])
    return equations, elements


def _inner(eqn: Any) -> Iterator[Any]:
    return iter(sub_jaxprs(eqn.params)) if eqn.params else iter(())
