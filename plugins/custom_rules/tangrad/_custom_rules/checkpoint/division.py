"""What of a program a policy keeps, and what is computed again: operation by operation, in loops and branches too.

An equation that carries programs (a scan, a conditional) is not judged as a whole. Its rule of kind `recompute` divides
it: into one that also gives what the policy keeps of the operations in there, and one that computes the rest again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.checkpoint.effects import is_kept, shown_again
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    calls_rules,
    holding,
    rule_table,
    thread,
    trace_to_closed_jaxpr,
)

if TYPE_CHECKING:
    from tangrad.typing import Value

RECOMPUTE = rule_table("recompute")


class Division:
    """A program, divided.

    Attributes:
        first: closed jaxpr `inputs -> (outputs, kept values)`.
        second: closed jaxpr `(inputs, kept values) -> the outputs that are wanted`.
        used: for each input, whether `second` reads it.
        kept: how many values are kept.
    """

    __slots__ = ("first", "kept", "second", "used")

    def __init__(self, first: ClosedJaxpr, second: ClosedJaxpr, used: tuple[bool, ...], kept: int) -> None:
        self.first = first
        self.second = second
        self.used = used
        self.kept = kept


class Recomputation:
    """What a `recompute` rule returns: an equation divided.

    Attributes:
        first: the equation with the kept values as further results.
        kept: the variables of these.
        second: an equation that gives the results that are wanted, of some operands and the kept values.
    """

    __slots__ = ("first", "kept", "second")

    def __init__(self, first: JaxprEqn, kept: Sequence[Var], second: JaxprEqn) -> None:
        self.first = first
        self.kept = kept
        self.second = second


def divide(closed: ClosedJaxpr, wanted: Sequence[bool], policy: Any) -> Division:
    """Divide a program, of which some outputs are wanted a second time."""
    jaxpr = closed.jaxpr
    atoms = [out for out, is_wanted in zip(jaxpr.outvars, wanted, strict=True) if is_wanted]
    eqns, again, kept, needed = _divide(jaxpr, atoms, policy)
    first = jaxpr.replace(eqns=eqns, outvars=[*jaxpr.outvars, *kept])
    second = jaxpr.replace(invars=[*jaxpr.invars, *kept], outvars=atoms, eqns=again)
    used = tuple([var in needed for var in jaxpr.invars])
    return Division(ClosedJaxpr(first, closed.consts), ClosedJaxpr(second, closed.consts), used, len(kept))


def _divide(
    primal: Jaxpr, wanted: Sequence[Var], policy: Any
) -> tuple[list[JaxprEqn], list[JaxprEqn], list[Var], set[Any]]:
    """The equations, those to be computed again for the values wanted, the variables kept, and what must be at hand."""
    needed = {atom for atom in wanted if type(atom) is not Literal}
    shown = shown_again(primal, policy)
    eqns: list[JaxprEqn] = []
    again: list[JaxprEqn] = []
    kept: list[Var] = []
    for eqn in reversed(primal.eqns):
        outs = [var for var in eqn.outvars if var in needed]
        if not outs and eqn not in shown:
            eqns.append(eqn)
            continue
        divided = None if eqn in shown else _inside(eqn, needed, policy)
        if divided is not None:
            eqns.append(divided.first)
            kept.extend(reversed(divided.kept))
            again.append(divided.second)
            own = {*divided.kept}
            needed.update([atom for atom in divided.second.invars if type(atom) is not Literal and atom not in own])
            continue
        eqns.append(eqn)
        if eqn not in shown and is_kept(eqn, policy):
            kept.extend(outs)
            needed.difference_update(outs)
        else:
            again.append(eqn)
            needed.update([atom for atom in eqn.invars if type(atom) is not Literal])
    return eqns[::-1], again[::-1], kept[::-1], needed


@calls_rules("recompute", "eqn")
def _inside(eqn: JaxprEqn, needed: set[Any], policy: Any) -> Recomputation | None:
    """An equation that carries programs, divided; None for others, and where there is nothing to decide."""
    if eqn.effects or not eqn.primitive.carries_programs:
        return None
    rule = RECOMPUTE.get_rule(eqn.primitive)
    if rule is None:
        return None
    wanted = tuple([var in needed for var in eqn.outvars])
    found = rule(eqn, wanted, lambda closed, outputs: divide(judged(closed, policy), outputs, policy))
    if not isinstance(found, Recomputation | None):
        expected = "a Recomputation, or None to compute all of it again"
        raise TypeError(f"the recompute rule of {eqn.primitive.identity!r} returned {found!r}; expected {expected}")
    return found


def judged(closed: ClosedJaxpr, policy: Any) -> ClosedJaxpr:
    """A program as a policy judges it: with the steps of jitted functions in place of their calls."""
    return closed if policy is None else without_calls(closed)


def without_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with the steps of jitted functions in place of their calls."""
    if not any([eqn.primitive.identity == "jit.jit" for eqn in closed.eqns]):
        return closed
    return trace_to_closed_jaxpr(lambda *args: _eval_without_calls(closed, args), closed.in_avals, "a function")


def _eval_without_calls(closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    env: dict[Any, Any] = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(closed.jaxpr.invars, args, strict=True))
    read = lambda atom: atom if type(atom) is Literal else env[atom]
    for eqn in closed.eqns:
        values = [read(atom) for atom in eqn.invars]
        with holding(source=eqn.source_info or thread.source):  # what is kept is reported by where it was written
            if eqn.primitive.identity == "jit.jit":
                outs: Any = _eval_without_calls(eqn.params["jaxpr"], values)
            else:
                outs = eqn.primitive.bind(*values, **eqn.params)
        env.update(zip(eqn.outvars, outs if type(outs) in (tuple, list) else (outs,), strict=True))
    return [read(atom) for atom in closed.jaxpr.outvars]
