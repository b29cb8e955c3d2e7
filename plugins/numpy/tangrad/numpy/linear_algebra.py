"""What `tangrad.numpy.linalg` has beside the products: norms, the Cholesky factor, powers of matrices."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tangrad.core import dtypes
from tangrad.lax.linalg import functions as lax_linalg
from tangrad.numpy.arithmetic import abs as absolute
from tangrad.numpy.arithmetic import power
from tangrad.numpy.axes import swapaxes
from tangrad.numpy.conversion import asarray
from tangrad.numpy.creation import eye
from tangrad.numpy.matrices import diagonal as diagonal_of
from tangrad.numpy.matrices import trace as trace_of
from tangrad.numpy.products import dot, matmul
from tangrad.numpy.products import outer as outer_of
from tangrad.numpy.reductions import max as maximum_of
from tangrad.numpy.reductions import min as minimum_of
from tangrad.numpy.reductions import sum as sum_of
from tangrad.numpy.rounding import real
from tangrad.numpy.shapes import expand_dims
from tangrad.numpy.transcendental import sqrt


def _inexact(name: str, x: Any) -> Any:
    array = asarray(x)
    if dtypes.issubdtype(array.dtype, np.inexact):
        return array
    if dtypes.issubdtype(array.dtype, np.integer) or dtypes.issubdtype(array.dtype, np.bool_):
        return array.astype(dtypes.to_inexact_dtype(array.dtype))
    raise TypeError(f"{name} takes numbers, got dtype {dtypes.dtype_name(array.dtype)}")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors or matrices.

    Args:
        x: an array.
        ord: None (the root of the sum of squares); for vectors inf, -inf, 0 or a number p; for matrices "fro", inf,
            -inf, 1, -1.
        axis: the axis of the vectors, or the two axes of the matrices; None: all of `x`.
        keepdims: whether the axes stay, with size 1.

    Raises:
        ValueError: an order that does not exist, or axes that do not fit.
        NotImplementedError: orders that need singular values ("nuc", 2, -2 of matrices).

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.norm(tangrad.numpy.array([3.0, 4.0])))
    5.0
    """
    array = _inexact("norm", x)
    rank = array.ndim
    if axis is None:
        if ord is None:
            return _root_of_squares(array, None, keepdims)
        axes: tuple[int, ...] = tuple(range(rank))
    else:
        axes = tuple([operator.index(a) for a in (axis if isinstance(axis, (tuple, list)) else (axis,))])
    axes = tuple([_canonical(a, rank) for a in axes])
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(array, ord, axes, keepdims)
    raise ValueError(f"norm: expected one axis (vectors) or two (matrices), got {len(axes)} for shape {array.shape}")


def _canonical(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise ValueError(f"norm: axis {axis} is out of bounds for an array of {rank} dimensions")
    return axis % rank


def _root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    return sqrt(sum_of(real(x * x.conj()), axis=axis, keepdims=keepdims))


def _vector_norm(x: Any, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord is None or (not isinstance(ord, str) and ord == 2):
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: {ord!r} is not a norm of vectors; expected None, inf, -inf or a number")
    if ord == np.inf:
        return maximum_of(absolute(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return minimum_of(absolute(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum_of((x != 0).astype(dtypes.to_floating_dtype(x.dtype)), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_of(absolute(x), axis=axis, keepdims=keepdims)
    return power(sum_of(absolute(x) ** ord, axis=axis, keepdims=keepdims), 1.0 / ord)


def _matrix_norm(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or ord in ("f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        raise NotImplementedError(f"norm: order {ord!r} of matrices needs singular values, which are not there yet")
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm: {ord!r} is not a norm of matrices; expected None, 'fro', 1, -1, inf or -inf")
    rows, columns = axes
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_of(absolute(x), axis=summed, keepdims=keepdims)
    if not keepdims and other > summed:
        other -= 1
    return (maximum_of if ord > 0 else minimum_of)(sums, axis=other, keepdims=keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors; with `axis=None` of all elements.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.vector_norm(tangrad.numpy.ones((2, 2))))
    2.0
    """
    array = _inexact("vector_norm", x)
    if axis is None:
        flat = _vector_norm(array.ravel(), ord, 0, False)
        return flat.reshape((1,) * array.ndim) if keepdims else flat
    if isinstance(axis, (tuple, list)):
        if ord == 2:
            return _root_of_squares(array, tuple(axis), keepdims)
        return _vector_norm(array, ord, tuple(axis), keepdims)
    return _vector_norm(array, ord, _canonical(operator.index(axis), array.ndim), keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of the matrices in the last two dimensions.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.matrix_norm(tangrad.numpy.ones((2, 2))))
    2.0
    """
    array = _inexact("matrix_norm", x)
    return _matrix_norm(array, ord, (array.ndim - 2, array.ndim - 1), keepdims)


def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The triangular factor L of a positive definite matrix L Lᴴ; NaN where it is not positive definite.

    Args:
        a: an array (..., n, n).
        upper: whether to return Lᴴ.
        symmetrize_input: whether to take (a + aᴴ) / 2.

    >>> import tangrad
    >>> tangrad.numpy.linalg.cholesky(tangrad.numpy.array([[4.0]]))
    Array([[2.]], dtype=float32)
    """
    factor = lax_linalg.cholesky(_inexact("cholesky", a), symmetrize_input=symmetrize_input)
    return swapaxes(factor, -1, -2).conj() if upper else factor


def matrix_transpose(x: Any, /) -> Any:
    """The matrices in the last two dimensions, transposed.

    Raises ValueError for fewer than two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.matrix_transpose(tangrad.numpy.ones((2, 3))).shape
    (3, 2)
    """
    array = asarray(x)
    if array.ndim < 2:
        raise ValueError(f"matrix_transpose takes arrays of at least two dimensions, got shape {array.shape}")
    return swapaxes(array, -1, -2)


def matrix_power(a: Any, n: int) -> Any:
    """The matrix multiplied with itself `n` times.

    Raises TypeError if `n` is not an integer, ValueError for matrices that are not square, and NotImplementedError for
    n < 0.

    >>> import tangrad
    >>> tangrad.numpy.linalg.matrix_power(tangrad.numpy.array([[2.0]]), 3)
    Array([[8.]], dtype=float32)
    """
    array = asarray(a)
    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError(f"matrix_power: the exponent must be an integer, got {n!r}") from None
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"matrix_power takes square matrices, got shape {array.shape}")
    if count < 0:
        raise NotImplementedError("matrix_power: negative exponents need the inverse, which is not there yet")
    result = None
    while count:
        if count % 2:
            result = array if result is None else matmul(result, array)
        count //= 2
        if count:
            array = matmul(array, array)
    if result is None:
        one = eye(array.shape[-1], dtype=array.dtype)
        return one if array.ndim == 2 else one + array * 0
    return result


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of several matrices, in the order of multiplication that needs the least work.

    Raises ValueError for fewer than two arrays.

    >>> import tangrad
    >>> tangrad.numpy.linalg.multi_dot([tangrad.numpy.ones((2, 3)), tangrad.numpy.ones((3, 4)), tangrad.numpy.ones(4)])
    Array([12., 12.], dtype=float32)
    """
    items = [asarray(array) for array in arrays]
    if len(items) < 2:
        raise ValueError(f"multi_dot takes at least two arrays, got {len(items)}")
    first, last = items[0].ndim == 1, items[-1].ndim == 1
    if first:
        items[0] = expand_dims(items[0], 0)
    if last:
        items[-1] = expand_dims(items[-1], 1)
    while len(items) > 1:
        costs = [a.shape[0] * a.shape[1] * b.shape[1] for a, b in pairwise(items)]
        best = costs.index(min(costs))
        items[best : best + 2] = [dot(items[best], items[best + 1], precision=precision)]
    (result,) = items
    if first:
        result = result[0]
    return result[..., 0] if last else result


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of each of the matrices in the last two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.diagonal(tangrad.numpy.arange(4).reshape(1, 2, 2))
    Array([[0, 3]], dtype=int32)
    """
    return diagonal_of(x, offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of each of the matrices in the last two dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.trace(tangrad.numpy.arange(4).reshape(1, 2, 2))
    Array([3], dtype=int32)
    """
    return trace_of(x, offset, -2, -1, dtype)


def outer(x1: Any, x2: Any, /) -> Any:
    """Each element of one vector times each of another. Raises ValueError for other numbers of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.linalg.outer(tangrad.numpy.arange(1, 3), tangrad.numpy.arange(3))
    Array([[0, 1, 2],
           [0, 2, 4]], dtype=int32)
    """
    first, second = asarray(x1), asarray(x2)
    if first.ndim != 1 or second.ndim != 1:
        raise ValueError(f"outer takes vectors, got shapes {first.shape} and {second.shape}")
    return outer_of(first, second)
