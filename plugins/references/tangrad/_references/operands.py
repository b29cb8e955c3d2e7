"""Operands of programs that are references, and the results that are the values behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import ClosedJaxpr, Literal

if TYPE_CHECKING:
    from tangrad.typing import Values


def values_of(args: Sequence[Any], own: Sequence[bool]) -> list[Any]:
    """The operands with values in place of references."""
    return [arg.value if is_own else arg for arg, is_own in zip(args, own, strict=True)]


def check_distinct(name: str, args: Sequence[Any], own: Sequence[bool]) -> None:
    """Raise ValueError where one reference is two operands of a program, which would see two values of it."""
    places: dict[int, int] = {}
    for place, (arg, is_own) in enumerate(zip(args, own, strict=True)):
        if is_own and places.setdefault(id(arg), place) != place:
            raise ValueError(
                f"{name}: one reference, of type {arg.aval.str_short()}, is operand {places[id(arg)]} and operand "
                f"{place} (what a function closes over counts first): pass it once, and use that argument alone"
            )


def written_places(program: ClosedJaxpr, own: Sequence[bool]) -> dict[int, int]:
    """Where the references stand that a discharged program writes, each with the position of its last value."""
    jaxpr, places = program.jaxpr, [place for place, is_own in enumerate(own) if is_own]
    first = len(jaxpr.outvars) - len(places)
    return {
        place: position
        for position, place in enumerate(places, first)
        if jaxpr.outvars[position] is not jaxpr.invars[place]  # what is not written comes out as it came in
    }


def keep_values(
    args: Sequence[Any], own: Sequence[bool], program: ClosedJaxpr, outs: Sequence[Any], is_new: bool = False
) -> Values:
    """The results proper, where `outs` are those of a discharged program; what it wrote is in the references now.

    `is_new`: whether a result that is no argument, and no other result, is in memory of its own.
    """
    jaxpr = program.jaxpr
    for place, position in written_places(program, own).items():
        var, reference = jaxpr.outvars[position], args[place]
        reference.value = outs[position]
        reference.alone = (
            is_new and type(var) is not Literal and var not in jaxpr.invars and jaxpr.outvars.count(var) == 1
        )
    return tuple(outs[: len(outs) - sum(own)])
