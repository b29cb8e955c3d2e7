"""What can be found out about a loop from its body: carries that only count, and carries that only add up.

Backends use it that run loops iteration by iteration: a counter is known without computing it, and a sum can grow in
place.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import add_p, and_p, gt_p, lt_p, sub_p
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, dtypes, keeps_alive
from tangrad.typing import Value


def _producers(jaxpr: Jaxpr) -> dict[Any, Any]:
    return {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}


def counters(jaxpr: Jaxpr, first: int, count: int) -> dict[int, int]:
    """Of the carries (inputs from `first` on, the first outputs), those that a number is added to: carry -> number."""
    producers = _producers(jaxpr)
    found = {}
    for position in range(count):
        step = _step(producers.get(jaxpr.outvars[position]), jaxpr.invars[first + position])
        if step is not None:
            found[position] = step
    return found


def _step(eqn: JaxprEqn | None, var: Var) -> int | None:
    """The number that an equation adds to a scalar integer."""
    if eqn is None or var.aval.shape or not dtypes.issubdtype(var.aval.dtype, np.integer):
        return None
    if eqn.primitive not in (add_p, sub_p):
        return None
    one, other = eqn.invars
    if one is var and type(other) is Literal:
        number = int(other.ndarray)
        return number if eqn.primitive is add_p else -number
    if other is var and type(one) is Literal and eqn.primitive is add_p:
        return int(one.ndarray)
    return None


def sums(jaxpr: Jaxpr, first: int, count: int) -> dict[int, Any]:
    """Of the carries those that terms are added to and that nothing else reads: carry -> equation of the addition."""
    producers = _producers(jaxpr)
    uses = Counter([atom for eqn in jaxpr.eqns for atom in eqn.invars if type(atom) is not Literal])
    uses.update([atom for atom in jaxpr.outvars if type(atom) is not Literal])
    found = {}
    for position in range(count):
        var, out = jaxpr.invars[first + position], jaxpr.outvars[position]
        eqn = producers.get(out)
        if eqn is None or uses[var] != 1 or uses[out] != 1 or not var.aval.shape:
            continue
        if eqn.primitive is add_p or eqn.primitive.identity == "autodiff.add_any":
            # By identity: a literal beside the variable would compare by value.
            if any([atom is var for atom in eqn.invars]) and var.aval.dtype.kind in "fciu":
                found[position] = eqn
    return found


class Condition:
    """A condition that a counter is below (or above) a bound, and maybe something else.

    Attributes:
        counter: the input that counts; step: 1 for "below", -1 for "above".
        bound: the position of an input, or a literal.
        rest: the further condition as a program of the same inputs, or None.
    """

    __slots__ = ("bound", "counter", "rest", "step")

    def __init__(self, counter: int, step: int, bound: Value, rest: ClosedJaxpr | None) -> None:
        self.counter = counter
        self.step = step
        self.bound = bound
        self.rest = rest


def counted_condition(closed: ClosedJaxpr, steps: dict[int, int], fixed: set[int]) -> Condition | None:
    """A condition as a comparison of a counter with a bound; None where it is something else.

    Args:
        closed: the condition.
        steps: the inputs that count, with their steps.
        fixed: the inputs that do not change.
    """
    jaxpr = closed.jaxpr
    producers = _producers(jaxpr)
    (out,) = jaxpr.outvars
    last = producers.get(out)
    if last is None or keeps_alive(jaxpr.effects):
        return None
    halves = [(out, None)] if last.primitive is not and_p else [tuple(last.invars), tuple(last.invars[::-1])]
    positions = {var: position for position, var in enumerate(jaxpr.invars)}
    for test, rest in halves:
        found = _comparison(producers.get(test) if type(test) is not Literal else None, positions, steps, fixed)
        if found is not None:
            program = None if rest is None else ClosedJaxpr(jaxpr.replace(outvars=[rest]), closed.consts)
            counter, step, bound = found
            return Condition(counter, step, bound, program)
    return None


def _comparison(eqn: Any, positions: dict[Any, int], steps: dict[int, int], fixed: set[int]) -> Any:
    """Of `i < n`, `n > i`, and the same of a counter that goes down: counter, step and bound."""
    if eqn is None or eqn.primitive not in (lt_p, gt_p):
        return None
    low, high = eqn.invars if eqn.primitive is lt_p else eqn.invars[::-1]
    for counter, bound, step in ((low, high, 1), (high, low, -1)):
        position = None if type(counter) is Literal else positions.get(counter)
        # With steps of one the counter meets its bound before it could wrap around.
        if position is None or steps.get(position) != step:
            continue
        if type(bound) is Literal:
            return position, step, bound
        if positions.get(bound) in fixed:
            return position, step, positions[bound]
    return None
