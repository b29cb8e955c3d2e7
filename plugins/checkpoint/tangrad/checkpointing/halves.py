"""A program in two halves, of which the second computes once more what it needs of the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.checkpointing.effects import check_effects, is_kept, shown_again
from tangrad.checkpointing.primitives import Barrier, barrier_of
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    dce_jaxpr,
    eval_jaxpr,
    thread,
    trace_to_closed_jaxpr,
)


class Halves:
    """The halves of a program, under a policy.

    Attributes:
        first: closed jaxpr `inputs -> (outputs, kept values)`.
        second: closed jaxpr `(some inputs, kept values, its own inputs) -> its outputs`.
        inputs: positions of the inputs that `second` takes.
        kept: how many values are kept.
        barrier: the parameter `prevent_cse` for a call of `second`.
    """

    __slots__ = ("barrier", "first", "inputs", "kept", "second")

    def __init__(
        self,
        first: ClosedJaxpr,
        count: int,
        sources: Sequence[int | None],
        second: ClosedJaxpr,
        policy: Any,
        prevent_cse: Barrier,
    ) -> None:
        """Args: `first`: `inputs -> (count outputs, own residuals)`; `second`: `(residuals, its inputs) -> outputs`;
        `sources`: for each residual the input that it is, or None for one of `first`'s own.
        """
        check_effects(first)
        jaxpr = first.jaxpr
        own = iter(jaxpr.outvars[count:])
        wanted = [next(own) if source is None else jaxpr.invars[source] for source in sources]
        again, kept, needed = _divide(jaxpr, wanted, policy)
        self.kept = len(kept)
        self.inputs = [position for position, var in enumerate(jaxpr.invars) if var in needed]
        everything = jaxpr.replace(outvars=[*jaxpr.outvars[:count], *kept])
        self.first = ClosedJaxpr(dce_jaxpr(everything, [True] * len(everything.outvars), True)[0], first.consts)
        given = [*[jaxpr.invars[position] for position in self.inputs], *kept]
        recompute = ClosedJaxpr(jaxpr.replace(invars=given, outvars=wanted, eqns=again), first.consts)
        self.second = _joined(recompute, second)
        self.barrier = barrier_of(prevent_cse, self.inputs, len(self.second.in_avals) - len(self.inputs))

    def residuals(self, inputs: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        """What `second` takes of the first half, of the inputs of `first` and what it gave."""
        return [inputs[position] for position in self.inputs] + list(outs[len(outs) - self.kept :])


def _divide(primal: Jaxpr, wanted: Sequence[Any], policy: Any) -> tuple[list[JaxprEqn], list[Var], set[Any]]:
    """The equations to be computed again for the values wanted, the variables kept, and all that must be at hand."""
    needed = {atom for atom in wanted if type(atom) is not Literal}
    shown = shown_again(primal, policy)
    again, kept = [], []
    for eqn in reversed(primal.eqns):
        outs = [var for var in eqn.outvars if var in needed]
        if not outs and eqn not in shown:
            continue
        if eqn not in shown and is_kept(eqn, policy):
            kept.extend(outs)
            needed.difference_update(outs)
        else:
            again.append(eqn)
            needed.update([atom for atom in eqn.invars if type(atom) is not Literal])
    return again[::-1], kept[::-1], needed


def _joined(recompute: ClosedJaxpr, second: ClosedJaxpr) -> ClosedJaxpr:
    """A program that computes residuals and then, with them, what `second` does."""
    count = len(recompute.in_avals)
    others = second.in_avals[len(recompute.out_avals) :]

    def run(*args: Any) -> list[Any]:
        residuals = eval_jaxpr(recompute.jaxpr, recompute.consts, *args[:count])
        return eval_jaxpr(second.jaxpr, second.consts, *residuals, *args[count:])

    return trace_to_closed_jaxpr(run, [*recompute.in_avals, *others], "the second half of a checkpointed program")


def without_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with the steps of jitted functions in place of their calls: policies judge single operations."""
    if not any([eqn.primitive.identity == "jit.jit" for eqn in closed.eqns]):
        return closed
    return trace_to_closed_jaxpr(lambda *args: _eval_without_calls(closed, args), closed.in_avals, "a function")


def _eval_without_calls(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    env: dict[Any, Any] = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(closed.jaxpr.invars, args, strict=True))
    read = lambda atom: atom if type(atom) is Literal else env[atom]
    outer = thread.source
    try:
        for eqn in closed.eqns:
            thread.source = eqn.source_info or outer  # what is kept is told by where it was written
            values = [read(atom) for atom in eqn.invars]
            if eqn.primitive.identity == "jit.jit":
                outs: Any = _eval_without_calls(eqn.params["jaxpr"], values)
            else:
                outs = eqn.primitive.bind(*values, **eqn.params)
            env.update(zip(eqn.outvars, outs if type(outs) in (tuple, list) else (outs,), strict=True))
    finally:
        thread.source = outer
    return [read(atom) for atom in closed.jaxpr.outvars]
