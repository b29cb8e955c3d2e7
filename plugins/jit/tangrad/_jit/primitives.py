"""The primitives that stand for calls inside another program: of a jitted function, of one with attributes for the
compiler, and of a repeated region; and the values that such a program closed over, as operands and as constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    PrimitiveSet,
    ShapedArray,
    Tracer,
    Var,
    as_array,
    closed_over_as_arguments,
    eval_jaxpr,
)
from tangrad.core.programs import backend_of, check_results, program_for, to_arrays
from tangrad.core.settings import is_checking_values
from tangrad.core.transformations import one_equation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import Array
    from tangrad.typing import Params, Value, Values


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


def with_operands(jaxpr: Jaxpr, consts: Sequence[Array]) -> tuple[ClosedJaxpr, list[Any]]:
    """A program whose first operands are the values of outer transformations that it closed over; and these values."""
    if not any([isinstance(const, Tracer) for const in consts]):
        return ClosedJaxpr(jaxpr, consts), []
    outer, inner = [c for c in consts if isinstance(c, Tracer)], [c for c in consts if not isinstance(c, Tracer)]
    outer_vars = [v for v, c in zip(jaxpr.constvars, consts, strict=True) if isinstance(c, Tracer)]
    inner_vars = [v for v, c in zip(jaxpr.constvars, consts, strict=True) if not isinstance(c, Tracer)]
    lifted = closed_over_as_arguments(jaxpr.replace(constvars=outer_vars)).replace(constvars=inner_vars)
    return ClosedJaxpr(lifted, inner), outer


def with_constants(closed: ClosedJaxpr, outer: Sequence[Array]) -> ClosedJaxpr:
    """The inverse of `with_operands`: all that a program closed over as constants, in the order in which it reads them.

    Packages hand the constants of one program to another of the same function, which may have others traced.
    """
    jaxpr, count = closed.jaxpr, len(outer)
    constants = dict(zip(jaxpr.invars[:count], outer, strict=True))
    constants.update(zip(jaxpr.constvars, closed.consts, strict=True))
    if count and jaxpr.constvars:
        read = [atom for atoms in (*[eqn.invars for eqn in jaxpr.eqns], jaxpr.outvars) for atom in atoms]
        order = dict.fromkeys([atom for atom in read if isinstance(atom, Var) and atom in constants])
        constants = {var: constants[var] for var in (order | constants)}
    return ClosedJaxpr(jaxpr.replace(constvars=[*constants], invars=jaxpr.invars[count:]), [*constants.values()])


jit = PrimitiveSet("jit", api=1)


@jit.primitive(
    name="jit", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=run_jaxpr, programs="call"
)
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


def _run_hinted(args: Values, params: Params) -> Values:
    """Outside of programs: as a compiled program of one equation, for the compiler to see the attributes."""
    if is_checking_values():
        return run_jaxpr(args, params)
    backend = backend_of(args)
    arrays = to_arrays(backend, args)
    jaxpr, avals = params["jaxpr"], tuple([array.aval for array in arrays])

    def alone() -> ClosedJaxpr:
        # A copy of the program: what is remembered with it must not keep it alive.
        return one_equation(hinted_p, avals, {**params, "jaxpr": ClosedJaxpr(jaxpr.jaxpr, jaxpr.consts)})

    key = avals, params["attributes"]
    program = program_for(
        jaxpr, backend, params["name"], key=key, make=alone, keep_unused=True, places=backend.places(arrays)
    )
    return tuple(program.execute(arrays))


def _inline(*args: Value, jaxpr: ClosedJaxpr, **_: object) -> Values:
    """For backends and transformations without a rule of their own: the steps."""
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))


Attributes = tuple[tuple[str, str], ...]  # pairs of a name and a text, by name


@jit.primitive(
    name="hinted", multiple_results=True, weak_type="own", own_named_shape=True, evaluate=_run_hinted, decompose=_inline
)
def hinted_p(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, name: str, attributes: Attributes, derived: Attributes
) -> tuple[ShapedArray, ...]:
    """A call of the program `jaxpr`, with attributes for the compiler; `derived` are those of its derivative."""
    return tuple(jaxpr.out_avals)


@jit.primitive(name="tagged", evaluate=lambda args, params: as_array(args[0]), decompose=lambda x, **_: x)
def tagged_p(x: ShapedArray, *, attributes: Attributes) -> ShapedArray:
    """The same value; the operation that makes it has attributes for the compiler."""
    return x


regions = PrimitiveSet("regions", api=1)


def _evaluate(args: Values, params: Params) -> tuple[Array, ...]:
    """One by one: concrete values come here where an operation is looked for that made a NaN."""
    jaxpr = params["jaxpr"]
    outs = check_results(lambda: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args), f"the region {params['name']!r}")
    return tuple([as_array(out) for out in outs])


@regions.primitive(
    name="region",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=_evaluate,
    decompose=_inline,
    programs="loop",
)
def region_p(*avals: ShapedArray, jaxpr: ClosedJaxpr, name: str) -> tuple[ShapedArray, ...]:
    """A call of the program `jaxpr`, which backends should compile once for all calls of it."""
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"region: program {name!r} takes {len(jaxpr.in_avals)} arguments, got {len(avals)}")
    return tuple(jaxpr.out_avals)
