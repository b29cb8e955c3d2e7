"""`custom_gradient`, a short form of `custom_vjp`, and `closure_convert`, for functions that rules take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

import numpy as np

from tangrad import tree
from tangrad._custom_rules.calls import function_name
from tangrad._custom_rules.reverse import check_logs, custom_vjp
from tangrad.core import (
    Array,
    ClosedJaxpr,
    ShapedArray,
    Tracer,
    as_array,
    as_operand,
    closed_over_as_arguments,
    copy_identity,
    dtypes,
    eval_jaxpr,
    is_array_value,
    trace_to_jaxpr,
)
from tangrad.tree_util import Partial, PyTreeDef
from tangrad.typing import PyTree, Value

if TYPE_CHECKING:
    from tangrad.core import Jaxpr

R = TypeVar("R")
P = ParamSpec("P")


def _flat_program(
    function: Callable[..., object], in_tree: PyTreeDef, avals: Sequence[ShapedArray], name: str
) -> tuple[Jaxpr, list[Array], PyTreeDef]:
    """A function as a jaxpr, the values that it closed over, and the structure of its result."""
    out_tree: list[PyTreeDef] = []

    def flat(*values: Value) -> list[Value]:
        leaves, treedef = tree.flatten(function(*in_tree.unflatten(values)))
        out_tree.append(treedef)
        return leaves

    jaxpr, consts = trace_to_jaxpr(flat, avals, name)
    return jaxpr, consts, out_tree[0]


class _Pullback:
    """A user's vjp function as a program; what it closed over comes as its first argument."""

    def __init__(self, closed: ClosedJaxpr, out_tree: PyTreeDef) -> None:
        self._closed = closed
        self._out_tree = out_tree

    def __call__(self, consts: Sequence[Value], cotangent: PyTree) -> PyTree:
        outs = eval_jaxpr(self._closed.jaxpr, (), *consts, *[as_operand(leaf) for leaf in tree.leaves(cotangent)])
        return self._out_tree.unflatten([as_array(out) for out in outs])


@overload
def custom_gradient(
    fun: Callable[P, tuple[R, Callable[..., PyTree]]], *, with_logs: bool = False
) -> Callable[P, R]: ...
@overload
def custom_gradient(
    fun: None = None, *, with_logs: bool = False
) -> Callable[[Callable[P, tuple[R, Callable[..., PyTree]]]], Callable[P, R]]: ...
def custom_gradient(fun: Callable[..., object] | None = None, *, with_logs: bool = False) -> object:
    """A function that returns its vjp function beside its value.

    Args:
        fun: returns `(output, vjp function)`; the vjp function takes a cotangent of the output and returns that of the
            argument, or a tuple with one for each argument. Left out: a decorator is returned.
        with_logs: whether the vjp function returns a pair of that and of logs, a dict of trees of arrays or None: see
            `custom_vjp.defvjp_with_logs`.

    Returns:
        a function that returns `output` alone, differentiated in reverse mode by the vjp function.

    Raises TypeError if `fun` does not return a pair.

    >>> import tangrad
    >>> square = tangrad.custom_gradient(lambda x: (x**2, lambda g: 10.0 * g * x))
    >>> float(square(3.0)), float(tangrad.grad(square)(3.0))
    (9.0, 30.0)
    """
    if fun is None:
        return lambda function: custom_gradient(function, with_logs=with_logs)
    if not callable(fun):
        raise TypeError(f"custom_gradient expects a function, got {fun!r} of type {type(fun).__name__}")
    name = function_name(fun)

    def pair(*args: object) -> tuple[PyTree, Callable[..., PyTree]]:
        out = cast(Callable[..., Any], fun)(*args)
        if not isinstance(out, tuple) or len(out) != 2 or not callable(out[1]):
            raise TypeError(f"custom_gradient: {name} must return a pair (output, vjp function), got {out!r}")
        return out

    def primal(*args: object) -> Value:
        return pair(*args)[0]

    def forward(*args: object) -> tuple[PyTree, Partial]:
        out, pullback = pair(*args)
        leaves, treedef = tree.flatten((out,))
        avals = [as_operand(leaf).aval for leaf in leaves]
        what = f"the vjp function of {name}"
        checked = (lambda *cts: check_logs(what, pullback(*cts))) if with_logs else pullback
        jaxpr, consts, out_tree = _flat_program(checked, treedef, avals, what)
        closed = ClosedJaxpr(closed_over_as_arguments(jaxpr))
        return out, Partial(_Pullback(closed, out_tree), consts)

    def backward(residuals: Callable[[PyTree], PyTree], cotangent: PyTree) -> PyTree:
        found, logs = residuals(cotangent) if with_logs else (residuals(cotangent), None)
        found = found if isinstance(found, (tuple, list)) else (found,)
        return (found, logs) if with_logs else found

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    copy_identity(primal, fun)
    function = custom_vjp(primal)
    (function.defvjp_with_logs if with_logs else function.defvjp)(forward, backward)
    return copy_identity(wrapped, fun)


def closure_convert(fun: Callable[..., R], *example_args: PyTree) -> tuple[Callable[..., R], list[Array]]:
    """A function without its closure, and the values that it closed over: for functions with rules of their own.

    Args:
        fun: a function of trees of arrays.
        example_args: arguments, of which only structure, shapes and dtypes count.

    Returns:
        `(converted, values)`: `converted(*args, *values)` is `fun(*args)`; the values are those that could be
        differentiated, tracers of floating-point or complex dtype. `converted` works for arguments of the types of
        `example_args` only.

    >>> import tangrad
    >>> converted, values = tangrad.closure_convert(lambda x: 2.0 * x, 1.0)
    >>> float(converted(3.0)), values
    (6.0, [])
    """
    leaves, in_tree = tree.flatten(example_args)
    for leaf in leaves:
        if not is_array_value(leaf) and not hasattr(type(leaf), "aval") and not hasattr(leaf, "dtype"):
            raise TypeError(f"closure_convert: example argument {leaf!r} of type {type(leaf).__name__} is no array")
    avals = [as_operand(leaf).aval for leaf in leaves]
    name = function_name(fun)
    jaxpr, consts, out_tree = _flat_program(fun, in_tree, avals, name)
    hoisted = [isinstance(c, Tracer) and bool(dtypes.issubdtype(c.dtype, np.inexact)) for c in consts]
    values = [const for const, is_hoisted in zip(consts, hoisted) if is_hoisted]
    kept = [const for const, is_hoisted in zip(consts, hoisted) if not is_hoisted]

    def converted(*args: object) -> PyTree:
        count = len(args) - len(values)
        given, given_tree = tree.flatten(args[:count])
        if given_tree != in_tree:
            raise TypeError(
                f"closure_convert: {name} was converted for arguments of structure {in_tree}, and then "
                f"{len(values)} values that it closed over; got {given_tree}"
            )
        own, other = iter(args[count:]), iter(kept)
        filled = [as_operand(next(own if is_hoisted else other)) for is_hoisted in hoisted]
        outs = eval_jaxpr(jaxpr, filled, *[as_operand(leaf) for leaf in given])
        return out_tree.unflatten([as_array(out) for out in outs])

    return copy_identity(converted, fun), values
