"""Tracing and lowering: `make_jaxpr` of a chain and of a transformer block, plain and under transformations; StableHLO.

Every call gets a function that was never traced before, so no cache can answer.
"""

from collections.abc import Callable
from typing import Any

from ..measure import Case
from ..sides import Side
from . import models

CHAIN_STEPS = 100
Program = Callable[..., Any]


def chain_of_lax(api: Any) -> tuple[Program, tuple[Any, ...]]:
    """300 equations through `lax`: what the kernel alone costs."""
    sin, multiply, add = api.lax.sin, api.lax.mul, api.lax.add

    def chain(x: Any) -> Any:
        for _ in range(CHAIN_STEPS):
            x = add(multiply(sin(x), x), x)
        return x

    return chain, (api.numpy.ones(8, "float32"),)


def chain_of_numpy(api: Any) -> tuple[Program, tuple[Any, ...]]:
    """300 equations through `numpy` functions, operators and a Python scalar: what users write."""
    np = api.numpy

    def chain(x: Any) -> Any:
        for _ in range(CHAIN_STEPS):
            x = np.sin(x) * x + 1.0
        return x

    return chain, (api.numpy.ones(8, "float32"),)


def transformer_block(api: Any) -> tuple[Program, tuple[Any, ...]]:
    """A transformer block of width 32, as a function of its input (closed over its parameters)."""
    parameters = models.to_api(api, models.transformer_parameters(32, 4, 64))
    inputs = api.numpy.asarray(models.draws(1).normal(size=(2, 16, 32)).astype("float32"))
    return (lambda x: models.transformer_block(api, parameters, x)), (inputs,)


def plain(api: Any, program: Program) -> Program:
    """The program itself, as a new function."""
    return lambda x: program(x)


def under_grad(api: Any, program: Program) -> Program:
    """The gradient of the sum of the program's output."""
    return api.grad(lambda x: api.numpy.sum(program(x)))


def under_vmap(api: Any, program: Program) -> Program:
    """The program over a new leading axis."""
    return api.vmap(lambda x: program(x))


def under_jvp_of_jvp(api: Any, program: Program) -> Program:
    """The second directional derivative."""

    def first(x: Any) -> Any:
        return api.jvp(program, (x,), (x,))[1]

    return lambda x: api.jvp(first, (x,), (x,))[1]


PROGRAM_MAKERS = {
    "chain of lax": chain_of_lax,
    "chain of numpy": chain_of_numpy,
    "transformer block": transformer_block,
}
TRANSFORMS = {
    "": plain,
    " under grad": under_grad,
    " under vmap": under_vmap,
    " under jvp of jvp": under_jvp_of_jvp,
}


def count_equations(jaxpr: Any) -> int:
    """Equations of a jaxpr and of those inside its parameters; what only wraps a jaxpr is not counted itself."""
    total = 0
    for equation in jaxpr.eqns:
        inner = [value for value in equation.params.values() if hasattr(value, "eqns")]
        total += sum(count_equations(value) for value in inner) or 1
    return total


def tracing_case(maker: Program, transform: Program, side: Side) -> Case:
    """`make_jaxpr` of a fresh function each time."""
    api = side.api()
    program, arguments = maker(api)
    if transform is under_vmap:
        arguments = tuple(api.numpy.stack([argument] * 3) for argument in arguments)

    def trace(function: Program) -> Any:
        return api.make_jaxpr(function)(*arguments)

    def fresh() -> Program:
        return transform(api, program)

    return Case(trace, fresh=fresh, equations=lambda: count_equations(trace(fresh())))


def lowering_case(maker: Program, side: Side) -> Case:
    """`jit(fresh function).lower(...)` with the StableHLO module made."""
    api = side.api()
    program, arguments = maker(api)
    return Case(lambda function: api.jit(function).lower(*arguments).compiler_ir(), fresh=lambda: plain(api, program))


PROGRAMS = {
    f"trace: {name}{under}": lambda side, maker=maker, transform=transform: tracing_case(maker, transform, side)
    for name, maker in PROGRAM_MAKERS.items()
    for under, transform in TRANSFORMS.items()
}
PROGRAMS.update(
    {
        f"trace + StableHLO: {name}": lambda side, maker=maker: lowering_case(maker, side)
        for name, maker in PROGRAM_MAKERS.items()
        if name != "chain of lax"
    }
)
