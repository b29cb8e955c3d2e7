"""Programs between bounds: the jaxprs of calls, branches and loops, made into those of their values' bounds.

A program takes and gives one array for a value that is known exactly, and two, side by side, for one between bounds.
Flags distinguish them, a truth value for each: whether it has bounds.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING

from tangrad import lax
from tangrad.core import RuleSet, dtypes, jaxpr_as_function, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.custom_rules import name_p, remat_p
from tangrad.extend.jit import jit_p
from tangrad.extend.lax import cond_p, platform_dependent_p, scan_p, while_p
from tangrad_intervals.elementwise import EXACT, hull, increasing, is_inexact
from tangrad_intervals.transformation import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from tangrad.core import Array, ClosedJaxpr
    from tangrad.typing import Value
    from tangrad_intervals.transformation import Pair, Pairs

    Flags: TypeAlias = tuple[bool, ...]  # which values have bounds

PROGRAMS = JaxprCache()
register_cache(PROGRAMS.clear)


def flags_of(pairs: Pairs) -> Flags:
    """Which values have bounds."""
    return tuple([low is not high for low, high in pairs])


def either(one: Flags, other: Flags) -> Flags:
    """Those that have bounds in one of two programs."""
    return tuple([a or b for a, b in zip(one, other, strict=True)])


def flat(pairs: Pairs, flags: Flags) -> list[Value]:
    """The arrays of values with these flags."""
    return [one for pair, wide in zip(pairs, flags, strict=True) for one in (pair if wide else pair[:1])]


def unflat(arrays: Iterable[Value], flags: Flags) -> list[Pair]:
    """The bounds of values with these flags; the same object twice where a value is known."""
    rest, pairs = iter(arrays), []
    for wide in flags:
        low = next(rest)
        pairs.append((low, next(rest) if wide else low))
    return pairs


def bounded_jaxpr(closed: ClosedJaxpr, given: Flags, wanted: Flags | None = None) -> tuple[ClosedJaxpr, Flags]:
    """The program of bounds, and which of its results have them.

    Args:
        closed: the closed jaxpr.
        given: which of its operands have bounds.
        wanted: results that are to have bounds, though they are known.
    """
    return PROGRAMS.get(closed, (given, wanted), lambda: _bounded_jaxpr(closed, given, wanted))


def _bounded_jaxpr(closed: ClosedJaxpr, given: Flags, wanted: Flags | None) -> tuple[ClosedJaxpr, Flags]:
    found: list[Flags] = []

    def program(*arrays: Value) -> list[Value]:
        pairs = run(jaxpr_as_function(closed), unflat(arrays, given))
        flags = flags_of(pairs) if wanted is None else either(flags_of(pairs), wanted)
        found.append(flags)
        return flat(pairs, flags)

    avals = [aval for aval, wide in zip(closed.in_avals, given, strict=True) for _ in range(1 + wide)]
    name = f"bounds of {closed.jaxpr.debug_name or 'a program'}"
    return trace_to_closed_jaxpr(program, avals, name), found[0]


# --- Calls, branches and loops ---
# A loop's bounds are those of its steps, one after the other: sound, and wider with every step unless the steps draw
# values together.


jit, control_flow, checkpointing = (RuleSet("bounds", api=1) for _ in range(3))
checkpointing.add(name_p, increasing(name_p, EXACT))


@jit.rule(jit_p)
def _jit(pairs: Pairs, *, jaxpr: ClosedJaxpr, name: str) -> Pairs:
    given = flags_of(pairs)
    program, found = bounded_jaxpr(jaxpr, given)
    return unflat(jit_p.bind(*flat(pairs, given), jaxpr=program, name=f"bounds_{name}"), found)


@checkpointing.rule(remat_p)
def _remat(pairs: Pairs, *, jaxpr: ClosedJaxpr, prevent_cse: bool | tuple[bool, ...], **params: object) -> Pairs:
    given = flags_of(pairs)
    program, found = bounded_jaxpr(jaxpr, given)
    if not isinstance(prevent_cse, bool):
        prevent_cse = tuple([flag for flag, wide in zip(prevent_cse, given, strict=True) for _ in range(1 + wide)])
    return unflat(remat_p.bind(*flat(pairs, given), jaxpr=program, prevent_cse=prevent_cse, **params), found)


# --- branches ---------------------------------------------------------------------------------------------------------


def _alike(branches: Sequence[ClosedJaxpr], given: Flags) -> tuple[tuple[ClosedJaxpr, ...], Flags]:
    """The programs of branches, of which the same results have bounds, and which."""
    wanted = reduce(either, [bounded_jaxpr(branch, given)[1] for branch in branches])
    return tuple([bounded_jaxpr(branch, given, wanted)[0] for branch in branches]), wanted


@control_flow.rule(cond_p)
def _cond(pairs: Pairs, *, branches: tuple[ClosedJaxpr, ...]) -> Pairs:
    (first, last), *operands = pairs
    given = flags_of(operands)
    programs, wanted = _alike(branches, given)
    arrays = flat(operands, given)
    if first is last:
        return unflat(cond_p.bind(first, *arrays, branches=programs), wanted)
    wide = (True,) * len(wanted)
    results = []
    for number, branch in enumerate(branches):
        program, _ = bounded_jaxpr(branch, given, wide)
        outs = unflat(jit_p.bind(*arrays, jaxpr=program, name="branch"), wide)
        taken = (first <= number) & (last >= number)
        if number == len(branches) - 1:  # any other index means the last one, too
            taken = (last >= number) | (first < 0)
        results.append([_where(taken, pair) for pair in outs])
    return [(hull(lows)[0], hull(highs)[1]) for lows, highs in (zip(*each) for each in zip(*results, strict=True))]


def _where(taken: Array, pair: Pair) -> Pair:
    """The bounds of what a branch gives, empty ones if it is not taken."""
    low, high = pair
    least, most = _limits(low)
    chosen = lax.broadcast_in_dim(taken, low.shape, ())
    return lax.select(chosen, low, lax.full_like(low, most)), lax.select(chosen, high, lax.full_like(high, least))


def _limits(like: Value) -> tuple[float, float]:
    """The least and the greatest value of a dtype."""
    if is_inexact(like):
        return -math.inf, math.inf
    if like.dtype == bool:
        return False, True
    limits = dtypes.iinfo(like.dtype)
    return limits.min, limits.max


@control_flow.rule(platform_dependent_p)
def _platform_dependent(pairs: Pairs, *, branches: tuple[ClosedJaxpr, ...], platforms: object) -> Pairs:
    given = flags_of(pairs)
    programs, wanted = _alike(branches, given)
    outs = platform_dependent_p.bind(*flat(pairs, given), branches=programs, platforms=platforms)
    return unflat(outs, wanted)


# --- loops ------------------------------------------------------------------------------------------------------------


def _loop(body: ClosedJaxpr, consts: Pairs, carry: Pairs, xs: Pairs) -> tuple[ClosedJaxpr, Flags, Flags]:
    """The program of a body, which parts of the carry have bounds, and which of all results.

    What has bounds after a step has them before the next one: the least set that this leaves alone.
    """
    carried = flags_of(carry)
    rest = (False,) * (len(body.out_avals) - len(carry))
    while True:
        given = (*flags_of(consts), *carried, *flags_of(xs))
        program, found = bounded_jaxpr(body, given, (*carried, *rest))
        if found[: len(carry)] == carried:
            return program, carried, found
        carried = found[: len(carry)]


@control_flow.rule(scan_p)
def _scan(pairs: Pairs, *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: object) -> Pairs:
    consts, carry, xs = pairs[:num_consts], pairs[num_consts : num_consts + num_carry], pairs[num_consts + num_carry :]
    program, carried, found = _loop(jaxpr, consts, carry, xs)
    parts = flat(consts, flags_of(consts)), flat(carry, carried), flat(xs, flags_of(xs))
    params |= {"jaxpr": program, "num_consts": len(parts[0]), "num_carry": len(parts[1])}
    return unflat(scan_p.bind(*[one for part in parts for one in part], **params), found)


@control_flow.rule(while_p)
def _while(
    pairs: Pairs, *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> Pairs:
    both = cond_nconsts + body_nconsts
    questions, consts, carry = pairs[:cond_nconsts], pairs[cond_nconsts:both], pairs[both:]
    program, carried, found = _loop(body_jaxpr, consts, carry, ())
    condition, (open_,) = bounded_jaxpr(cond_jaxpr, (*flags_of(questions), *carried))
    if open_:
        raise NotImplementedError("bounds: a while loop whose number of steps is not known exactly")
    parts = flat(questions, flags_of(questions)), flat(consts, flags_of(consts)), flat(carry, carried)
    outs = while_p.bind(
        *[one for part in parts for one in part],
        cond_jaxpr=condition,
        body_jaxpr=program,
        cond_nconsts=len(parts[0]),
        body_nconsts=len(parts[1]),
    )
    return unflat(outs, found)
