"""The primitives that stand for calls inside another program: of a jitted function, and of a repeated region."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import ClosedJaxpr, PrimitiveSet, ShapedArray, as_array, eval_jaxpr
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


regions = PrimitiveSet("regions", api=1)


def _evaluate(args: Values, params: Params) -> tuple[Any, ...]:
    """One by one: concrete values come here where an operation is looked for that made a NaN."""
    jaxpr = params["jaxpr"]
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), f"the region {params['name']!r}")
    return tuple([as_array(out) for out in outs])


def _inline(*args: Any, jaxpr: ClosedJaxpr, name: str) -> tuple[Any, ...]:
    """For backends and transformations without a rule of their own: the steps."""
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


@regions.primitive(
    name="region", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=_evaluate, decompose=_inline
)
def region_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, name: str) -> tuple[ShapedArray, ...]:
    """A call of the program `jaxpr`, which backends should compile once for all calls of it."""
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"region: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    return tuple(jaxpr.out_avals)
