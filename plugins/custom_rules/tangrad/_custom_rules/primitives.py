"""The calls of functions whose rules their authors write.

Such a call is bound in one of two forms. Where a program is staged, `jaxpr` is the function as a closed jaxpr whose
first `num_consts` arguments are what the function closed over. Elsewhere `jaxpr` is a `FlatCall`, the function itself:
it runs on what the bottom trace gives it, so its author may branch on concrete values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tangrad.core import (
    Array,
    ClosedJaxpr,
    NamedAxisEffect,
    PrimitiveSet,
    ShapedArray,
    as_array,
    eval_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.programs import check_results

if TYPE_CHECKING:
    from tangrad.autodiff import Zero
    from tangrad.typing import Params, Value, Values

    Axes: TypeAlias = tuple[tuple[Hashable, int], ...]  # mapped axes in scope: names and sizes
    Tangents: TypeAlias = Sequence[Value | Zero]
    # Functions of flat values, as rules are: `custom_vmap`'s gets the size of the axis, and who is mapped.
    JVPFunction: TypeAlias = Callable[[Sequence[Value], Tangents], tuple[Sequence[Value], Tangents]]
    BwdFunction: TypeAlias = Callable[[Sequence[Value], Tangents], Tangents]
    FwdFunction: TypeAlias = Callable[
        [Sequence[Value], Sequence[bool]], tuple[Sequence[Value], Sequence[Value], BwdFunction]
    ]
    VmapFunction: TypeAlias = Callable[[int, Sequence[bool], Sequence[Value]], tuple[list[Value], list[bool]]]

custom_rules = PrimitiveSet("custom_rules", api=1)


def run(program: Any, args: tuple[Value, ...]) -> Sequence[Value]:
    """Run either form of a function on flat values."""
    if type(program) is ClosedJaxpr:
        return eval_jaxpr(program.jaxpr, program.consts, *args)
    return program(*args)


def out_avals(program: Any, avals: tuple[ShapedArray, ...]) -> tuple[ShapedArray, ...]:
    """The types of the results of either form."""
    if type(program) is ClosedJaxpr:
        return tuple(program.out_avals)
    return tuple(trace_to_jaxpr(program, avals, "a function with rules of its own")[0].out_avals)


def axes_of(function: object) -> Axes:
    """Pairs of a name and a size: the mapped axes that a function or a rule may use, as far as it knows."""
    return getattr(function, "axes", ())


def _axis_effects(*functions: object) -> frozenset[NamedAxisEffect]:
    return frozenset([NamedAxisEffect(name) for function in functions for name, _ in axes_of(function)])


def effects(avals: tuple[ShapedArray, ...], params: Params) -> frozenset[NamedAxisEffect]:
    """Those of the program; and any axis in scope, which the rule may use, or a function that is no program yet."""
    program = params["jaxpr"]
    found = _axis_effects(program, params["rule"] if "rule" in params else params["fwd"])
    return found | program.effects if type(program) is ClosedJaxpr else found


def evaluate(args: Values, params: Params) -> tuple[Array, ...]:
    """On concrete values no rule is needed: the function runs."""
    outs = check_results(lambda: [*run(params["jaxpr"], args)], "a function with rules of its own")
    return tuple([as_array(out) for out in outs])


def inline(*args: Value, jaxpr: ClosedJaxpr, **_: object) -> Values:
    """Inside a compiled program nothing is left of the rules."""
    return tuple(run(jaxpr, args))


@custom_rules.primitive(
    name="custom_jvp_call",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=effects,
    evaluate=evaluate,
    decompose=inline,
    programs="call",
)
def custom_jvp_call_p(
    *avals: ShapedArray, jaxpr: object, rule: object, num_consts: int, name: str
) -> tuple[ShapedArray, ...]:
    """A call of a function with a jvp rule of its own."""
    return out_avals(jaxpr, avals)


@custom_rules.primitive(
    name="custom_vjp_call",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=effects,
    evaluate=evaluate,
    decompose=inline,
    programs="call",
)
def custom_vjp_call_p(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, fwd: object, num_consts: int, name: str
) -> tuple[ShapedArray, ...]:
    """A call of a function with a vjp rule of its own."""
    return out_avals(jaxpr, avals)


def _refuse_forward_mode(name: str) -> object:
    raise TypeError(
        f"{name} has a custom_vjp rule, so you can't apply forward-mode autodiff (jvp, jacfwd, linearize applied to "
        "tangents); differentiate it in reverse (grad, vjp, jacrev), or give it a rule by custom_jvp, which serves both"
    )


@custom_rules.primitive(
    name="custom_lin",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    effects=lambda avals, params: _axis_effects(params["bwd"]),
    evaluate=lambda args, params: _refuse_forward_mode(params["name"]),
    decompose=lambda *args, name, **_: _refuse_forward_mode(name),
)
def custom_lin_p(
    *avals: ShapedArray,
    bwd: object,
    num_res: int,
    active: tuple[bool, ...],
    avals_out: tuple[ShapedArray, ...],
    nonzero: tuple[bool, ...],
    name: str,
) -> tuple[ShapedArray, ...]:
    """The linear map of tangents whose transpose is a user's `bwd`: it can only be transposed."""
    return tuple([aval for aval, has in zip(avals_out, nonzero, strict=True) if has])
