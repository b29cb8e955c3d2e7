"""`jvp`, `linearize`, `vjp`, `linear_transpose`: derivatives as linear maps, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, TypeVarTuple, Unpack, overload

import numpy as np

from tangrad import tree
from tangrad._autodiff.auxiliary import Auxiliary
from tangrad._autodiff.cotangents import array_of, given_tangent, user_tangent
from tangrad._autodiff.forward import jvp_flat
from tangrad._autodiff.pullbacks import VJP, Pullback, Transposed
from tangrad._autodiff.reducing import check_in_scope, checked_names
from tangrad._autodiff.tangents import Zero, has_tangent, instantiate, tangent_aval, zeros
from tangrad._autodiff.tape import linearize_flat, record_linear
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Jaxpr,
    ShapedArray,
    api_boundary,
    as_array,
    dtypes,
    eval_jaxpr,
    get_aval,
    is_array_value,
    returned_leaves,
)
from tangrad.tree_util import Partial, PyTreeDef, tree_broadcast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tangrad.typing import PyTree, Value

R = TypeVar("R")
Aux = TypeVar("Aux")
Primals = TypeVarTuple("Primals")


@overload
def jvp(
    fun: Callable[..., R], primals: Sequence[PyTree], tangents: Sequence[PyTree], has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    fun: Callable[..., tuple[R, Aux]], primals: Sequence[PyTree], tangents: Sequence[PyTree], has_aux: Literal[True]
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    fun: Callable[..., Any], primals: Sequence[PyTree], tangents: Sequence[PyTree], has_aux: bool
) -> tuple[Any, ...]: ...
@api_boundary
def jvp(
    fun: Callable[..., object], primals: Sequence[object], tangents: Sequence[object], has_aux: bool = False
) -> tuple[PyTree, ...]:
    """The value of `fun` at `primals`, and its derivative in the direction `tangents`.

    Args:
        fun: a function of positional arguments that are trees of arrays.
        primals: a tuple or list of the arguments.
        tangents: a tuple or list of the same structure, shapes and dtypes (float0 for integers).
        has_aux: whether `fun` returns `(output, auxiliary)`.

    Returns:
        `(output, output tangent)`, or `(output, output tangent, auxiliary)` with `has_aux`.

    Raises:
        TypeError: for arguments that are not tuples or lists, or whose structures or dtypes differ; ValueError for
            shapes.

    >>> import tangrad
    >>> value, tangent = tangrad.jvp(lambda x: x**2, (3.0,), (1.0,))
    >>> float(value), float(tangent)
    (9.0, 6.0)
    """
    _check_callable(fun, "jvp")
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(f"jvp: {name} must be a tuple or list of arguments, got {type(given).__name__}")
    leaves, treedef = tree.flatten(tuple(primals))
    tangent_leaves, tangent_tree = tree.flatten(tuple(tangents))
    if treedef != tangent_tree:
        raise TypeError(f"jvp: primals and tangents must have one structure, got {treedef} and {tangent_tree}")
    if isinstance(primals, list) is not isinstance(tangents, list):
        kinds = f"{type(primals).__name__} and {type(tangents).__name__}"
        raise TypeError(f"jvp: primals and tangents must both be tuples or both be lists, got {kinds}")
    values = [array_of(leaf, "jvp", "primal") for leaf in leaves]
    directions = [_check_tangent("jvp", p, given_tangent(t)) for p, t in zip(values, tangent_leaves, strict=True)]
    call = _FlatCall(fun, treedef, has_aux, "jvp")
    outs, tangents_out = jvp_flat(call, values, directions)
    count = call.out_count
    result = call.out_tree.unflatten([as_array(out) for out in outs[:count]])
    derivative = call.out_tree.unflatten([user_tangent(tangent) for tangent in tangents_out[:count]])
    return (result, derivative, call.aux(outs[count:])) if has_aux else (result, derivative)


@overload
def linearize(
    fun: Callable[[Unpack[Primals]], R], *primals: *Primals, has_aux: Literal[False] = False
) -> tuple[R, Callable[[Unpack[Primals]], R]]: ...
@overload
def linearize(
    fun: Callable[[Unpack[Primals]], tuple[R, Aux]], *primals: *Primals, has_aux: Literal[True]
) -> tuple[R, Callable[[Unpack[Primals]], R], Aux]: ...
@overload
def linearize(
    fun: Callable[..., R], *primals: PyTree, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., R]]: ...
@overload
def linearize(
    fun: Callable[..., tuple[R, Aux]], *primals: PyTree, has_aux: Literal[True]
) -> tuple[R, Callable[..., R], Aux]: ...
@overload
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool) -> tuple[Any, ...]: ...
@api_boundary  # type: ignore[misc]  # mypy knows no `*args` that takes any TypeVarTuple
def linearize(fun: Callable[..., object], *primals: object, has_aux: bool = False) -> tuple[PyTree, ...]:
    """The value of `fun` at `primals`, and its derivative there as a linear function of tangents.

    The function is evaluated once, however often the linear function is called.

    Returns:
        `(output, linear function)`, or `(output, linear function, auxiliary)` with `has_aux`. The linear function takes
        tangents as `fun` takes arguments; it is a pytree, so it passes through `jit` and control flow.

    >>> import tangrad
    >>> value, derivative = tangrad.linearize(lambda x: x**2, 3.0)
    >>> float(derivative(1.0)), float(derivative(10.0))
    (6.0, 60.0)
    """
    _check_callable(fun, "linearize")
    leaves, treedef = tree.flatten(primals)
    values = [array_of(leaf, "linearize", "primal") for leaf in leaves]
    active = [has_tangent(value.aval.dtype) for value in values]
    call = _FlatCall(fun, treedef, has_aux, "linearize")
    outs, program = linearize_flat(call, values, active)
    count = call.out_count
    program.outputs = program.outputs[:count]
    jaxpr, residuals = program.to_jaxpr(consume=True)
    out_avals = tuple([tangent_aval(get_aval(out)) for out in outs[:count]])
    nonzero = tuple([type(out) is not Zero for out in program.outputs])
    in_avals = tuple([value.aval for value in values])
    linear = _LinearMap(
        ClosedJaxpr(jaxpr), len(residuals), treedef, call.out_tree, in_avals, tuple(active), out_avals, nonzero
    )
    function = Partial(linear, tuple(residuals))
    result = call.out_tree.unflatten([as_array(out) for out in outs[:count]])
    return (result, function, call.aux(outs[count:])) if has_aux else (result, function)


@overload
def vjp(
    fun: Callable[[Unpack[Primals]], R],
    *primals: *Primals,
    has_aux: Literal[False] = False,
    reduce_axes: str | Sequence[Hashable] = (),
    saveable_args: object = True,
) -> tuple[R, VJP[R, *Primals]]: ...
@overload
def vjp(
    fun: Callable[[Unpack[Primals]], tuple[R, Aux]],
    *primals: *Primals,
    has_aux: Literal[True],
    reduce_axes: str | Sequence[Hashable] = (),
    saveable_args: object = True,
) -> tuple[R, VJP[R, *Primals], Aux]: ...
@overload
def vjp(
    fun: Callable[..., R],
    *primals: PyTree,
    has_aux: Literal[False] = False,
    reduce_axes: str | Sequence[Hashable] = (),
    saveable_args: object = True,
) -> tuple[R, VJP[R, *tuple[Any, ...]]]: ...
@overload
def vjp(
    fun: Callable[..., tuple[R, Aux]],
    *primals: PyTree,
    has_aux: Literal[True],
    reduce_axes: str | Sequence[Hashable] = (),
    saveable_args: object = True,
) -> tuple[R, VJP[R, *tuple[Any, ...]], Aux]: ...
@overload
def vjp(
    fun: Callable[..., Any],
    *primals: PyTree,
    has_aux: bool,
    reduce_axes: str | Sequence[Hashable] = (),
    saveable_args: object = True,
) -> tuple[Any, ...]: ...
@api_boundary  # type: ignore[misc]  # mypy knows no `*args` that takes any TypeVarTuple
def vjp(
    fun: Callable[..., object],
    *primals: object,
    has_aux: bool = False,
    reduce_axes: str | Sequence[object] = (),
    saveable_args: object = True,
) -> tuple[PyTree, ...]:
    """The value of `fun` at `primals`, and the function that maps cotangents of its output to those of its arguments.

    Args:
        fun: a function of arrays, in trees.
        primals: its arguments.
        has_aux: whether `fun` returns `(output, auxiliary)`.
        reduce_axes: the name of a mapped axis around the call, or several: cotangents of what is the same along them
            are summed over all their examples, as in `grad`.
        saveable_args: a bool, or a tuple with a tree of them for each argument, of which it is a prefix: whether the
            vjp function holds an argument that it needs, or has it put back into its `args_res` before it is called.

    Returns:
        `(output, vjp function)`, or `(output, vjp function, auxiliary)` with `has_aux`. The vjp function takes a
        cotangent of the structure, shapes and dtypes of the output and returns a tuple with a cotangent per argument;
        it is a pytree of its residuals, and adds gradients to references by its `with_refs`.

    Raises:
        TypeError: for what is not callable, arguments that are no arrays, and `reduce_axes` that are no names.
        ValueError: for a name twice in `reduce_axes`. NameError: for one that is not mapped.

    >>> import tangrad
    >>> value, pullback = tangrad.vjp(lambda x, y: x * y, 2.0, 3.0)
    >>> [float(cotangent) for cotangent in pullback(1.0)]
    [3.0, 2.0]
    """
    _check_callable(fun, "vjp")
    axes = _axes_to_sum_over(reduce_axes, "vjp")
    leaves, treedef = tree.flatten(primals)
    values = [array_of(leaf, "vjp", "primal") for leaf in leaves]
    active = [has_tangent(value.aval.dtype) for value in values]
    call = _FlatCall(fun, treedef, has_aux, "vjp")
    outs, program = linearize_flat(call, values, active, axes)
    count = call.out_count
    program.outputs = program.outputs[:count]
    jaxpr, residuals = program.to_jaxpr(consume=True)
    out_avals = tuple([get_aval(out) for out in outs[:count]])
    nonzero = tuple([type(out) is not Zero for out in program.outputs])
    in_avals = tuple([value.aval for value in values])
    pullback = Pullback(ClosedJaxpr(jaxpr), treedef, call.out_tree, in_avals, out_avals, nonzero, tuple(active))
    result = call.out_tree.unflatten([as_array(out) for out in outs[:count]])
    of_values = {id(value): place for place, value in enumerate(values)}
    places = tuple([of_values.get(id(residual), -1) for residual in residuals])
    function: Any = VJP(fun, pullback, places, residuals)
    if saveable_args is not True:
        function = function.without(_unsaved(saveable_args, treedef))
    return (result, function, call.aux(outs[count:])) if has_aux else (result, function)


def _unsaved(saveable: object, treedef: PyTreeDef) -> frozenset[int]:
    """The leaves of the arguments that are not held. Raises ValueError for another structure, TypeError for no bool."""
    count = treedef.num_leaves
    if isinstance(saveable, bool):
        return frozenset() if saveable else frozenset(range(count))
    entries = tree.leaves(tree_broadcast(saveable, treedef.unflatten(range(count))))
    if not all([isinstance(entry, bool) for entry in entries]):
        raise TypeError(f"vjp: saveable_args must be a bool, or a tree of bools for each argument, got {saveable!r}")
    return frozenset([place for place, entry in enumerate(entries) if not entry])


@api_boundary
def linear_transpose(fun: Callable[..., object], *primals: object, reduce_axes: str | Sequence[object] = ()) -> Partial:
    """The transpose of a linear function.

    Args:
        fun: linear in all its arguments jointly.
        primals: arguments, of which only types count: arrays or anything with `shape` and `dtype`. Within a checked
            `shard_map` types say along which axes values differ; so does `named_shape` of a `ShapeDtypeStruct`.
        reduce_axes: the name of a mapped axis around the call, or several: cotangents of what is the same along them
            are summed over all their examples, as in `grad`.

    Returns:
        a function from a cotangent of the output's structure to a tuple with a cotangent per argument; it is a pytree.

    Raises:
        TypeError: for dtypes that are neither all floating-point (or complex) nor all integers (with `reduce_axes` for
            integers), for functions that are not linear, and `reduce_axes` that are no names.
        ValueError: for a name twice in `reduce_axes`. NameError: for one that is not mapped.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> transposed = tangrad.linear_transpose(lambda x: 3.0 * x, np.ones(2))
    >>> transposed(np.array([1.0, 2.0]))
    (Array([3., 6.], dtype=float32),)
    """
    _check_callable(fun, "linear_transpose")
    axes = _axes_to_sum_over(reduce_axes, "linear_transpose")
    leaves, treedef = tree.flatten(primals)
    in_avals = [_shape_and_dtype(leaf) for leaf in leaves]
    kinds = {has_tangent(aval.dtype) for aval in in_avals}
    if kinds != {True}:
        integers = all(dtypes.issubdtype(aval.dtype, np.integer) for aval in in_avals)
        if not integers or axes:
            found = ", ".join([dtypes.dtype_name(aval.dtype) for aval in in_avals])
            others = " (with reduce_axes real or complex)" if axes else ", or all integers"
            raise TypeError(
                f"linear_transpose requires arguments that are all real or complex{others}; got dtypes {found}"
            )
    call = _FlatCall(fun, treedef, False, "linear_transpose")
    program = record_linear(call, in_avals)
    if axes:  # the function is linear; where it can be evaluated it is known what is the same along the axes
        values = [as_array(x) if is_array_value(x) else zeros(aval) for x, aval in zip(leaves, in_avals, strict=True)]
        _, program = linearize_flat(call, values, None, axes)
    jaxpr, constants = program.to_jaxpr(consume=True)
    nonzero = tuple([type(out) is not Zero for out in program.outputs])
    transposed = Transposed(ClosedJaxpr(jaxpr), treedef, call.out_tree, tuple(in_avals), call.out_avals(), nonzero)
    return Partial(transposed, tuple(constants))


def _axes_to_sum_over(reduce_axes: str | Iterable[object], name: str) -> tuple[str, ...]:
    axes = checked_names(reduce_axes, name)
    if axes:
        check_in_scope(axes, name)
    return axes


class _FlatCall:
    """Calls a function of trees with flat values, and remembers the tree of its result."""

    __slots__ = ("_aux", "_outs", "fun", "has_aux", "name", "out_count", "out_tree", "treedef")

    def __init__(self, fun: Callable[..., object], treedef: PyTreeDef, has_aux: bool, name: str) -> None:
        self.fun = fun
        self.treedef = treedef
        self.has_aux = has_aux
        self.name = name

    def __call__(self, *leaves: Value) -> list[Value]:
        out = self.fun(*self.treedef.unflatten(leaves))
        aux: list[object] = []
        if self.has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TypeError(
                    f"{self.name} with has_aux=True requires a function that returns a pair (output, auxiliary), got "
                    f"{out!r}"
                )
            out, auxiliary = out
            self._aux = Auxiliary(auxiliary)
            aux = self._aux.values()
        outs, self.out_tree = returned_leaves(out, f"{self.name}: the function")
        self.out_count = len(outs)
        self._outs = [get_aval(leaf) for leaf in outs]
        return [*outs, *aux]

    def out_avals(self) -> Sequence[ShapedArray]:
        return self._outs

    def aux(self, primals: Sequence[Array]) -> PyTree:
        return self._aux.restore(primals)


class _LinearMap:
    """What `linearize` returns, apart from its residuals."""

    __slots__ = ("active", "in_avals", "in_tree", "jaxpr", "nonzero", "out_avals", "out_tree", "residual_count")

    def __init__(
        self,
        jaxpr: ClosedJaxpr,
        residual_count: int,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        in_avals: Sequence[ShapedArray],
        active: Sequence[bool],
        out_avals: Sequence[ShapedArray],
        nonzero: tuple[bool, ...],
    ) -> None:
        self.jaxpr = jaxpr
        self.residual_count = residual_count
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.in_avals = in_avals
        self.active = active
        self.out_avals = out_avals
        self.nonzero = nonzero

    @property
    def args(self) -> tuple[Jaxpr]:
        """The linear program, of residuals and tangents: what JAX has as `linear.func.args[0]`."""
        return (self.jaxpr.jaxpr,)

    @api_boundary
    def __call__(self, residuals: Sequence[Array], *tangents: PyTree) -> PyTree:
        leaves, treedef = tree.flatten(tangents)
        if treedef != self.in_tree:
            raise TypeError(
                f"linearize: tangents must have the structure of the arguments, {self.in_tree}, got {treedef}"
            )
        given = [
            _check_tangent_aval("linearize", a, given_tangent(t)) for a, t in zip(self.in_avals, leaves, strict=True)
        ]
        inputs = [instantiate(t) for t, is_active in zip(given, self.active, strict=True) if is_active]
        results = iter(eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *residuals, *inputs))
        outs = [next(results) if has else Zero(aval) for aval, has in zip(self.out_avals, self.nonzero, strict=True)]
        return self.out_tree.unflatten([user_tangent(out) for out in outs])


# --- checks and conversions ---


def _check_callable(fun: object, name: str) -> None:
    if not callable(fun):
        raise TypeError(f"{name} expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")


def _check_tangent(name: str, primal: Value, tangent: Value | Zero) -> Value | Zero:
    return _check_tangent_aval(name, primal.aval, tangent)


def _check_tangent_aval(name: str, aval: ShapedArray, tangent: Value | Zero) -> Value | Zero:
    expected = tangent_aval(aval)
    if tangent.aval.dtype != expected.dtype:
        raise TypeError(
            f"{name}: primal and tangent must have one dtype (float0 for tangents of integers); for a primal of type "
            f"{aval.str_short()} expected a tangent of dtype {dtypes.dtype_name(expected.dtype)}, "
            f"got {dtypes.dtype_name(tangent.aval.dtype)}"
        )
    if tangent.aval.shape != aval.shape:
        raise ValueError(f"{name}: primal and tangent must have one shape, got {aval.shape} and {tangent.aval.shape}")
    return tangent


def _shape_and_dtype(leaf: object) -> ShapedArray:
    """The type of an example, with the mapped axes along which it differs: its cotangent differs along them, too."""
    if is_array_value(leaf):
        return get_aval(leaf)
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ShapedArray(
            tuple(leaf.shape),
            dtypes.canonicalize_dtype(leaf.dtype),
            bool(getattr(leaf, "weak_type", False)),
            getattr(leaf, "named_shape", ()),
        )
    return get_aval(leaf)
