"""Gradients: `grad` and `value_and_grad`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypedDict, TypeVar, overload

import numpy as np

from tangrad import tree
from tangrad._autodiff.auxiliary import Auxiliary
from tangrad._autodiff.cotangents import cotangent_aval, marked, materialised, user_tangent
from tangrad._autodiff.gradient_tape import array_of, eager_gradient
from tangrad._autodiff.reducing import check_in_scope, checked_names
from tangrad._autodiff.tangents import Zero, has_tangent, ones_scalars, with_weak_type_of
from tangrad._autodiff.tape import linearize_flat
from tangrad.core import (
    EVAL_TRACE,
    Array,
    Tracer,
    as_array,
    copy_identity,
    filter_traceback,
    get_aval,
    is_array_value,
    own_boundary,
    thread,
)
from tangrad.core.dtypes import dtype_name, issubdtype
from tangrad.core.programs import check_results
from tangrad.core.settings import is_checking_values
from tangrad.errors import UnexpectedTracerError

if TYPE_CHECKING:
    from typing import Unpack

    from tangrad.typing import DType, PyTree, Value


class GradientOptions(TypedDict, total=False):
    holomorphic: bool
    allow_int: bool
    reduce_axes: str | Sequence[Hashable]


P = ParamSpec("P")
A = TypeVar("A", bound=Any)  # what lambdas do with an argument is not known; unbound, checkers take it for object
B = TypeVar("B", bound=Any)
R = TypeVar("R")
Aux = TypeVar("Aux")
# Of what transfer guards ask: the cotangent of the result is the number 1.
COPIES_FROM_HOST = dict.fromkeys(["grad_of", "value_and_grad_of"], True)


@overload
def grad(
    fun: Callable[Concatenate[A, P], Any],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, P], A]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, P], tuple[Any, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, P], tuple[A, Aux]]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, B, P], Any], argnums: Literal[1], **options: Unpack[GradientOptions]
) -> Callable[Concatenate[A, B, P], B]: ...
@overload
def grad(
    fun: Callable[Concatenate[A, B, P], Any],
    argnums: tuple[Literal[0], Literal[1]],
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, B, P], tuple[A, B]]: ...
@overload
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int],  # without it one form alone fits, of functions of anything, too
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: str | Sequence[Hashable] = (),
) -> Callable[P, Any]: ...
def grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: str | Sequence[Hashable] = (),
) -> Callable[..., Any]:
    """The gradient of `fun`, as a function of the same arguments.

    Args:
        fun: returns a scalar (shape `()`), or a pair of a scalar and auxiliary data with `has_aux`.
        argnums: which positional arguments to differentiate by; an integer, or a sequence for a tuple of gradients.
        has_aux: whether `fun` returns `(value, auxiliary)`; then the result is `(gradient, auxiliary)`.
        holomorphic: whether `fun` is complex-differentiable; arguments and result must then be complex.
        allow_int: whether arguments may be integers or booleans; their gradients have dtype float0.
        reduce_axes: the name of a mapped axis that `grad` is used within, or several: the gradient by what is the same
            along them is the total over all their examples, not that of one. See "Named axes" in the documentation.

    Returns:
        a function whose result has the tree, shapes and dtypes of the arguments differentiated by.

    Raises TypeError for what is no function, and for `reduce_axes` that are no names; ValueError for a name twice.

    Raises (the function returned):
        TypeError: for a result that is not a real scalar, or an argument that is not floating-point.
        NameError: for `reduce_axes` that are not mapped.

    >>> import tangrad
    >>> tangrad.grad(lambda x: x**3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    >>> import tangrad.numpy as np
    >>> total = tangrad.grad(lambda w, x: w * x, reduce_axes="batch")
    >>> tangrad.vmap(total, in_axes=(None, 0), axis_name="batch")(1.0, np.array([1.0, 2.0]))
    Array([3., 3.], dtype=float32, weak_type=True)
    """
    both = value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes, _name="grad")

    @own_boundary
    def grad_of(*args: object, **kwargs: object) -> PyTree:
        try:
            value, gradient = both(*args, **kwargs)
        except Exception as error:
            filter_traceback(error)
            raise
        return (gradient, value[1]) if has_aux else gradient

    return _like(grad_of, fun, "grad")


@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, P], tuple[R, A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, P], tuple[R, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, P], tuple[tuple[R, Aux], A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, B, P], R], argnums: Literal[1], **options: Unpack[GradientOptions]
) -> Callable[Concatenate[A, B, P], tuple[R, B]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[A, B, P], R],
    argnums: tuple[Literal[0], Literal[1]],
    **options: Unpack[GradientOptions],
) -> Callable[Concatenate[A, B, P], tuple[R, tuple[A, B]]]: ...
@overload
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int],  # without it one form alone fits, of functions of anything, too
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: str | Sequence[object] = (),
    _name: str = ...,
) -> Callable[P, tuple[R, Any]]: ...
def value_and_grad(
    fun: Callable[..., object],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: str | Sequence[object] = (),
    _name: str = "value_and_grad",
) -> Callable[..., Any]:
    """The value of `fun` together with its gradient.

    Arguments and errors are those of `grad`.

    Returns:
        a function that returns `(value, gradient)`, or `((value, auxiliary), gradient)` with `has_aux`.

    >>> import tangrad
    >>> value, gradient = tangrad.value_and_grad(lambda x: x**2)(3.0)
    >>> float(value), float(gradient)
    (9.0, 6.0)
    """
    if not callable(fun):
        raise TypeError(f"{_name} expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")
    axes = () if reduce_axes == () else checked_names(reduce_axes, _name)
    positions, several = check_argnums(argnums, _name)
    single = None if several else positions[0]

    @own_boundary
    def value_and_grad_of(*args: object, **kwargs: object) -> object:
        try:
            return evaluate(args, kwargs)
        except Exception as error:
            filter_traceback(error)
            raise

    def evaluate(args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        chosen = (
            args[single]
            if single is not None and -len(args) <= single < len(args)
            else _choose(args, positions, single, _name)
        )
        leaves, treedef = tree.flatten(chosen)
        primals = [leaf if isinstance(leaf, Array) else _as_primal(leaf, _name) for leaf in leaves]
        for primal in primals:
            dtype = primal.aval.dtype
            if holomorphic or not _real.get(dtype):
                _check_input(dtype, holomorphic, allow_int, _name)
        structure: list[Auxiliary] = []

        def flat_fun(*tracers: Value) -> list[Value]:
            given = treedef.unflatten(tracers)
            if single is not None:
                call_args = (
                    (*args[:single], given, *args[single + 1 :]) if single >= 0 else _replace(args, positions, (given,))
                )
            else:
                call_args = _replace(args, positions, given)
            out = fun(*call_args, **kwargs)
            if not has_aux:
                return [_check_scalar(out, holomorphic, _name)]
            value, aux = _check_pair(out, _name)
            structure.append(Auxiliary(aux))
            return [_check_scalar(value, holomorphic, _name), *structure[0].values()]

        active = [has_tangent(primal.aval.dtype) for primal in primals] if allow_int else None
        if axes:
            check_in_scope(axes, _name)
        # the condition of `is_checking_values`, a call less
        if thread.trace is EVAL_TRACE and primals and not (thread.debug_nans or thread.debug_infs):
            outs, pull = eager_gradient(flat_fun, primals, active)
            value = outs[0] if isinstance(outs[0], Array) else as_array(outs[0])
            if isinstance(value, Tracer):  # an argument that was returned, and that has leaked from elsewhere
                raise UnexpectedTracerError(value)
            backend: Any = value.backend
            found: Sequence[Value | Zero | None] = pull(array_of(backend, ones_scalars[value.aval]))
        else:
            outs, program = linearize_flat(flat_fun, primals, active, axes)
            value = outs[0] if isinstance(outs[0], Array) else as_array(outs[0])
            one = ones_scalars[value.aval]
            seed = one if thread.typed_axes is None else marked(one, value.aval)
            cotangents = [seed, *[Zero(get_aval(out)) for out in outs[1:]]]
            consume = not is_checking_values()  # or it may run again, to find what made a NaN
            if consume:
                found = program.backward(cotangents, consume=True)
            else:
                found = check_results(lambda: program.backward(cotangents, consume=False), "a backward pass")
        chosen_primals = primals if active is None else [p for p, a in zip(primals, active, strict=True) if a]
        grads: list[Value | np.ndarray] = [
            ct if isinstance(ct, Array) and ct.aval.weak_type is p.aval.weak_type else _as_gradient(ct, p)
            for ct, p in zip(found, chosen_primals)
        ]
        if active is not None:
            given = iter(grads)
            grads = [next(given) if a else user_tangent(Zero.of(p)) for p, a in zip(primals, active, strict=True)]
        gradient = treedef.unflatten(grads)
        if has_aux:
            return (value, structure[0].restore(outs[1:])), gradient
        return value, gradient

    return _like(value_and_grad_of, fun, _name)


def _like(made: Callable[..., R], fun: Callable[..., object], what: str) -> Callable[..., R]:
    """Give a made function the name, documentation and signature of the one it was made of."""
    copy_identity(made, fun)
    name = getattr(fun, "__name__", type(fun).__name__)
    made.__doc__ = f"{what} of {name}.\n\n{getattr(fun, '__doc__', None) or ''}".rstrip()
    return made


def check_argnums(argnums: Any, name: str) -> tuple[tuple[int, ...], bool]:
    """The positions of arguments, and whether they were given as a sequence. Raises TypeError for what is neither.

    >>> check_argnums(1, "grad"), check_argnums(np.array([0, 1]), "grad")
    (((1,), False), ((0, 1), True))
    """
    if isinstance(argnums, np.ndarray):
        argnums = argnums.tolist()
    try:
        if isinstance(argnums, (tuple, list)):
            return tuple([operator.index(position) for position in argnums]), True
        return (operator.index(argnums),), False
    except TypeError:
        raise TypeError(f"{name}: argnums must be an integer or a sequence of integers, got {argnums!r}") from None


def _choose(args: tuple[object, ...], positions: tuple[int, ...], single: int | None, name: str) -> object:
    for position in positions:
        if not -len(args) <= position < len(args):
            raise TypeError(
                f"{name}: argnums={position if single is not None else positions} asks for positional argument "
                f"{position}, "
                f"but the function was called with {len(args)} positional arguments (keyword arguments do not count)"
            )
    if len({position % len(args) for position in positions}) < len(positions):
        raise ValueError(f"{name}: argnums={positions} names an argument twice, of {len(args)} arguments")
    return tuple([args[position] for position in positions])


def _replace(
    args: tuple[PyTree, ...], positions: tuple[int, ...], values: Sequence[object]
) -> tuple[dict[str, Array] | list[Array] | Array, ...]:
    new = list(args)
    for position, value in zip(positions, values, strict=True):
        new[position] = value
    return tuple(new)


def _as_primal(leaf: object, name: str) -> Value:
    if not is_array_value(leaf):
        raise TypeError(
            f"{name}: cannot differentiate by {leaf!r} of type {type(leaf).__name__}; expected arrays or numbers"
        )
    return as_array(leaf)


_real: dict[object, bool] = {}


def _is_real(dtype: DType) -> bool:
    try:
        return _real[dtype]
    except KeyError:
        found = _real[dtype] = bool(issubdtype(dtype, np.floating))
        return found


def _check_input(dtype: DType, holomorphic: bool, allow_int: bool, name: str) -> None:
    is_complex = issubdtype(dtype, np.complexfloating)
    if holomorphic and not is_complex:
        raise TypeError(
            f"{name} with holomorphic=True requires complex arguments, got one of dtype {dtype_name(dtype)}"
        )
    if not is_complex and not _is_real(dtype) and not allow_int:
        raise TypeError(
            f"{name} requires real or complex arguments, got one of dtype {dtype_name(dtype)}. Convert it, "
            "x.astype(float), or pass allow_int=True to get a gradient of dtype float0 (which is zero)"
        )


def _check_scalar(out: Any, holomorphic: bool, name: str) -> Value:
    aval = out.aval if hasattr(type(out), "aval") else None
    if aval is None:
        if not is_array_value(out):
            structure = tree.structure(out)
            raise TypeError(f"{name} requires a function that returns a scalar, got {structure} ({type(out).__name__})")
        aval = get_aval(out)
    if aval.shape:
        raise TypeError(
            f"{name} requires a function that returns a scalar; the result had shape {aval.shape}. "
            "Reduce it (.sum(), .mean()), or use jacrev, or vjp with a cotangent of that shape"
        )
    if holomorphic:
        if not issubdtype(aval.dtype, np.complexfloating):
            raise TypeError(
                f"{name} with holomorphic=True requires a complex result, got dtype {dtype_name(aval.dtype)}"
            )
    elif not _is_real(aval.dtype):
        cure = (
            "pass holomorphic=True, or use vjp" if issubdtype(aval.dtype, np.complexfloating) else "it has no gradient"
        )
        raise TypeError(f"{name} requires a real result (a floating-point dtype), got {dtype_name(aval.dtype)}: {cure}")
    return out


def _check_pair(out: object, name: str) -> Sequence[PyTree]:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            f"{name} with has_aux=True requires a function that returns a pair (value, auxiliary), got {out!r}"
        )
    return out


def _as_gradient(cotangent: Value | Zero | None, primal: Value) -> Value:
    """A cotangent as an array: zeros for None and symbolic zeros."""
    cotangent = materialised(Zero(cotangent_aval(primal.aval)) if cotangent is None else cotangent)
    cotangent = cotangent if isinstance(cotangent, Array) else as_array(cotangent)
    return with_weak_type_of(cotangent, primal.aval)
