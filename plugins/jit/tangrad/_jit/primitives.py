"""The primitive that stands for a call of a jitted function inside another program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray, eval_jaxpr
from tangrad.core.programs import backend_of, check_results, program_for, to_arrays
from tangrad.core.settings import is_checking_values

if TYPE_CHECKING:
    from tangrad.typing import Params, Values


def run_jaxpr(args: Values, params: Params) -> Values:
    """Run the program of a `jit` equation on concrete arrays."""
    backend = backend_of(args)
    arrays = to_arrays(backend, args)
    if is_checking_values():  # one by one, so that the error names the operation
        run = lambda: eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *arrays)
        return tuple(check_results(run, f"the compiled function {params['name']!r}"))
    places = backend.places(arrays)
    program = program_for(params["jaxpr"], backend, params["name"], backend.placement(arrays), places=places)
    return tuple(program.execute(arrays))


jit = PrimitiveSet("jit", api=1)


@jit.primitive(name="jit", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=run_jaxpr)
def jit_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, name: str) -> tuple[ShapedArray, ...]:
    """A call of the program `jaxpr`."""
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"jit: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    for position, (given, expected) in enumerate(zip(avals, jaxpr.in_avals, strict=True)):
        if given.shape != expected.shape or given.dtype != expected.dtype:
            raise TypeError(
                f"jit: argument {position} of program {name!r} is {expected.str_short()}, got {given.str_short()}"
            )
    return tuple(jaxpr.out_avals)
