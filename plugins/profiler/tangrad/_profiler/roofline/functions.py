"""`roofline` and `roofline_and_grad`: what a function costs, for arguments of certain types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tangrad
from tangrad import tree
from tangrad._profiler.roofline.counting import RooflineRuleContext, cost_of
from tangrad._profiler.roofline.results import RooflineResult
from tangrad.core import Primitive, RuleSet, copy_identity, dce_jaxpr, register
from tangrad.typing import PyTree

# Where there is a mesh, tangrad-sharding is installed, which divides functions over it; nothing else here needs it.
SHARDED = "shard_map"


def roofline(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    vjp: bool = False,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[PyTree, RooflineResult]]:
    """A function that counts what another one costs, without running it.

    The rules of the kind `roofline` say what each primitive costs, those of other packages too; without a rule it costs
    what its decomposition does, or an operation for each element of its result.

    Args:
        f: a function of trees of arrays.
        mesh, in_specs, out_specs: to count one device's part of it, as for `tangrad.shard_map`.
        vjp: whether its gradient is counted with it, for a cotangent of the result's type.
        print_jaxpr: whether the program is printed.

    Returns: a function of the same arguments, or of `ShapeDtypeStruct`s in their place, which returns the types of the
        results and a `RooflineResult`.

    Raises TypeError for what is no function, and what tracing it raises.

    >>> import tangrad
    >>> from tangrad.experimental.roofline import roofline
    >>> x = tangrad.ShapeDtypeStruct((8, 4), "float32")
    >>> shapes, result = roofline(lambda x: tangrad.lax.dot(x, tangrad.lax.transpose(x, (1, 0))))(x)
    >>> shapes.shape, result.flops
    ((8, 8), 512)
    """
    if not callable(f):
        raise TypeError(f"roofline expects a function, got {f!r} of type {type(f).__name__}")

    def counted(*args: Any) -> tuple[PyTree, RooflineResult]:
        function = f
        if mesh is not None and in_specs is not None and out_specs is not None:
            function = getattr(tangrad, SHARDED)(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs)
        shapes = tangrad.eval_shape(function, *args)
        program = tangrad.make_jaxpr(_with_gradient(function) if vjp else function)(*args, *([shapes] if vjp else []))
        jaxpr, _ = dce_jaxpr(program.jaxpr, [True] * len(program.jaxpr.outvars))
        if print_jaxpr:
            print(jaxpr)
        return shapes, cost_of(jaxpr)

    return copy_identity(counted, f)


def _with_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        *primals, cotangent = args
        _, pullback = tangrad.vjp(function, *primals)
        return pullback(cotangent)

    return run


def roofline_and_grad(
    f: Callable[..., Any],
    mesh: Any = None,
    in_specs: Any = None,
    out_specs: Any = None,
    *,
    print_jaxpr: bool = False,
) -> Callable[..., tuple[PyTree, RooflineResult, RooflineResult]]:
    """The same, with what the gradient costs, the function within it included, as a third result.

    >>> import tangrad
    >>> from tangrad.experimental.roofline import roofline_and_grad
    >>> _, forward, both = roofline_and_grad(tangrad.lax.sin)(tangrad.ShapeDtypeStruct((8,), "float32"))
    >>> forward.unfused_flops, both.unfused_flops
    (8, 16)
    """
    options: Any = {"mesh": mesh, "in_specs": in_specs, "out_specs": out_specs, "print_jaxpr": print_jaxpr}

    def counted(*args: Any) -> tuple[PyTree, RooflineResult, RooflineResult]:
        shapes, forward = roofline(f, **options)(*args)
        types = tree.map(lambda x: tangrad.ShapeDtypeStruct(x.shape, x.dtype), args)
        return shapes, forward, roofline(f, vjp=True, **options)(*types)[1]

    return copy_identity(counted, f)


def register_roofline(prim: Primitive) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: a function is the rule of a primitive. Packages have an entry of `tangrad.rules.roofline` for it.

    The rule is `rule(ctx, *avals, **params)`, with a `RooflineRuleContext`, and returns a `RooflineResult`.

    >>> import tangrad
    >>> from tangrad.core import PrimitiveSet
    >>> from tangrad.experimental.roofline import register_roofline, roofline
    >>> twice = PrimitiveSet("example_of_roofline", api=1).primitive(lambda x: x, name="twice")
    >>> @register_roofline(twice)
    ... def twice_costs(ctx, x):
    ...     return ctx.cost(flops=2 * x.size)
    >>> roofline(twice.bind)(tangrad.ShapeDtypeStruct((3,), "float32"))[1].unfused_flops
    6
    """

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        rules = RuleSet("roofline", api=1)
        rules.add(prim, rule)
        register(rules)
        return rule

    return decorate


def register_standard_roofline(prim: Primitive) -> None:
    """Say that a primitive costs nothing.

    >>> from tangrad.core import PrimitiveSet
    >>> from tangrad.experimental.roofline import register_standard_roofline
    >>> same = PrimitiveSet("example_of_standard_roofline", api=1).primitive(lambda x: x, name="same")
    >>> register_standard_roofline(same)
    """
    register_roofline(prim)(lambda ctx, *avals, **params: RooflineResult.zeros())


__all__ = ["RooflineRuleContext", "register_roofline", "register_standard_roofline", "roofline", "roofline_and_grad"]
