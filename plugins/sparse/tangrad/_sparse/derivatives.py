"""Derivatives with respect to the values of sparse arrays: sparse arrays themselves, with the same coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import tangrad
import tangrad.numpy as tnp
from tangrad import tree
from tangrad._sparse.base import JAXSparse
from tangrad.core import Array, api_boundary
from tangrad.typing import ArrayLike, PyTree, Value

if TYPE_CHECKING:
    from tangrad.tree_util import PyTreeDef

T = TypeVar("T")


def _is_sparse(leaf: object) -> bool:
    return isinstance(leaf, JAXSparse)


def _of_values(
    transform: Any,
    fun: Callable[..., Any],
    argnums: int | tuple[int, ...] | Sequence[int],
    has_aux: bool,
    put_back: Any,
    options: dict[str, object],
    rebuild: Callable[[Any, Any], object] = lambda leaf, values: leaf.like(values),
) -> Callable[..., Any]:
    """A derivative of a function of arguments in which the values stand for sparse arrays."""
    positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def derivative(*args: Any, **kwargs: object) -> Any:
        chosen = [position % len(args) for position in positions]
        like = {position: args[position] for position in chosen}

        def of_values(*values: Value) -> Value:
            given = list(values)
            for position, one in like.items():
                given[position] = _with_values(one, values[position], lambda leaf, values: leaf.like(values))
            return fun(*given, **kwargs)

        values = [_values(arg) if position in like else arg for position, arg in enumerate(args)]
        found = transform(of_values, argnums=argnums, has_aux=has_aux, **options)(*values)
        restore = lambda slopes: (
            _with_values(like[chosen[0]], slopes, rebuild)
            if isinstance(argnums, int)
            else tuple([_with_values(like[at], slope, rebuild) for at, slope in zip(chosen, slopes, strict=True)])
        )
        return put_back(found, restore)

    return api_boundary(derivative)


def _values(arg: object) -> ArrayLike:
    return tree.map(lambda leaf: leaf.data if _is_sparse(leaf) else leaf, arg, is_leaf=_is_sparse)


def _with_values(like: object, values: Value, rebuild: Callable[[Any, Any], T]) -> T:
    """A tree with sparse arrays again, made of those that it had and other values."""
    return tree.map(
        lambda leaf, value: rebuild(leaf, value) if _is_sparse(leaf) else value, like, values, is_leaf=_is_sparse
    )


@api_boundary
def grad(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., PyTree]:
    """As `tangrad.grad`, of functions of sparse arrays: their gradients are sparse, with the same coordinates.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.grad(lambda mat: (mat.todense() ** 2).sum())(mat).data
    Array([4., 6.], dtype=float32)
    """
    put_back = lambda found, restore: (restore(found[0]), found[1]) if has_aux else restore(found)
    return _of_values(tangrad.grad, fun, argnums, has_aux, put_back, kwargs)


@api_boundary
def value_and_grad(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., tuple[PyTree, PyTree]]:
    """As `tangrad.value_and_grad`, of functions of sparse arrays.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([0.0, 3.0]))
    >>> value, slope = sparse.value_and_grad(lambda mat: (mat.todense() ** 2).sum())(mat)
    >>> float(value), slope.data
    (9.0, Array([6.], dtype=float32))
    """
    put_back = lambda found, restore: (found[0], restore(found[1]))
    return _of_values(tangrad.value_and_grad, fun, argnums, has_aux, put_back, kwargs)


# --- Jacobians -------------------------------------------------------------------------------------------------------


def _of_results(leaf: JAXSparse, values: Array) -> JAXSparse:
    """A sparse array for each element of a result, whose dimensions are batches."""
    lead = values.shape[: values.ndim - leaf.data.ndim]
    places = [getattr(leaf, name) for name in leaf.coordinates]
    repeated = [tnp.broadcast_to(place, (*lead, *place.shape)) for place in places]
    return type(leaf)((values, *repeated), shape=(*lead, *leaf.shape), **leaf.flags)


def _jacobian(
    transform: object, fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool, options: dict[str, object]
) -> Callable[..., Any]:
    structures: list[PyTreeDef] = []

    def noted(*args: object, **kwargs: object) -> Any:
        found = fun(*args, **kwargs)
        outs = found[0] if has_aux else found
        leaves, structure = tree.flatten(outs, is_leaf=_is_sparse)
        if any([_is_sparse(leaf) for leaf in leaves]):
            raise TypeError(
                "the result of a function whose Jacobian is taken must be dense, got "
                f"{next(leaf for leaf in leaves if _is_sparse(leaf))}; return sparse.todense(...) of it"
            )
        structures.append(structure)
        return found

    def put_back(found: Any, restore: Callable[[Any], object]) -> Any:
        jacobians = found[0] if has_aux else found
        structure = structures[-1]
        restored = structure.unflatten([restore(one) for one in structure.flatten_up_to(jacobians)])
        return (restored, found[1]) if has_aux else restored

    return _of_values(transform, noted, argnums, has_aux, put_back, options, _of_results)


@api_boundary
def jacfwd(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., PyTree]:
    """As `tangrad.jacfwd`, of functions of sparse arrays with dense results.

    With respect to a sparse array a Jacobian is a sparse array of the shape of the result and of that array, whose
    first dimensions are batches.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.jacfwd(lambda mat: mat @ np.array([1.0, 5.0]))(mat)
    BCOO(float32[2, 2, 2], nse=2, n_batch=1)
    """
    return _jacobian(tangrad.jacfwd, fun, argnums, has_aux, kwargs)


@api_boundary
def jacrev(
    fun: Callable[..., object], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: object
) -> Callable[..., PyTree]:
    """As `tangrad.jacrev`, of functions of sparse arrays with dense results; see `jacfwd`.

    >>> import tangrad.numpy as np
    >>> from tangrad.experimental import sparse
    >>> mat = sparse.bcoo_fromdense(np.array([[0.0, 2.0], [3.0, 0.0]]))
    >>> sparse.jacrev(lambda mat: mat @ np.array([1.0, 5.0]))(mat).data
    Array([[5., 0.],
           [0., 1.]], dtype=float32)
    """
    return _jacobian(tangrad.jacrev, fun, argnums, has_aux, kwargs)
