"""Programs between bounds: the jaxprs of calls, branches and loops, made into those of their values' bounds.

A program takes and gives one array for a value that is known exactly, and two, side by side, for one between bounds.
Which are which is said by flags, a truth value for each: whether it has bounds.
"""

from __future__ import annotations

from typing import Any

from tangrad.core import jaxpr_as_function, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache
from tangrad_intervals.transformation import run

PROGRAMS = JaxprCache()
register_cache(PROGRAMS.clear)


def flags_of(pairs: Any) -> tuple[bool, ...]:
    """Which values have bounds."""
    return tuple([low is not high for low, high in pairs])


def either(one: Any, other: Any) -> tuple[bool, ...]:
    """Those that have bounds in one of two programs."""
    return tuple([a or b for a, b in zip(one, other, strict=True)])


def flat(pairs: Any, flags: Any) -> list[Any]:
    """The arrays of values with these flags."""
    return [one for pair, wide in zip(pairs, flags, strict=True) for one in (pair if wide else pair[:1])]


def unflat(arrays: Any, flags: Any) -> list[Any]:
    """The bounds of values with these flags; the same object twice where a value is known."""
    rest, pairs = iter(arrays), []
    for wide in flags:
        low = next(rest)
        pairs.append((low, next(rest) if wide else low))
    return pairs


def bounded_jaxpr(closed: Any, given: tuple[bool, ...], wanted: tuple[bool, ...] | None = None) -> tuple[Any, Any]:
    """The program of bounds, and which of its results have them.

    Args:
        closed: the closed jaxpr.
        given: which of its operands have bounds.
        wanted: results that are to have bounds, though they are known.
    """
    return PROGRAMS.get(closed, (given, wanted), lambda: _bounded_jaxpr(closed, given, wanted))


def _bounded_jaxpr(closed: Any, given: Any, wanted: Any) -> tuple[Any, Any]:
    found: list[Any] = []

    def program(*arrays: Any) -> Any:
        pairs = run(jaxpr_as_function(closed), unflat(arrays, given))
        flags = flags_of(pairs) if wanted is None else either(flags_of(pairs), wanted)
        found.append(flags)
        return flat(pairs, flags)

    avals = [aval for aval, wide in zip(closed.in_avals, given, strict=True) for _ in range(1 + wide)]
    name = f"bounds of {closed.jaxpr.debug_name or 'a program'}"
    return trace_to_closed_jaxpr(program, avals, name), found[0]
