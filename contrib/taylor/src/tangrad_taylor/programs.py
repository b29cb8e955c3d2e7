"""Programs of series: what calls and loops call in place of their programs.

A program takes and gives the coefficients that there are, those of one value side by side. Which there are is given by
a pattern: for each value a tuple of truth values, for the coefficients from the first order on.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from tangrad.core import RuleSet, eval_jaxpr, jaxpr_as_function, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.custom_rules import custom_vjp_call_p, name_p, remat_p
from tangrad.extend.jit import jit_p
from tangrad.extend.lax import cond_p, scan_p, while_p
from tangrad_taylor.arithmetic import array
from tangrad_taylor.derived import by_decomposition
from tangrad_taylor.linear import linear
from tangrad_taylor.trace import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from tangrad.core import AbstractValue, ClosedJaxpr
    from tangrad.typing import Value
    from tangrad_taylor.arithmetic import Series

    Flags: TypeAlias = tuple[bool, ...]
    Pattern: TypeAlias = tuple[Flags, ...]

PROGRAMS = JaxprCache()
register_cache(PROGRAMS.clear)


def pattern(series: Iterable[Series]) -> Pattern:
    """Which coefficients there are."""
    return tuple([tuple([term is not None for term in one[1:]]) for one in series])


def either(one: Pattern, other: Pattern) -> Pattern:
    """The coefficients that there are in one of two patterns."""
    return tuple([tuple([a or b for a, b in zip(*pair)]) for pair in zip(one, other, strict=True)])


def filled(series: Sequence[Series], wanted: Pattern) -> list[Series]:
    """The series, with arrays of zeros where a pattern wants coefficients."""
    return [
        (one[0], *[array(x, one[0]) if has else x for x, has in zip(one[1:], flags)])
        for one, flags in zip(series, wanted, strict=True)
    ]


def flat(series: Iterable[Series]) -> list[Value]:
    """The coefficients that there are."""
    return [term for one in series for term in one if term is not None]


def unflat(terms: Iterable[Value], flags: Pattern) -> list[Series]:
    """The series of a pattern that have these coefficients."""
    found = iter(terms)
    return [(next(found), *[next(found) if has else None for has in one]) for one in flags]


def taylor_jaxpr(closed: ClosedJaxpr, given: Pattern, wanted: Pattern | None = None) -> tuple[ClosedJaxpr, Pattern]:
    """The program of series, and the pattern of its results.

    Args:
        closed: the closed jaxpr.
        given: the pattern of its inputs.
        wanted: coefficients of results that are wanted even where they are zero.
    """
    return PROGRAMS.get(closed, (given, wanted), lambda: _taylor_jaxpr(closed, given, wanted))


def _taylor_jaxpr(closed: ClosedJaxpr, given: Pattern, wanted: Pattern | None) -> tuple[ClosedJaxpr, Pattern]:
    found: list[Pattern] = []

    def program(*terms: Value) -> list[Value]:
        outs = run(jaxpr_as_function(closed), unflat(terms, given), len(given[0]))
        outs = outs if wanted is None else filled(outs, wanted)
        found.append(pattern(outs))
        return flat(outs)

    name = f"jet of {closed.jaxpr.debug_name or 'a program'}"
    return trace_to_closed_jaxpr(program, in_avals(closed.in_avals, given), name), found[0]


def in_avals(avals: Iterable[AbstractValue], given: Pattern) -> list[AbstractValue]:
    """The types of coefficients of values of these types."""
    return [aval for aval, flags in zip(avals, given, strict=True) for has in (True, *flags) if has]


def only_values(closed: ClosedJaxpr, given: Pattern) -> ClosedJaxpr:
    """The program that takes series and looks at their values alone: the condition of a loop."""

    def program(*terms: Value) -> list[Value]:
        return eval_jaxpr(closed.jaxpr, closed.consts, *[one[0] for one in unflat(terms, given)])

    def make() -> ClosedJaxpr:
        return trace_to_closed_jaxpr(program, in_avals(closed.in_avals, given), "the condition of a loop")

    return PROGRAMS.get(closed, ("values", given), make)


# --- Calls, branches and loops: their programs run on series ---
# Functions with a jvp rule of their own (`custom_jvp`) need no rule here: theirs is used, by which theirs of any order
# is derived. Of those with a vjp rule alone the program is run.


jit, control_flow, checkpointing, custom_rules = (RuleSet("taylor", api=1) for _ in range(4))

custom_rules.add(custom_vjp_call_p, by_decomposition(custom_vjp_call_p))
checkpointing.add(name_p, linear(name_p))


@jit.rule(jit_p)
def _jit(series: Sequence[Series], *, jaxpr: ClosedJaxpr, name: str) -> list[Series]:
    program, found = taylor_jaxpr(jaxpr, pattern(series))
    return unflat(jit_p.bind(*flat(series), jaxpr=program, name=f"jet_{name}"), found)


@checkpointing.rule(remat_p)
def _remat(
    series: Sequence[Series], *, jaxpr: ClosedJaxpr, prevent_cse: bool | tuple[bool, ...], **params: object
) -> list[Series]:
    program, found = taylor_jaxpr(jaxpr, pattern(series))
    if not isinstance(prevent_cse, bool):
        prevent_cse = tuple([flag for one, flag in zip(series, prevent_cse) for _ in flat([one])])
    return unflat(remat_p.bind(*flat(series), jaxpr=program, prevent_cse=prevent_cse, **params), found)


@control_flow.rule(cond_p)
def _cond(series: Sequence[Series], *, branches: tuple[ClosedJaxpr, ...]) -> list[Series]:
    (index, *_), *operands = series
    given = pattern(operands)
    wanted = reduce(either, [taylor_jaxpr(branch, given)[1] for branch in branches])
    programs = tuple([taylor_jaxpr(branch, given, wanted)[0] for branch in branches])
    return unflat(cond_p.bind(index, *flat(operands), branches=programs), wanted)


def _loop(
    body: ClosedJaxpr, consts: Sequence[Series], carry: Sequence[Series], xs: Sequence[Series]
) -> tuple[ClosedJaxpr, list[Series], Pattern]:
    """The program of a body, the series of the first carry, and the pattern of the results.

    Which coefficients of the carry there are is a fixpoint: those that start as zero may not stay so.
    """
    count, order = len(carry), len((*consts, *carry, *xs)[0]) - 1
    never = ((False,) * order,) * (len(body.out_avals) - count)
    carried = pattern(carry)
    while True:
        program, found = taylor_jaxpr(body, (*pattern(consts), *carried, *pattern(xs)), (*carried, *never))
        if found[:count] == carried:
            return program, filled(carry, carried), found
        carried = found[:count]


@control_flow.rule(scan_p)
def _scan(
    series: Sequence[Series], *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int, **params: object
) -> list[Series]:
    consts, carry, xs = _split(series, num_consts, num_carry)
    program, carry, found = _loop(jaxpr, consts, carry, xs)
    parts = flat(consts), flat(carry), flat(xs)
    params |= {"jaxpr": program, "num_consts": len(parts[0]), "num_carry": len(parts[1])}
    return unflat(scan_p.bind(*[term for part in parts for term in part], **params), found)


@control_flow.rule(while_p)
def _while(
    series: Sequence[Series], *, cond_jaxpr: ClosedJaxpr, body_jaxpr: ClosedJaxpr, cond_nconsts: int, body_nconsts: int
) -> list[Series]:
    cond_consts, body_consts, carry = _split(series, cond_nconsts, body_nconsts)
    program, carry, found = _loop(body_jaxpr, body_consts, carry, ())
    constant = tuple([(False,) * (len(series[0]) - 1)] * cond_nconsts)
    consts = flat(body_consts)
    outs = while_p.bind(
        *[one[0] for one in cond_consts],
        *consts,
        *flat(carry),
        cond_jaxpr=only_values(cond_jaxpr, (*constant, *pattern(carry))),
        body_jaxpr=program,
        cond_nconsts=cond_nconsts,
        body_nconsts=len(consts),
    )
    return unflat(outs, found)


def _split(
    values: Sequence[Series], first: int, second: int
) -> tuple[Sequence[Series], Sequence[Series], Sequence[Series]]:
    return values[:first], values[first : first + second], values[first + second :]
