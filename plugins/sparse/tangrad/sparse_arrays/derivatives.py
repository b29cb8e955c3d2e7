"""Derivatives with respect to the values of sparse arrays: sparse arrays themselves, with the same coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tangrad
from tangrad import tree
from tangrad.core import api_boundary
from tangrad.sparse_arrays.bcoo import BCOO


def _is_sparse(leaf: Any) -> bool:
    return isinstance(leaf, BCOO)


def _of_values(
    transform: Any, fun: Callable[..., Any], argnums: Any, has_aux: bool, put_back: Any, options: Any
) -> Any:
    """A derivative of a function of arguments in which the values stand for sparse arrays."""
    positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def derivative(*args: Any, **kwargs: Any) -> Any:
        chosen = [position % len(args) for position in positions]
        like = {position: args[position] for position in chosen}

        def of_values(*values: Any) -> Any:
            given = list(values)
            for position, one in like.items():
                given[position] = _with_values(one, values[position])
            return fun(*given, **kwargs)

        values = [_values(arg) if position in like else arg for position, arg in enumerate(args)]
        found = transform(of_values, argnums=argnums, has_aux=has_aux, **options)(*values)
        restore = lambda slopes: (
            _with_values(like[chosen[0]], slopes)
            if isinstance(argnums, int)
            else tuple([_with_values(like[position], slope) for position, slope in zip(chosen, slopes, strict=True)])
        )
        return put_back(found, restore)

    return api_boundary(derivative)


def _values(arg: Any) -> Any:
    return tree.map(lambda leaf: leaf.data if _is_sparse(leaf) else leaf, arg, is_leaf=_is_sparse)


def _with_values(like: Any, values: Any) -> Any:
    """A tree with sparse arrays again, of those that it had and other values."""
    return tree.map(
        lambda leaf, value: leaf.like(value) if _is_sparse(leaf) else value, like, values, is_leaf=_is_sparse
    )


@api_boundary
def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any) -> Any:
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
    fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Any:
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
