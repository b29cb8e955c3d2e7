"""`linear_call`, `custom_transpose`: linear functions whose transpose their author writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tangrad import tree
from tangrad._custom_rules.calls import Stackable, function_name, lines_of, place
from tangrad._custom_rules.primitives import evaluate, inline
from tangrad.autodiff import Zero, instantiate
from tangrad.core import (
    ClosedJaxpr,
    Jaxpr,
    PrimitiveSet,
    ShapedArray,
    Var,
    array_leaves,
    as_array,
    as_operand,
    class_boundary,
    copy_identity,
    trace_to_jaxpr,
)
from tangrad.tree_util import PyTreeDef, broadcast_prefix

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import PyTree, Value

    F = TypeVar("F", bound=Callable[..., object])

R = TypeVar("R")
Res = TypeVar("Res")
Lin = TypeVar("Lin")

linear_calls = PrimitiveSet("linear_calls", api=1)

_tracing = threading.local()  # `transpose`: whether a transpose is being traced


class Later:
    """A program that is made when it is needed: so a transpose may call, in turn, what it is the transpose of."""

    __slots__ = ("_make", "_program")

    def __init__(self, make: Callable[[], ClosedJaxpr]) -> None:
        self._make: Callable[[], ClosedJaxpr] | None = make
        self._program: ClosedJaxpr | None = None

    def program(self) -> ClosedJaxpr:
        if self._make is not None:
            self._program, self._make = self._make(), None
        assert self._program is not None
        return self._program

    def __repr__(self) -> str:
        return "..."


def _traces_transpose() -> bool:
    return getattr(_tracing, "transpose", False)


def made(program: Any) -> ClosedJaxpr:
    """A program, made now if it was left for later."""
    return program.program() if type(program) is Later else program


@linear_calls.primitive(
    name="linear_call",
    multiple_results=True,
    weak_type="own",
    own_named_shape=True,
    evaluate=evaluate,
    decompose=inline,
)
def linear_call_p(*avals: object, jaxpr: ClosedJaxpr, transposed: object, num_res: int) -> tuple[ShapedArray, ...]:
    """A call of a program that is linear in all arguments but the first `num_res`; `transposed` is its transpose."""
    return tuple(jaxpr.out_avals)


def linear_call(
    fun: Callable[[Res, Lin], R], fun_transpose: Callable[[Res, R], Lin], residual_args: Res, linear_args: Lin
) -> R:
    """Call a linear function with a transpose of its own.

    Args:
        fun: `(residuals, linear) -> output`, linear in its second argument.
        fun_transpose: `(residuals, cotangent of the output) -> cotangent of linear`.
        residual_args: a tree of arrays.
        linear_args: a tree of arrays.

    Returns:
        `fun(residual_args, linear_args)`; transposed (by `grad`, `vjp`, `linear_transpose`) by `fun_transpose`.

    Raises TypeError if the transpose does not return values of the structure and types of `linear_args`.

    >>> import tangrad
    >>> halve = lambda x: tangrad.linear_call(lambda r, v: v / r, lambda r, ct: ct / r, 2.0, x)
    >>> float(tangrad.grad(halve)(3.0))
    0.5
    """
    residuals, res_tree = _operands(residual_args, "residual_args")
    linear, lin_tree = _operands(linear_args, "linear_args")
    res_avals, lin_avals = [value.aval for value in residuals], [value.aval for value in linear]
    jaxpr, consts, out_tree = _trace(fun, res_tree, lin_tree, res_avals, lin_avals)
    out_avals = jaxpr.out_avals
    name = f"linear_call: the transpose {function_name(fun_transpose)!r} of {function_name(fun)!r}"

    def backward() -> tuple[Jaxpr, list[Array]]:
        before, _tracing.transpose = _traces_transpose(), True
        try:
            found, more, found_tree = _trace(fun_transpose, res_tree, out_tree, res_avals, out_avals)
        finally:
            _tracing.transpose = before
        _check_transpose(name, lin_tree, lin_avals, found_tree, found.out_avals)
        return found, more

    def backward_later() -> ClosedJaxpr:
        found, more = backward()
        taking = _taking(found.replace(constvars=[]), consts, []).jaxpr
        return ClosedJaxpr(taking.replace(constvars=found.constvars), more)

    transposed: ClosedJaxpr | Later
    more: list[Array]
    if _traces_transpose():  # it may be the call that is being transposed
        transposed, more = Later(backward_later), []
    else:
        found, more = backward()
        transposed = _taking(found, consts, [])
    outs = linear_call_p.bind(
        *consts,
        *more,
        *residuals,
        *linear,
        jaxpr=_taking(jaxpr, [], more),
        transposed=transposed,
        num_res=len(consts) + len(more) + len(residuals),
    )
    return out_tree.unflatten([as_array(out) for out in outs])


def _check_transpose(
    name: str,
    lin_tree: PyTreeDef,
    lin_avals: Sequence[ShapedArray],
    found_tree: PyTreeDef,
    found_avals: Sequence[ShapedArray],
) -> None:
    """Raise TypeError or ValueError for a transpose that does not return values of the type of the linear arguments."""
    if found_tree != lin_tree:
        raise TypeError(
            f"{name} must return the structure of linear_args, {lin_tree}, got {found_tree}"
            + lines_of(lin_tree, found_tree)
        )
    for position, (found, expected) in enumerate(zip(found_avals, lin_avals, strict=True)):
        if found.shape != expected.shape or found.dtype != expected.dtype:
            kind = TypeError if found.shape == expected.shape else ValueError
            raise kind(
                f"{name} returned, as output {position}{place(lin_tree, position)}, {found.str_short()}, but linear "
                f"argument {position} is {expected.str_short()}"
            )


def _operands(values: object, argument: str) -> tuple[list[Value], PyTreeDef]:
    leaves, treedef = array_leaves(values, f"linear_call: {argument}")
    return [as_operand(leaf) for leaf in leaves], treedef


def _trace(
    fun: Callable[..., object],
    first_tree: PyTreeDef,
    second_tree: PyTreeDef,
    first: list[ShapedArray],
    second: list[ShapedArray],
) -> tuple[Jaxpr, list[Array], PyTreeDef]:
    out_tree: list[PyTreeDef] = []

    def flat(*values: Value) -> list[Value]:
        out = fun(first_tree.unflatten(values[: len(first)]), second_tree.unflatten(values[len(first) :]))
        leaves, treedef = tree.flatten(out)
        out_tree.append(treedef)
        return leaves

    jaxpr, consts = trace_to_jaxpr(flat, [*first, *second], function_name(fun))
    return jaxpr, consts, out_tree[0]


def _taking(jaxpr: Jaxpr, before: Sequence[Value], after: Sequence[Value]) -> ClosedJaxpr:
    """The program with what both programs closed over as first arguments: its own between those of the other."""
    unused = [[Var(value.aval) for value in values] for values in (before, after)]
    return ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*unused[0], *jaxpr.constvars, *unused[1], *jaxpr.invars]))


@class_boundary
class custom_transpose(Stackable):  # noqa: N801 - a decorator, named as the field knows it
    """A function that is linear in its last argument, with a transpose of its own.

    Args:
        fun: `(residuals, linear) -> output`.

    The transpose is given by `def_transpose(transpose)`, `transpose(residuals, cotangent)`, which returns the cotangent
    of `linear`, or a prefix of its tree: None stands for zeros. The function is called with the types of its result in
    front: `function(out_types, residuals, linear)`; types are anything with `shape` and `dtype`.

    Raises (at a call): AttributeError without a transpose; TypeError for a result of other types.

    >>> import tangrad
    >>> scale = tangrad.custom_transpose(lambda factor, x: factor * x)
    >>> _ = scale.def_transpose(lambda factor, ct: 10.0 * ct)
    >>> kind = tangrad.ShapeDtypeStruct((), "float32")
    >>> float(tangrad.grad(lambda x: scale(kind, 2.0, x))(1.0))
    10.0
    """

    def __init__(self, fun: Callable[[PyTree, PyTree], PyTree]) -> None:
        if not callable(fun):
            raise TypeError(f"custom_transpose expects a function, got {fun!r} of type {type(fun).__name__}")
        self.fun = fun
        self.transpose: Callable[..., PyTree] | None = None
        copy_identity(self, fun)

    def def_transpose(self, transpose: F) -> F:
        """Give the transpose, `(residuals, cotangent) -> cotangent of linear`; returns it."""
        self.transpose = transpose
        return transpose

    def __call__(self, out_types: object, res_arg: PyTree, lin_arg: PyTree) -> PyTree:
        name, transpose = function_name(self.fun), self.transpose
        if transpose is None:
            raise AttributeError(f"custom_transpose function {name} has no transpose; use @{name}.def_transpose")
        types = tree.map(lambda leaf: as_operand(leaf).aval, lin_arg)
        out = linear_call(self.fun, lambda residuals, ct: _filled(transpose(residuals, ct), types), res_arg, lin_arg)
        found, expected = tree.structure(out), tree.structure(out_types)
        if found != expected:
            raise TypeError(
                f"custom_transpose function {name} returned the structure {found}, out_types has {expected}"
                + lines_of(expected, found)
            )
        for position, (leaf, kind) in enumerate(zip(tree.leaves(out), tree.leaves(out_types))):
            if leaf.shape != tuple(kind.shape) or leaf.dtype != kind.dtype:
                raise TypeError(
                    f"custom_transpose function {name} returned, as output {position}{place(found, position)}, "
                    f"{leaf.aval.str_short()}, but out_types has shape {tuple(kind.shape)} and dtype {kind.dtype}"
                )
        return out


def _filled(found: object, types: object) -> PyTree:
    """A cotangent that a transpose returned, in the structure of the linear argument: zeros where it has None.

    What is no prefix of that structure is handed on, for the error about it.
    """
    avals, structure = tree.flatten(types)
    try:
        leaves = broadcast_prefix(found, types, is_leaf=lambda value: value is None)
    except ValueError:
        return found
    return structure.unflatten(
        [instantiate(Zero(a)) if leaf is None else leaf for leaf, a in zip(leaves, avals, strict=True)]
    )
