"""A program in two halves: what a policy keeps, and what is computed again, operation by operation, in loops too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.checkpoint.policies import keeps
from tangrad._custom_rules.checkpoint.primitives import Barrier, barrier_of
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    RuleKind,
    Var,
    calls_rules,
    dce_jaxpr,
    eval_jaxpr,
    holding,
    rule_table,
    thread,
    trace_to_closed_jaxpr,
)

if TYPE_CHECKING:
    from tangrad._custom_rules.checkpoint.policies import Policy
    from tangrad.core import Array
    from tangrad.typing import Atom, Value


recompute = RuleKind(
    "recompute",
    api=1,
    signature="(equation, wanted, divide) -> Recomputation(first, kept, second)",
    doc="divides an equation that carries programs into what a checkpoint policy keeps and what is computed again",
    optional=True,
)


def takes_place_once(eqn: JaxprEqn) -> bool:
    """Whether an equation has effects that do not take place again, so that its results are kept."""
    return any(map(_once, eqn.effects))


def _once(effect: object) -> bool:
    return getattr(effect, "kept", False)


def is_kept(eqn: JaxprEqn, policy: Policy | None) -> bool:
    """Whether a policy keeps the results of an equation, or it has effects that must not take place again."""
    if takes_place_once(eqn):
        return True
    return policy is not None and keeps(policy(eqn.primitive, *[atom.aval for atom in eqn.invars], **eqn.params))


def shown_again(primal: Jaxpr, policy: Policy | None) -> set[JaxprEqn]:
    """The equations for debugging that take place again, to show what is computed again.

    They must not change what is: one that the policy would keep is shown only values that are at hand anyway.
    """
    shown: set[JaxprEqn] = set()
    if not any([effect.incidental for effect in primal.effects]):
        return shown
    at_hand = {*primal.constvars, *primal.invars}
    for eqn in primal.eqns:
        kept = is_kept(eqn, policy)
        if not kept:
            at_hand.update(eqn.outvars)
        if any([effect.incidental for effect in eqn.effects]) and not takes_place_once(eqn):
            if not kept or all([type(atom) is Literal or atom in at_hand for atom in eqn.invars]):
                shown.add(eqn)
    return shown


def check_effects(closed: ClosedJaxpr) -> None:
    """Raise NotImplementedError for effects that must not take place a second time."""
    refused = [str(effect) for effect in closed.effects if not (effect.incidental or effect.droppable or _once(effect))]
    if refused:
        raise NotImplementedError(
            "checkpoint: the function has effects, which would take place again when its derivative computes values "
            f"again: {', '.join(sorted(refused))}. Move them out of the function; of callbacks only pure ones and "
            "those of tangrad.debug can be in it"
        )


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


def divide(closed: ClosedJaxpr, wanted: Sequence[bool], policy: Policy | None) -> Division:
    """Divide a program, of which some outputs are wanted a second time."""
    jaxpr = closed.jaxpr
    atoms = [out for out, is_wanted in zip(jaxpr.outvars, wanted, strict=True) if is_wanted]
    eqns, again, kept, needed = _divide(jaxpr, atoms, policy)
    first = jaxpr.replace(eqns=eqns, outvars=[*jaxpr.outvars, *kept])
    second = jaxpr.replace(invars=[*jaxpr.invars, *kept], outvars=atoms, eqns=again)
    used = tuple([var in needed for var in jaxpr.invars])
    return Division(ClosedJaxpr(first, closed.consts), ClosedJaxpr(second, closed.consts), used, len(kept))


def _divide(
    primal: Jaxpr, wanted: Sequence[Atom], policy: Policy | None
) -> tuple[list[JaxprEqn], list[JaxprEqn], list[Var], set[Var]]:
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
def _inside(eqn: JaxprEqn, needed: set[Var], policy: Policy | None) -> Recomputation | None:
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


def judged(closed: ClosedJaxpr, policy: Policy | None) -> ClosedJaxpr:
    """A program as a policy judges it: with the steps of jitted functions in place of their calls.

    So is one with steps that do not take place again: of a call, all results would be kept.
    """
    return closed if policy is None and not any(map(_once, closed.effects)) else without_calls(closed)


def without_calls(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The program with the steps of jitted functions in place of their calls."""
    if not any([eqn.primitive.identity == "jit.jit" for eqn in closed.eqns]):
        return closed
    return trace_to_closed_jaxpr(lambda *args: _eval_without_calls(closed, args), closed.in_avals, "a function")


def _eval_without_calls(closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    env: dict[Var, Value] = dict(zip(closed.jaxpr.constvars, closed.consts, strict=True))
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
        policy: Policy | None,
        prevent_cse: Barrier,
    ) -> None:
        """Args: `first`: `inputs -> (count outputs, own residuals)`; `second`: `(residuals, its inputs) -> outputs`;
        `sources`: for each residual the input that it is, or None for one of `first`'s own.
        """
        check_effects(first)
        jaxpr = first.jaxpr
        own = iter(jaxpr.outvars[count:])
        wanted = [next(own) if source is None else jaxpr.invars[source] for source in sources]
        outputs = jaxpr.outvars[:count]
        program = ClosedJaxpr(jaxpr.replace(outvars=[*outputs, *wanted]), first.consts)
        divided = divide(program, [*[False] * count, *[True] * len(wanted)], policy)
        self.kept = divided.kept
        self.inputs = [position for position, is_used in enumerate(divided.used) if is_used]
        given = divided.first.jaxpr
        everything = given.replace(outvars=[*given.outvars[:count], *given.outvars[len(given.outvars) - self.kept :]])
        self.first = ClosedJaxpr(dce_jaxpr(everything, [True] * len(everything.outvars), True)[0], first.consts)
        again = divided.second.jaxpr
        positions = [*self.inputs, *range(len(jaxpr.invars), len(again.invars))]
        recompute = ClosedJaxpr(again.replace(invars=[again.invars[p] for p in positions]), first.consts)
        self.second = _joined(recompute, second)
        self.barrier = barrier_of(prevent_cse, self.inputs, len(self.second.in_avals) - len(self.inputs))

    def residuals(self, inputs: Sequence[Value], outs: Any) -> list[Value]:
        """What `second` takes of the first half, of the inputs of `first` and what it gave."""
        return [inputs[position] for position in self.inputs] + list(outs[len(outs) - self.kept :])


def _joined(recompute: ClosedJaxpr, second: ClosedJaxpr) -> ClosedJaxpr:
    """A program that computes residuals and then, with them, what `second` does."""
    count = len(recompute.in_avals)
    others = second.in_avals[len(recompute.out_avals) :]

    def run(*args: Array) -> list[Value]:
        residuals = eval_jaxpr(recompute.jaxpr, recompute.consts, *args[:count])
        return eval_jaxpr(second.jaxpr, second.consts, *residuals, *args[count:])

    return trace_to_closed_jaxpr(run, [*recompute.in_avals, *others], "the second half of a checkpointed program")
