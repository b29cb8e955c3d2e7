"""Programs rearranged, and what can be found out about them: what of a loop's body is not done in every iteration.

Backends that run loops iteration by iteration ask which carries only count, which are known without computing them, and
which only add up, so that they can grow in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from tangrad._lax.elementwise.primitives import add_p, and_p, gt_p, lt_p, sub_p
from tangrad.core import (
    Array,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    ShapedArray,
    Var,
    dce_jaxpr,
    dtypes,
    eval_jaxpr,
    keeps_alive,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Atom, Value

T = TypeVar("T")

_rearranged = JaxprCache()
register_cache(_rearranged.clear)


def rearranged(closed: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program that takes input `inputs[i]` of `closed` as its i-th, and gives output `outputs[i]` as its i-th."""
    key = (tuple(inputs), tuple(outputs))
    jaxpr = closed.jaxpr
    if key == (tuple(range(len(jaxpr.invars))), tuple(range(len(jaxpr.outvars)))):
        return closed
    return _rearranged.get(
        closed,
        key,
        lambda: ClosedJaxpr(
            jaxpr.replace(
                invars=[jaxpr.invars[position] for position in key[0]],
                outvars=[jaxpr.outvars[position] for position in key[1]],
            ),
            closed.consts,
        ),
    )


def spans(*counts: int) -> list[list[int]]:
    """Consecutive positions in groups of these sizes."""
    groups, start = [], 0
    for count in counts:
        groups.append(list(range(start, start + count)))
        start += count
    return groups


def ignoring(closed: ClosedJaxpr, avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The program with further inputs at the end, which it does not read."""
    if not avals:
        return closed
    key = ("ignoring", tuple(avals))
    return _rearranged.get(
        closed,
        key,
        lambda: ClosedJaxpr(
            closed.jaxpr.replace(invars=[*closed.jaxpr.invars, *[Var(aval) for aval in avals]]), closed.consts
        ),
    )


def forwarded(programs: Sequence[ClosedJaxpr]) -> list[int | None]:
    """For each output, the position of the input that all programs hand on as it is; None where they do not."""
    found = []
    for atoms in zip(*[program.jaxpr.outvars for program in programs], strict=True):
        positions = {
            next((k for k, var in enumerate(program.jaxpr.invars) if var is atom), None)
            for program, atom in zip(programs, atoms, strict=True)
        }
        found.append(positions.pop() if len(positions) == 1 else None)
    return found


def without_effects(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program without what it does only for its effects, such as printing: for running it once more."""
    jaxpr = closed.jaxpr
    if not keeps_alive(jaxpr.effects):
        return closed
    live = {atom for atom in jaxpr.outvars if type(atom) is not Literal}
    kept = []
    for eqn in reversed(jaxpr.eqns):
        if not live.isdisjoint(eqn.outvars):
            kept.append(eqn)
            live.update([atom for atom in eqn.invars if type(atom) is not Literal])
    return ClosedJaxpr(jaxpr.replace(eqns=kept[::-1]), closed.consts)


# --- what a loop does not change ---


def invariant_vars(jaxpr: Jaxpr, given: Iterable[Var]) -> set[Var]:
    """The variables that depend on `given` and constants alone, and are computed without effects."""
    fixed = {*given, *jaxpr.constvars}
    for eqn in jaxpr.eqns:
        if not eqn.effects and all([type(atom) is Literal or atom in fixed for atom in eqn.invars]):
            fixed.update(eqn.outvars)
    return fixed


# Operations that only look at their operand in another way: moving them out of a loop would save nothing, and make
# whole arrays of what is a number or a row.
_LOOKS = frozenset(("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice", "zeros", "iota"))


def without_invariants(closed: ClosedJaxpr, num_consts: int) -> tuple[ClosedJaxpr | None, ClosedJaxpr]:
    """A body without the work that depends on its first `num_consts` inputs alone.

    Returns `consts -> values`, or None where there is no such work, and `(values, inputs) -> outputs`.
    """
    jaxpr = closed.jaxpr
    fixed = invariant_vars(jaxpr, jaxpr.invars[:num_consts])
    early, late = [], []
    made: set[Atom] = set()
    changing: set[object] = set(jaxpr.invars[:num_consts])  # what depends on inputs at all, and not on constants alone
    for eqn in jaxpr.eqns:
        if any([type(atom) is not Literal and atom in changing for atom in eqn.invars]):
            changing.update(eqn.outvars)
        if fixed.issuperset(eqn.outvars) and not eqn.effects:
            early.append(eqn)
            if changing.issuperset(eqn.outvars) and eqn.primitive.name not in _LOOKS:
                made.update(eqn.outvars)
                continue
        late.append(eqn)
    read = {atom for eqn in late for atom in eqn.invars if type(atom) is not Literal}
    read.update([atom for atom in jaxpr.outvars if type(atom) is not Literal])
    moved = [var for eqn in early for var in eqn.outvars if var in made and var in read and type(var) is not DropVar]
    if not moved:
        return None, closed
    before = jaxpr.replace(invars=jaxpr.invars[:num_consts], outvars=moved, eqns=early)
    before, _ = dce_jaxpr(before, [True] * len(moved), instantiate=True)
    body = jaxpr.replace(invars=[*moved, *jaxpr.invars], eqns=late)
    body, _ = dce_jaxpr(body, [True] * len(jaxpr.outvars), instantiate=True)
    return ClosedJaxpr(before, closed.consts), ClosedJaxpr(body, closed.consts)


def kept(values: Sequence[T], flags: Sequence[bool]) -> list[T]:
    """The values whose flag is set."""
    return [value for value, flag in zip(values, flags, strict=True) if flag]


_marked = JaxprCache()
register_cache(_marked.clear)


def as_different(closed: ClosedJaxpr, axes: Sequence[Any]) -> ClosedJaxpr:
    """A program whose first results are marked as differing along mapped axes, given as named shapes."""
    typed = thread.typed_axes
    known = [aval.named_shape for aval in closed.out_avals]
    if typed is None or all([wanted == names for wanted, names in zip(axes, known)]):
        return closed

    def run_marked(*inputs: Value) -> list[Array]:
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
        marked = [typed.marked(out, tuple([name for name, _ in names])) for out, names in zip(outs, axes)]
        return [*marked, *outs[len(marked) :]]

    make = lambda: trace_to_closed_jaxpr(run_marked, closed.in_avals, closed.jaxpr.debug_name)
    return _marked.get(closed, (tuple(axes), typed.names), make)


def _producers(jaxpr: Jaxpr) -> dict[Atom, JaxprEqn]:
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


def sums(jaxpr: Jaxpr, first: int, count: int) -> dict[int, JaxprEqn]:
    """Of the carries those that terms are added to and that nothing else reads: carry -> equation of the addition."""
    producers = _producers(jaxpr)
    uses: Counter[Atom] = Counter([atom for eqn in jaxpr.eqns for atom in eqn.invars if type(atom) is not Literal])
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


def _comparison(eqn: JaxprEqn | None, positions: dict[Var, int], steps: dict[int, int], fixed: set[int]) -> Any:
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
