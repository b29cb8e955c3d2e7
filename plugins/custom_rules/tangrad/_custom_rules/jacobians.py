"""`jacfwd`, `jacrev`, `hessian`: whole Jacobians, by mapping a derivative over the standard basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Concatenate, Literal, ParamSpec, overload

import numpy as np

from tangrad import tree
from tangrad.autodiff import check_argnums, jvp, vjp
from tangrad.batching import vmap
from tangrad.core import Array, api_boundary, as_array, copy_identity, dtypes, get_aval, is_array_value, put
from tangrad.core.transformations import device_beside

if TYPE_CHECKING:
    from tangrad.core import ShapedArray
    from tangrad.tree_util import PyTreeDef
    from tangrad.typing import PyTree, Value


def unravel_last(column: Array, avals: Sequence[ShapedArray]) -> list[Array]:
    """Split the last axis by the sizes of `avals`, and give each part the shape `(*rest, *aval.shape)`."""
    parts, start = [], 0
    for aval in avals:
        part = column[..., start : start + int(aval.size)]
        parts.append(part.reshape((*column.shape[:-1], *aval.shape)))
        start += int(aval.size)
    return parts


def unravel_first(row: Value, avals: Sequence[ShapedArray]) -> list[Array]:
    """Split the first axis by the sizes of `avals`, and give each part the shape `(*aval.shape, *rest)`."""
    parts, start = [], 0
    for aval in avals:
        part = row[start : start + int(aval.size)]
        parts.append(part.reshape((*aval.shape, *row.shape[1:])))
        start += int(aval.size)
    return parts


# Of what transfer guards ask: the unit vectors are made of numbers.
COPIES_FROM_HOST = dict.fromkeys(["jacobian_of"], True)

P = ParamSpec("P")


@overload
def jacfwd(
    fun: Callable[Concatenate[Array, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Callable[Concatenate[Array, P], Array]: ...
@overload
def jacfwd(
    fun: Callable[P, object],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]: ...
def jacfwd(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., PyTree]:
    """The Jacobian of `fun`, column by column, in forward mode: best where there are fewer inputs than outputs.

    Args:
        fun: a function of trees of arrays.
        argnums: which positional arguments to differentiate by.
        has_aux: whether `fun` returns `(output, auxiliary)`; then the result is `(jacobian, auxiliary)`.
        holomorphic: whether `fun` is complex-differentiable; its arguments must then be complex.

    Returns:
        a function whose result is the tree of the output with, at each leaf, the tree of the argument; the leaves have
        the shape of the output followed by that of the input.

    Raises (the function returned): TypeError for arguments that are not real (complex with `holomorphic`).

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.jacfwd(lambda x: x**2)(np.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    _check_callable(fun, "jacfwd")
    positions, several = check_argnums(argnums, "jacfwd")

    def jacobian_of(*args: object, **kwargs: object) -> object:
        function, chosen = _partial(fun, positions, not several, args, kwargs, "jacfwd")
        leaves, treedef = _inputs(chosen, holomorphic, False, "jacfwd")
        auxiliary: list[object] = []

        def pushforward(*tangents: Value | np.ndarray) -> tuple[Array, Array]:
            out = jvp(function, (chosen,), (treedef.unflatten(tangents),), has_aux=has_aux)
            if has_aux:
                auxiliary[:] = [out[2]]
            return out[0], out[1]

        out, columns = vmap(pushforward, out_axes=(None, -1))(*_basis(leaves))
        _check_outputs(out, holomorphic, "jacfwd")
        avals = [leaf.aval for leaf in leaves]
        jacobian = tree.map(lambda column: treedef.unflatten(unravel_last(column, avals)), columns)
        return (jacobian, auxiliary[0]) if has_aux else jacobian

    return copy_identity(api_boundary(jacobian_of), fun)


@overload
def jacrev(
    fun: Callable[Concatenate[Array, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[Concatenate[Array, P], Array]: ...
@overload
def jacrev(
    fun: Callable[P, object],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[P, PyTree]: ...
def jacrev(
    fun: Callable[..., object],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., PyTree]:
    """The Jacobian of `fun`, row by row, in reverse mode: best where there are fewer outputs than inputs.

    Arguments, result and errors are those of `jacfwd`; `allow_int` lets arguments be integers (their Jacobians are
    float0).

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.jacrev(lambda x: x.sum() * x)(np.array([1.0, 2.0]))
    Array([[4., 1.],
           [2., 5.]], dtype=float32)
    """
    _check_callable(fun, "jacrev")
    positions, several = check_argnums(argnums, "jacrev")

    def jacobian_of(*args: object, **kwargs: object) -> PyTree:
        function, chosen = _partial(fun, positions, not several, args, kwargs, "jacrev")
        _inputs(chosen, holomorphic, allow_int, "jacrev")
        result = vjp(function, chosen, has_aux=has_aux)
        out, pullback = result[0], result[1]
        leaves, out_tree = tree.flatten(out)
        _check_outputs(out, holomorphic, "jacrev")
        rows = vmap(lambda *cotangents: pullback(out_tree.unflatten(cotangents))[0])(*_basis(leaves))
        avals = [leaf.aval for leaf in leaves]
        # For each input leaf: its rows split by output leaf. The result has the output's tree outside.
        row_leaves, in_tree = tree.flatten(rows)
        split = [unravel_first(row, avals) for row in row_leaves]
        jacobian = out_tree.unflatten([in_tree.unflatten([parts[i] for parts in split]) for i in range(len(leaves))])
        return (jacobian, result[2]) if has_aux else jacobian

    return copy_identity(api_boundary(jacobian_of), fun)


jacobian = jacrev


@overload
def hessian(
    fun: Callable[Concatenate[Array, P], Array],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> Callable[Concatenate[Array, P], Array]: ...
@overload
def hessian(
    fun: Callable[P, object],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[P, PyTree]: ...
def hessian(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., PyTree]:
    """The Hessian of `fun`: the Jacobian, in forward mode, of its Jacobian in reverse mode.

    Arguments and errors are those of `jacfwd`. The result is the tree of the output, of the argument, and of the
    argument again.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> tangrad.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    Array([[ 6.,  0.],
           [ 0., 12.]], dtype=float32)
    """
    inner = jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic)
    return jacfwd(inner, argnums, has_aux=has_aux, holomorphic=holomorphic)


def _basis(leaves: Sequence[Value]) -> list[Value | np.ndarray]:
    """For arrays of n elements in all: n trees, each with a one at one element, stacked in front."""
    total = sum([int(leaf.aval.size) for leaf in leaves])
    basis: list[Value | np.ndarray] = []
    start = 0
    for leaf in leaves:
        size = int(leaf.aval.size)
        if not dtypes.issubdtype(leaf.aval.dtype, np.inexact):
            basis.append(np.zeros((total, *leaf.aval.shape), dtypes.float0))
            start += size
            continue
        block = np.zeros((total, size), leaf.aval.dtype)
        block[range(start, start + size), range(size)] = 1
        shape = total, *leaf.aval.shape
        basis.append(put(block.reshape(shape), leaf.aval.update(shape=shape), device=device_beside(leaf)))
        start += size
    return basis


def _check_callable(fun: object, name: str) -> None:
    if not callable(fun):
        raise TypeError(f"{name} expects a function as its first argument, got {fun!r} of type {type(fun).__name__}")


def _partial(
    fun: Callable[..., object],
    positions: tuple[int, ...],
    single: bool,
    args: tuple[object, ...],
    kwargs: dict[str, object],
    name: str,
) -> tuple[Callable[[PyTree], PyTree], PyTree]:
    """The function of the chosen arguments alone, and those arguments."""
    for position in positions:
        if not -len(args) <= position < len(args):
            raise TypeError(
                f"{name}: argnums asks for positional argument {position}, but the function was called with "
                f"{len(args)} of them"
            )
    if len({position % len(args) for position in positions}) < len(positions):
        raise ValueError(f"{name}: argnums={positions} names an argument twice, of {len(args)} arguments")

    def function(chosen: PyTree) -> PyTree:
        new = list(args)
        for position, value in zip(positions, (chosen,) if single else chosen, strict=True):
            new[position] = value
        return fun(*new, **kwargs)

    chosen = tuple([args[position] for position in positions])
    return function, chosen[0] if single else chosen


def _inputs(chosen: object, holomorphic: bool, allow_int: bool, name: str) -> tuple[list[Array], PyTreeDef]:
    leaves, treedef = tree.flatten(chosen)
    arrays = []
    for leaf in leaves:
        if not is_array_value(leaf):
            raise TypeError(
                f"{name}: cannot differentiate by {leaf!r} of type {type(leaf).__name__}; expected arrays or numbers"
            )
        dtype = get_aval(leaf).dtype
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(
                f"{name} with holomorphic=True requires complex arguments, got one of dtype {dtypes.dtype_name(dtype)}"
            )
        if name == "jacfwd" and is_complex and not holomorphic:
            raise TypeError(
                f"{name} requires real arguments, got one of dtype {dtypes.dtype_name(dtype)}; pass "
                f"holomorphic=True, or use jvp"
            )
        if not dtypes.issubdtype(dtype, np.inexact) and not allow_int:
            raise TypeError(f"{name} requires real or complex arguments, got one of dtype {dtypes.dtype_name(dtype)}")
        arrays.append(as_array(leaf))
    return arrays, treedef


def _check_outputs(out: object, holomorphic: bool, name: str) -> None:
    for leaf in tree.leaves(out):
        dtype = get_aval(leaf).dtype
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        if holomorphic and not is_complex:
            raise TypeError(
                f"{name} with holomorphic=True requires complex results, got one of dtype {dtypes.dtype_name(dtype)}"
            )
        if name == "jacrev" and not holomorphic and not dtypes.issubdtype(dtype, np.floating):
            raise TypeError(f"{name} requires real results, got one of dtype {dtypes.dtype_name(dtype)}")
