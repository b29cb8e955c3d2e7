"""The primitive that stands for a call of a jitted function inside another program."""

from __future__ import annotations

from typing import Any

from tangrad.core import PrimitiveSet
from tangrad.jitting.programs import run_jaxpr

jit = PrimitiveSet("jit", api=1)


@jit.primitive(name="jit", multiple_results=True, weak_type="own", evaluate=run_jaxpr)
def jit_p(*avals: Any, jaxpr: Any, name: str) -> Any:
    """A call of the program `jaxpr`."""
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"jit: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    for position, (given, expected) in enumerate(zip(avals, jaxpr.in_avals, strict=True)):
        if given.shape != expected.shape or given.dtype != expected.dtype:
            raise TypeError(
                f"jit: argument {position} of program {name!r} is {expected.str_short()}, got {given.str_short()}"
            )
    return tuple(jaxpr.out_avals)
