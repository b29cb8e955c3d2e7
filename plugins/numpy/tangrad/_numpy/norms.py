"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._numpy.analytic import sqrt
from tangrad._numpy.arithmetic import abs as absolute
from tangrad._numpy.arithmetic import power
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.fusing import as_one
from tangrad._numpy.matrix_factors import svdvals
from tangrad._numpy.matrix_operands import inexact_matrix
from tangrad._numpy.operands import canonical_axes, is_sequence
from tangrad._numpy.operations import whole_arrays
from tangrad._numpy.reductions import max as maximum_of
from tangrad._numpy.reductions import min as minimum_of
from tangrad._numpy.reductions import sum as sum_of
from tangrad._numpy.rounding import real
from tangrad._numpy.selection import where
from tangrad._numpy.shapes import expand_dims
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, Value


@as_one("ord", "axis", "keepdims", family=whole_arrays.name)
def norm(x: ArrayLike, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Args:
        x: an array.
        ord: None (the root of the sum of squares); for vectors inf, -inf, 0 or a number p; for matrices "fro", "nuc"
            (the sum of the singular values), inf, -inf, 1, -1, 2, -2.
        axis: the axis of the vectors, or the two axes of the matrices; None: all of `x`.
        keepdims: whether the axes stay, with size 1.

    Raises:
        ValueError: an order that does not exist, or axes that do not fit.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.norm(tangrad.numpy.array([3.0, 4.0])))
    5.0
    """
    array = inexact_matrix("norm", x)
    rank = array.ndim
    if axis is None:
        if ord is None:
            return _root_of_squares(array, None, keepdims)
        axes: tuple[int, ...] = tuple(range(rank))
    else:
        axes = canonical_axes("norm", axis, rank)
    if len(axes) == 1:
        return _vector_norm(array, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix_norm(array, ord, axes, keepdims)
    raise ValueError(f"norm: expected one axis (vectors) or two (matrices), got {len(axes)} for shape {array.shape}")


def _root_of_squares(x: Value, axis: Any, keepdims: bool) -> Any:
    return _of_total(sum_of(real(x * x.conj()), axis=axis, keepdims=keepdims), sqrt)


def _of_total(total: Value, root: Any) -> Value:
    """A root of a sum of powers; at 0, where its slope is infinite, with the derivative 0 of the least subgradient."""
    none = total == 0
    return where(none, 0, root(where(none, 1, total)))


def _vector_norm(x: Value, ord: Any, axis: Any, keepdims: bool) -> Any:
    if ord is None or (not isinstance(ord, str) and ord == 2):
        return _root_of_squares(x, axis, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"norm: {ord!r} is not a norm of vectors; expected None, inf, -inf or a number")
    if ord == np.inf:
        return _greatest(absolute(x), axis, keepdims)
    if ord == -np.inf:
        return minimum_of(absolute(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        return sum_of((x != 0).astype(dtypes.to_floating_dtype(x.dtype)), axis=axis, keepdims=keepdims)
    if ord == 1:
        return sum_of(absolute(x), axis=axis, keepdims=keepdims)
    total = sum_of(absolute(x) ** ord, axis=axis, keepdims=keepdims)
    return power(total, 1.0 / ord) if ord < 0 else _of_total(total, lambda total: power(total, 1.0 / ord))


def _greatest(x: Value, axis: int, keepdims: bool) -> Array:
    """The greatest of sizes: 0 of none, as in NumPy."""
    initial: dict[str, Any] = {"initial": 0} if 0 in x.shape else {}
    return maximum_of(x, axis=axis, keepdims=keepdims, **initial)


def _matrix_norm(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord is None or ord in ("f", "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord in ("nuc", 2, -2):
        return _norm_of_singular_values(x, ord, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(
            f"norm: {ord!r} is not a norm of matrices; expected None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    rows, columns = axes
    summed, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = sum_of(absolute(x), axis=summed, keepdims=keepdims)
    if not keepdims and other > summed:
        other -= 1
    return (_greatest if ord > 0 else minimum_of)(sums, axis=other, keepdims=keepdims)


def _norm_of_singular_values(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Value:
    values = svdvals(moveaxis(x, axes, (-2, -1)))
    if ord == "nuc":
        result = sum_of(values, axis=-1)
    else:
        result = (_greatest if ord > 0 else minimum_of)(values, axis=-1, keepdims=False)
    return expand_dims(result, axes) if keepdims else result


@as_one("axis", "keepdims", "ord")
def vector_norm(x: ArrayLike, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors; with `axis=None` of all elements.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.vector_norm(tangrad.numpy.ones((2, 2))))
    2.0
    """
    array = inexact_matrix("vector_norm", x)
    if axis is None:
        flat = _vector_norm(array.ravel(), ord, 0, False)
        return flat.reshape((1,) * array.ndim) if keepdims else flat
    axes = canonical_axes("vector_norm", axis, array.ndim)
    return _vector_norm(array, ord, axes if is_sequence(axis) else axes[0], keepdims)


@as_one("keepdims", "ord")
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of the matrices in the last two dimensions.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.matrix_norm(tangrad.numpy.ones((2, 2))))
    2.0
    """
    array = inexact_matrix("matrix_norm", x)
    if array.ndim < 2:
        raise ValueError(f"matrix_norm takes arrays of at least two dimensions, got shape {array.shape}")
    return _matrix_norm(array, ord, (array.ndim - 2, array.ndim - 1), keepdims)
