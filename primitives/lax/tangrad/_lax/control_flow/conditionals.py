"""`cond` and `switch`: one of several functions, chosen by a value; `platform_dependent`: by where it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, TypeVarTuple, Unpack, overload

import numpy as np

from tangrad import tree
from tangrad._lax.control_flow.bodies import (
    Body,
    check_trees,
    check_types,
    flat_operands,
    function_name,
    trace_body,
    with_common_consts,
)
from tangrad._lax.control_flow.evaluation import branch_of_values
from tangrad._lax.control_flow.primitives import cond_p, platform_dependent_p
from tangrad._lax.control_flow.programs import forwarded, rearranged
from tangrad._lax.elementwise.primitives import clamp_p, convert_element_type_p, ne_p
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Tracer,
    api_boundary,
    as_array,
    as_operand,
    dtypes,
    is_array_value,
    is_concrete,
    literal,
    thread,
)
from tangrad.typing import ArrayLike, PyTree, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["switch"], True)

_INT32 = dtypes.as_dtype("int32")
_BOOL = dtypes.as_dtype("bool")
_MISSING = object()


R = TypeVar("R")
Operands = TypeVarTuple("Operands")


@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[Unpack[Operands]], R],
    false_fun: Callable[[Unpack[Operands]], R],
    *operands: *Operands,
    linear: object = None,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., R],
    false_fun: Callable[..., R],
    *operands: Value,
    operand: object = ...,
    linear: object = None,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_operand: object,
    true_fun: Callable[[Any], R],
    false_operand: object,
    false_fun: Callable[[Any], R],
    /,
) -> R: ...
@api_boundary  # type: ignore[misc]  # mypy knows no `*args` that takes any TypeVarTuple
def cond(
    pred: ArrayLike,
    true_fun: Callable[..., PyTree],
    false_fun: Callable[..., PyTree],
    *operands: PyTree,
    operand: object = _MISSING,
    linear: object = None,
) -> PyTree:
    """`true_fun(*operands)` where `pred` holds, else `false_fun(*operands)`.

    Inside a program both functions are part of it and one of them runs, except under `vmap` over `pred`, where both run
    and a selection follows. Outside, only the one that is needed runs.

    Args:
        pred: a scalar; a number holds unless it is 0.
        true_fun, false_fun: functions of the operands; what they close over may be traced too. Their results must have
            equal structures and types.
        operands: arrays, and trees of them.
        operand: the only operand, by name.
        linear: not used.

    The older form `cond(pred, true_operand, true_fun, false_operand, false_fun)` is understood too.

    Returns:
        What the chosen function returns.

    Raises:
        TypeError: for a `pred` that is no scalar, for what is not callable, and for results whose structures or types
            differ; the message names the leaf.

    >>> import tangrad
    >>> tangrad.lax.cond(True, lambda x: x + 1, lambda x: x - 1, 5)
    Array(6, dtype=int32, weak_type=True)
    """
    if operand is not _MISSING:
        if operands:
            raise TypeError(f"cond: operand= is the only operand where it is given, got {len(operands)} more")
        operands = (operand,)
    elif len(operands) == 2 and callable(operands[1]) and callable(false_fun) and not callable(true_fun):
        return _cond_with_operands(pred, true_fun, false_fun, operands[0], operands[1])
    for function, argument in ((true_fun, "true_fun"), (false_fun, "false_fun")):
        if not callable(function):
            raise TypeError(f"cond: {argument} must be a function, got {function!r} of type {type(function).__name__}")
    index = _predicate(pred)
    if thread.disable_jit and is_concrete(index):
        return (true_fun if bool(index) else false_fun)(*operands)
    return _choose("cond", index, (false_fun, true_fun), ("false_fun", "true_fun"), operands)


def _cond_with_operands(
    pred: ArrayLike,
    true_operand: object,
    true_fun: Callable[..., PyTree],
    false_operand: object,
    false_fun: Callable[..., PyTree],
) -> object:
    """The older form: an operand for each function."""

    def on_true(one: PyTree, _: object) -> PyTree:
        return true_fun(one)

    def on_false(_: object, other: PyTree) -> PyTree:
        return false_fun(other)

    return cond(pred, on_true, on_false, true_operand, false_operand)


def _predicate(pred: ArrayLike) -> Value:
    """A boolean scalar."""
    if not is_array_value(pred):
        raise TypeError(f"cond: pred must be a scalar, got {pred!r} of type {type(pred).__name__}")
    operand = as_operand(pred)
    aval = operand.aval
    if aval.shape:
        raise TypeError(f"cond: pred must be a scalar, got {aval.str_short()}")
    if aval.dtype == _BOOL:
        return operand
    if not dtypes.issubdtype(aval.dtype, np.integer) and not dtypes.issubdtype(aval.dtype, np.floating):
        raise TypeError(f"cond: pred must be a boolean or a real number, got {aval.str_short()}")
    return ne_p.bind(operand, literal(0, aval.dtype, False))


@overload
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[[Unpack[Operands]], R]],
    *operands: *Operands,
) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[..., R]], *operands: Array, operand: object = ...) -> R: ...
@api_boundary  # type: ignore[misc]  # mypy knows no `*args` that takes any TypeVarTuple
def switch(
    index: ArrayLike, branches: Sequence[Callable[..., object]], *operands: PyTree, operand: object = _MISSING
) -> PyTree:
    """`branches[index](*operands)`; an index outside the range means the nearest branch.

    Inside a program all functions are part of it and one of them runs, except under `vmap` over `index`, where all run
    and a selection follows. Outside, only the one that is needed runs.

    Args:
        index: an integer scalar.
        branches: functions of the operands; what they close over may be traced too. Their results must have equal
            structures and types.
        operands: arrays, and trees of them.
        operand: the only operand, by name.

    Returns:
        What the chosen function returns.

    Raises:
        TypeError: for an index that is no integer scalar, for what is not callable, and for results whose structures or
            types differ; the message names the leaf.
        ValueError: without branches.

    >>> import tangrad
    >>> tangrad.lax.switch(2, [lambda x: x, lambda x: -x, lambda x: x * x], 3.0)
    Array(9., dtype=float32, weak_type=True)
    """
    if operand is not _MISSING:
        if operands:
            raise TypeError(f"switch: operand= is the only operand where it is given, got {len(operands)} more")
        operands = (operand,)
    branches = tuple(branches)
    for number, branch in enumerate(branches):
        if not callable(branch):
            raise TypeError(f"switch: branch {number} must be a function, got {branch!r}")
    if not is_array_value(index):
        raise TypeError(f"switch: index must be an integer scalar, got {index!r} of type {type(index).__name__}")
    position: Value = as_operand(index)
    aval = position.aval
    if aval.shape or not dtypes.issubdtype(aval.dtype, np.integer):
        raise TypeError(f"switch: index must be an integer scalar, got {aval.str_short()}")
    if not branches:
        raise ValueError("switch: there must be at least one branch, got none")
    if len(branches) == 1:
        return branches[0](*operands)
    if aval.dtype != _INT32:
        position = convert_element_type_p.bind(position, new_dtype=_INT32, weak_type=False)
    position = clamp_p.bind(literal(0, _INT32, False), position, literal(len(branches) - 1, _INT32, False))
    if thread.disable_jit and is_concrete(position):
        return branches[int(position)](*operands)
    names = [f"branch {number}" for number in range(len(branches))]
    return _choose("switch", position, branches, names, operands)


@api_boundary
def platform_dependent(*args: PyTree, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]) -> R:
    """One of several functions of the same arguments: the one for the platform that the program runs on.

    In a compiled function all of them are traced; which one is taken is decided when the program is lowered, and the
    others need no lowering there. So a function for one platform may be made of primitives that no other platform has.
    A program that is exported for several platforms has them all. Outside of compiled functions only the one for the
    platform of the arguments is called.

    Args:
        args: arrays, and trees of them.
        default: the function for every other platform; None: there must not be one.
        per_platform: functions by the name of a platform ("cpu", "cuda", "rocm", "tpu"; "gpu" is "cuda" or "rocm"),
            or of a backend ("numpy", "xla"). Of several that apply, the first one is taken.

    Returns:
        What the chosen function returns.

    Raises:
        TypeError: for what is not callable, and for results whose structures or types differ.
        ValueError: without functions.
        NotImplementedError: where there is no function for the platform; inside of a compiled function when that is
            lowered.

    >>> import tangrad
    >>> tangrad.lax.platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x - 1)
    Array(3., dtype=float32, weak_type=True)
    """
    functions: dict[Any, Callable[..., object]] = {**per_platform}
    if default is not None:
        functions[None] = default
    if not functions:
        raise ValueError("platform_dependent: there must be a function for some platform, or a default; got none")
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"platform_dependent: {name or 'default'} must be a function, got {function!r}")
    platforms, branches = tuple(functions), tuple(functions.values())
    if default is not None and not per_platform:
        return tree.map(as_array, default(*tree.map(as_array, args)))
    if not thread.trace.stages:
        flat, in_tree = flat_operands(args, "platform_dependent", "args")
        chosen = branches[branch_of_values(platforms, [value for value in flat if not isinstance(value, Tracer)])]
        return tree.map(as_array, chosen(*in_tree.unflatten([as_array(value) for value in flat])))
    names = [f"the branch for {name or 'other platforms'}" for name in platforms]
    return _choose("platform_dependent", None, branches, names, args, platforms)


def _choose(
    what: str,
    index: Any,
    branches: Sequence[Callable[..., object]],
    names: Sequence[str],
    operands: object,
    platforms: object = None,
) -> PyTree:
    """Bind `cond` of the functions as programs, or with `platforms` `platform_dependent`."""
    flat, in_tree = flat_operands(operands, what, "operands")
    avals = [value.aval for value in flat]
    bodies = [trace_body(branch, in_tree, avals, what) for branch in branches]
    order = (1, 0) if what == "cond" else range(len(bodies))  # messages speak of true_fun first
    first = order[0]
    for other in order[1:]:
        _check_results(what, bodies[first], names[first], bodies[other], names[other], branches[first], branches[other])
    programs, consts = with_common_consts(bodies)
    if platforms is not None:
        bind = partial(platform_dependent_p.bind, platforms=platforms)
    else:
        if index.aval.dtype == _BOOL:
            index = convert_element_type_p.bind(index, new_dtype=_INT32, weak_type=False)
        bind = partial(cond_p.bind, index)
    return bodies[0].out_tree.unflatten(_bind(bind, [*consts, *flat], programs))


def _bind(
    bind: Callable[..., Sequence[Array]], operands: Sequence[Value], programs: Sequence[ClosedJaxpr]
) -> list[Array]:
    """The results of a conditional. One that all branches hand on as it came is not a result of the primitive: so it
    stays unmapped where it was, and is not copied."""
    sources = forwarded(programs)
    made = [position for position, source in enumerate(sources) if source is None]
    inputs = range(len(operands))
    branches = tuple([rearranged(program, inputs, made) for program in programs])
    outs = iter(bind(*operands, branches=branches))
    return [next(outs) if source is None else as_array(operands[source]) for source in sources]


def _check_results(
    what: str, one: Body, name: str, other: Body, other_name: str, function: object, other_function: object
) -> None:
    label = f"{what}: {name} is {function_name(function)}, {other_name} is {function_name(other_function)}; results"
    first, second = f"{name}'s result", f"{other_name}'s result"
    check_trees(label, first, one.out_tree, second, other.out_tree)
    hint = f"Make {name} and {other_name} return equal types."
    check_types(label, one.out_tree, first, one.out_avals, second, other.out_avals, hint)
