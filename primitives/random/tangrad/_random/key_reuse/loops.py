"""What loops and branches do with random keys: a body that is run again must not use a key again."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._random.key_reuse.programs import of_call, use_of_program
from tangrad._random.key_reuse.uses import KeyUse
from tangrad.core import ClosedJaxpr
from tangrad.errors import KeyReuseError


def of_branches(avals: Any, *, branches: tuple[ClosedJaxpr, ...], **_: object) -> KeyUse:
    """What some branch uses is used; what all of them make, or hand on, is new, or handed on."""
    uses = [of_call(avals, branch, first=1) for branch in branches]
    consumed: dict[int, Any] = {}
    for use in uses:
        for position, which in use.consumes.items():
            before = consumed.get(position, False)
            consumed[position] = True if which is True or before is True else np.logical_or(before, which)
    fresh = set.intersection(*[{*use.fresh, *use.some} for use in uses]) - {*_common_choices(uses)}
    moved = {
        result: one
        for result, one in uses[0].moved.items()
        if all([_agree(one, use.moved.get(result)) for use in uses[1:]])
    }
    return KeyUse(consumed, tuple(sorted(fresh)), moved, _common_choices(uses))


def _common_choices(uses: list[KeyUse]) -> dict[int, int]:
    """The results that are keys of one operand in all branches, new in none."""
    first, *others = [use.some.items() for use in uses]
    return dict(set(first).intersection(*others))


def _agree(one: tuple[int, Any], other: tuple[int, Any] | None) -> bool:
    return other is not None and one[0] == other[0] and np.array_equal(one[1], other[1])


def of_scan(avals: Any, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, length: Any, **_: object) -> KeyUse:
    """A scan uses the keys that its body uses, once for each element."""
    use = use_of_program(jaxpr)
    if not (type(length) is int and length < 2):
        _check_body("scan", use, range(num_consts), {num_consts + at: at for at in range(num_carry)})
    first = num_consts + num_carry
    consumed = {at: which if at < first else True for at, which in use.consumes.items() if at < len(avals)}
    moved = {result: one for result, one in use.moved.items() if result < num_carry and one[0] < first}
    return KeyUse(consumed, (*use.fresh, *use.some), moved)


def of_while(
    avals: Any,
    *,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
    **_: object,
) -> KeyUse:
    """A loop uses the keys that its condition and its body use, once for each time."""
    condition, body = use_of_program(cond_jaxpr), use_of_program(body_jaxpr)
    before = cond_nconsts + body_nconsts
    carried = range(len(avals) - before)
    _check_body("while_loop", condition, range(cond_nconsts), {})
    _check_body("while_loop", body, range(body_nconsts), {body_nconsts + at: at for at in carried})
    for at in carried:
        if cond_nconsts + at in condition.consumes and body_nconsts + at not in body.consumes and at not in body.fresh:
            raise _reused("while_loop", f"its condition uses the key that is carried at {at}, each time it is asked")
        if cond_nconsts + at in condition.consumes and body_nconsts + at in body.consumes:
            raise _reused("while_loop", f"its condition and its body both use the key that is carried at {at}")
    consumed = {before + at - body_nconsts: which for at, which in body.consumes.items() if at >= body_nconsts}
    consumed |= {before + at - cond_nconsts: which for at, which in condition.consumes.items() if at >= cond_nconsts}
    moved = {
        result: (operand - body_nconsts + before, places)
        for result, (operand, places) in body.moved.items()
        if operand >= body_nconsts
    }
    return KeyUse(consumed, (*body.fresh, *body.some), moved)


def _check_body(loop: str, use: KeyUse, consts: range, carried: dict[int, int]) -> None:
    """Raise KeyReuseError for a body that uses keys which it is given again the next time."""
    for at in consts:
        if at in use.consumes:
            raise _reused(loop, "what it repeats uses a key from outside of it each time")
    for operand, result in carried.items():
        if operand in use.consumes and result not in use.fresh and result not in use.some:
            raise _reused(
                loop, f"what it repeats uses the key that is carried at {result}, and returns no new one there"
            )


def _reused(loop: str, what: str) -> KeyReuseError:
    return KeyReuseError(
        f"{loop} uses a random key more than once: {what}. Carry a key, and split it each time: key, subkey = "
        "random.split(key); or loop over keys, random.split(key, length)"
    )
