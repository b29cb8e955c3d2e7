"""Effects in checkpointed programs: those for debugging take place again, to show what is; others are refused."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.checkpoint.policies import keeps
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal


def is_kept(eqn: JaxprEqn, policy: Any) -> bool:
    """Whether a policy keeps the results of an equation."""
    return policy is not None and keeps(policy(eqn.primitive, *[atom.aval for atom in eqn.invars], **eqn.params))


def shown_again(primal: Jaxpr, policy: Any) -> set[JaxprEqn]:
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
        if any([effect.incidental for effect in eqn.effects]):
            if not kept or all([type(atom) is Literal or atom in at_hand for atom in eqn.invars]):
                shown.add(eqn)
    return shown


def check_effects(closed: ClosedJaxpr) -> None:
    """Raise NotImplementedError for effects that must not take place a second time."""
    refused = [str(effect) for effect in closed.effects if not (effect.incidental or effect.droppable)]
    if refused:
        raise NotImplementedError(
            "checkpoint: the function has effects, which would take place again when its derivative computes values "
            f"again: {', '.join(sorted(refused))}. Move them out of the function; of callbacks only pure ones and "
            "those of tangrad.debug can be in it"
        )
