"""Conditionals and loops that use references from outside: what they write is carried along, the rest is a constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._references.cells import discharged
from tangrad._references.operands import check_distinct, values_of, written_places
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, Var
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.lax import cond_p, platform_dependent_p, scan_p, split_list, while_p

discharge = RuleSet("discharge", api=1)
_rearranged = JaxprCache()
register_cache(_rearranged.clear)

Flags = tuple[bool, ...]


def _rearrange(closed: ClosedJaxpr, inputs: Sequence[int], outputs: Sequence[int]) -> ClosedJaxpr:
    """The program that takes and returns what stands at these positions."""
    jaxpr, key = closed.jaxpr, (tuple(inputs), tuple(outputs))
    make = lambda: ClosedJaxpr(
        jaxpr.replace(invars=[jaxpr.invars[i] for i in inputs], outvars=[jaxpr.outvars[i] for i in outputs]),
        closed.consts,
    )
    return _rearranged.get(closed, key, make)  # type: ignore[no-any-return]


def _true(flags: Sequence[bool]) -> list[int]:
    return [place for place, flag in enumerate(flags) if flag]


# --- one of several programs ----------------------------------------------------------------------------------------


def _choice(primitive: Primitive, lead: int) -> None:
    @discharge.rule(primitive)
    def _(args: Any, own: Flags, *, branches: tuple[ClosedJaxpr, ...], **others: Any) -> Any:
        check_distinct(primitive.name, args, own)
        operands, mine = args[lead:], own[lead:]
        programs = tuple([discharged(branch, operands, mine) for branch in branches])
        count, places = len(branches[0].out_avals), _true(mine)
        written = sorted({place for program in programs for place in written_places(program, mine)})
        kept = [*range(count), *[count + places.index(place) for place in written]]
        chosen = tuple([_rearrange(p, range(len(mine)), kept) for p in programs])
        outs = primitive.bind(*args[:lead], *values_of(operands, mine), branches=chosen, **others)
        for place, out in zip(written, outs[count:], strict=True):
            operands[place].value = out
        return tuple(outs[:count])


_choice(cond_p, 1)
_choice(platform_dependent_p, 0)


# --- loops ----------------------------------------------------------------------------------------------------------


@discharge.rule(scan_p)
def _scan(args: Any, own: Flags, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **others: Any) -> Any:
    check_distinct("scan", args, own)
    _check_constants("scan", own, num_consts)
    program = discharged(jaxpr, args, own)
    count, values, written = len(jaxpr.out_avals), values_of(args, own), written_places(program, own)
    fixed = [place for place in range(num_consts) if place not in written]
    inputs = [*fixed, *written, *range(num_consts, len(own))]
    outs = scan_p.bind(
        *[values[place] for place in inputs],
        jaxpr=_rearrange(program, inputs, [*written.values(), *range(count)]),
        num_consts=len(fixed),
        num_carry=len(written) + num_carry,
        **others,
    )
    for place, out in zip(written, outs):
        args[place].value = out
    return tuple(outs[len(written) :])


@discharge.rule(while_p)
def _while(
    args: Any,
    own: Flags,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Any:
    """The condition may read what the body writes: what is written is carried, and both get it from there."""
    _check_constants("while_loop", own, cond_nconsts + body_nconsts)
    cond_consts, body_consts, carry = split_list(args, cond_nconsts, body_nconsts)
    cond_own, body_own, carry_own = [tuple(flags) for flags in split_list(own, cond_nconsts, body_nconsts)]
    check_distinct("while_loop: the body", body_consts, body_own)
    condition = discharged(cond_jaxpr, [*cond_consts, *carry], (*cond_own, *carry_own))
    body = discharged(body_jaxpr, [*body_consts, *carry], (*body_own, *carry_own))
    if written_places(condition, (*cond_own, *carry_own)):
        raise ValueError("while_loop: the condition writes to a reference; write to it in the body, and read it here")
    count = len(carry)
    written = written_places(body, (*body_own, *carry_own))
    carried = {id(body_consts[place]): position for position, place in enumerate(written)}
    fixed = [place for place in range(body_nconsts) if place not in written]
    inputs = [*fixed, *written, *range(body_nconsts, body_nconsts + count)]
    body = _rearrange(body, inputs, [*written.values(), *range(count)])
    condition, condition_fixed = _condition(condition, cond_consts, count, carried, body_consts, written)
    outs = while_p.bind(
        *values_of([cond_consts[p] for p in condition_fixed], [cond_own[p] for p in condition_fixed]),
        *values_of([body_consts[p] for p in fixed], [body_own[p] for p in fixed]),
        *[body_consts[place].value for place in written],
        *carry,
        cond_jaxpr=condition,
        body_jaxpr=body,
        cond_nconsts=len(condition_fixed),
        body_nconsts=len(fixed),
    )
    for place, out in zip(written, outs):
        body_consts[place].value = out
    return tuple(outs[len(written) :])


def _condition(
    condition: ClosedJaxpr, consts: Sequence[Any], count: int, carried: dict[int, int], others: Any, written: Any
) -> tuple[ClosedJaxpr, list[int]]:
    """The condition that takes its other constants, and then what is carried; which constants those are."""
    jaxpr = condition.jaxpr
    fixed = [place for place, const in enumerate(consts) if id(const) not in carried]
    own = {carried[id(const)]: jaxpr.invars[place] for place, const in enumerate(consts) if id(const) in carried}
    extra = [own.get(k) or Var(others[place].aval.inner_aval) for k, place in enumerate(written)]
    invars = [*[jaxpr.invars[place] for place in fixed], *extra, *jaxpr.invars[len(consts) : len(consts) + count]]
    key = ("condition", tuple(fixed), tuple(carried.get(id(const)) for const in consts), len(written))
    make = lambda: ClosedJaxpr(jaxpr.replace(invars=invars, outvars=jaxpr.outvars[:1]), condition.consts)
    return _rearranged.get(condition, key, make), fixed


def _check_constants(name: str, own: Flags, count: int) -> None:
    """Raise TypeError where a reference is no constant of a loop."""
    for place in _true(own):
        if place >= count:
            raise TypeError(
                f"{name}: a reference is part of what the loop carries or goes through; close over it in the body"
            )
