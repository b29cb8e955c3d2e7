"""Dead code in conditionals and loops: unused results, and, in loops, carries that only feed themselves."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, split_list, while_p
from tangrad._lax.control_flow.programs import kept
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)

Used = tuple[bool, ...]


def thin(closed: ClosedJaxpr, used_outputs: Used, keep: Used) -> tuple[ClosedJaxpr, list[bool]]:
    """The program without some outputs and what only they need; inputs in `keep` stay. And which inputs it has."""
    return _thinned.get(closed, (used_outputs, keep), lambda: _thin(closed, used_outputs, keep))


def _thin(closed: ClosedJaxpr, used_outputs: Used, keep: Used) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used_outputs, keep)
    same = all(used_outputs) and all(used_inputs) and len(jaxpr.eqns) == len(closed.eqns)
    if same and all([new is old for new, old in zip(jaxpr.eqns, closed.eqns)]):
        return closed, used_inputs  # the same object: what was made of it stays good
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs


def _rebuilt(
    equation: JaxprEqn, used_inputs: Sequence[bool], used_outputs: Sequence[bool], **params: object
) -> tuple[list[bool], JaxprEqn]:
    new = equation.replace(
        invars=kept(equation.invars, used_inputs),
        outvars=kept(equation.outvars, used_outputs),
        params={**equation.params, **params},
    )
    return list(used_inputs), new


def _nothing_needed(used_outputs: Sequence[bool], equation: JaxprEqn) -> bool:
    return not any(used_outputs) and not keeps_alive(equation.effects)


@dce.rule(*CHOICES)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if _nothing_needed(used_outputs, equation):
        return [False] * len(equation.invars), None
    used, branches = tuple(used_outputs), equation.params["branches"]
    lead = CHOICES[equation.primitive]
    count = len(equation.invars) - lead
    needed = [thin(branch, used, (False,) * count)[1] for branch in branches]
    every = tuple([any(flags) for flags in zip(*needed)])
    thinned = tuple([thin(branch, used, every)[0] for branch in branches])
    return _rebuilt(equation, (*[True] * lead, *every), used, branches=thinned)


@dce.rule(scan_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if _nothing_needed(used_outputs, equation):
        return [False] * len(equation.invars), None
    params = equation.params
    body, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    used_carry, used_ys = tuple(used_outputs[:num_carry]), tuple(used_outputs[num_carry:])
    no_xs = (False,) * (len(equation.invars) - num_consts - num_carry)
    while True:
        thinned, used = thin(body, (*used_carry, *used_ys), (*(False,) * num_consts, *used_carry, *no_xs))
        read = tuple(used[num_consts : num_consts + num_carry])
        if read == used_carry:
            break
        used_carry = read
    return _rebuilt(
        equation,
        used,
        (*used_carry, *used_ys),
        jaxpr=thinned,
        num_consts=sum(used[:num_consts]),
        num_carry=sum(used_carry),
    )


@dce.rule(while_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if _nothing_needed(used_outputs, equation):
        return [False] * len(equation.invars), None
    params = equation.params
    cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    used_carry = tuple(used_outputs)
    nothing = (False,) * len(used_carry)
    _, in_condition = thin(condition, (True,), ((False,) * cond_count + nothing))
    used_carry = _either(used_carry, in_condition[cond_count:])
    while True:
        new_body, in_body = thin(body, used_carry, (*(False,) * body_count, *used_carry))
        read = tuple(in_body[body_count:])
        if read == used_carry:
            break
        used_carry = read
    new_condition, in_condition = thin(condition, (True,), (*(False,) * cond_count, *used_carry))
    cond_consts, _ = split_list(in_condition, cond_count)
    body_consts, _ = split_list(in_body, body_count)
    return _rebuilt(
        equation,
        (*cond_consts, *body_consts, *used_carry),
        used_carry,
        cond_jaxpr=new_condition,
        body_jaxpr=new_body,
        cond_nconsts=sum(cond_consts),
        body_nconsts=sum(body_consts),
    )


def _either(one: Sequence[bool], other: Sequence[bool]) -> Used:
    return tuple([a or b for a, b in zip(one, other, strict=True)])
