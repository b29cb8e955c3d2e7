"""Programs rearranged: the order of inputs and outputs, and what of a loop's body is not done in every iteration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tangrad.core import (
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    Literal,
    ShapedArray,
    Var,
    dce_jaxpr,
    eval_jaxpr,
    keeps_alive,
    thread,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache

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


# --- what a loop does not change ------------------------------------------------------------------------------------


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
    made: set[Any] = set()
    changing: set[Any] = set(jaxpr.invars[:num_consts])  # what depends on inputs at all, and not on constants alone
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


def kept(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
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

    def run_marked(*inputs: Any) -> list[Any]:
        outs = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
        marked = [typed.marked(out, tuple([name for name, _ in names])) for out, names in zip(outs, axes)]
        return [*marked, *outs[len(marked) :]]

    make = lambda: trace_to_closed_jaxpr(run_marked, closed.in_avals, closed.jaxpr.debug_name)
    return _marked.get(closed, (tuple(axes), typed.names), make)
