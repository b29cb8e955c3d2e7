"""Programs of series: what calls and loops call in place of their programs.

A program takes and gives the coefficients that there are, those of one value side by side. Which there are is said by
a pattern: for each value a tuple of truth values, for the coefficients from the first order on.
"""

from __future__ import annotations

from typing import Any

from tangrad.core import eval_jaxpr, jaxpr_as_function, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad_taylor.arithmetic import array
from tangrad_taylor.trace import run

PROGRAMS = JaxprCache()
register_cache(PROGRAMS.clear)


def pattern(series: Any) -> tuple[Any, ...]:
    """Which coefficients there are."""
    return tuple([tuple([term is not None for term in one[1:]]) for one in series])


def either(one: Any, other: Any) -> tuple[Any, ...]:
    """The coefficients that there are in one of two patterns."""
    return tuple([tuple([a or b for a, b in zip(*pair)]) for pair in zip(one, other, strict=True)])


def filled(series: Any, wanted: Any) -> list[Any]:
    """The series, with arrays of zeros where a pattern wants coefficients."""
    return [
        (one[0], *[array(x, one[0]) if has else x for x, has in zip(one[1:], flags)])
        for one, flags in zip(series, wanted, strict=True)
    ]


def flat(series: Any) -> list[Any]:
    """The coefficients that there are."""
    return [term for one in series for term in one if term is not None]


def unflat(terms: Any, flags: Any) -> list[Any]:
    """The series of a pattern that have these coefficients."""
    found = iter(terms)
    return [(next(found), *[next(found) if has else None for has in one]) for one in flags]


def taylor_jaxpr(closed: Any, given: Any, wanted: Any = None) -> tuple[Any, Any]:
    """The program of series, and the pattern of its results.

    Args:
        closed: the closed jaxpr.
        given: the pattern of its inputs.
        wanted: coefficients of results that are wanted even where they are zero.
    """
    return PROGRAMS.get(closed, (given, wanted), lambda: _taylor_jaxpr(closed, given, wanted))


def _taylor_jaxpr(closed: Any, given: Any, wanted: Any) -> tuple[Any, Any]:
    found: list[Any] = []

    def program(*terms: Any) -> Any:
        outs = run(jaxpr_as_function(closed), unflat(terms, given), len(given[0]))
        outs = outs if wanted is None else filled(outs, wanted)
        found.append(pattern(outs))
        return flat(outs)

    name = f"jet of {closed.jaxpr.debug_name or 'a program'}"
    return trace_to_closed_jaxpr(program, in_avals(closed.in_avals, given), name), found[0]


def in_avals(avals: Any, given: Any) -> list[Any]:
    """The types of coefficients of values of these types."""
    return [aval for aval, flags in zip(avals, given, strict=True) for has in (True, *flags) if has]


def only_values(closed: Any, given: Any) -> Any:
    """The program that takes series and looks at their values alone: the condition of a loop."""

    def program(*terms: Any) -> Any:
        return eval_jaxpr(closed.jaxpr, closed.consts, *[one[0] for one in unflat(terms, given)])

    make = lambda: trace_to_closed_jaxpr(program, in_avals(closed.in_avals, given), "the condition of a loop")
    return PROGRAMS.get(closed, ("values", given), make)
