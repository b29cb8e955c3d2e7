"""Diagonals and triangles of matrices: `tangrad.numpy.diag`, `trace`, `tril`, `triu_indices`, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tangrad._numpy.at import at
from tangrad._numpy.axes import moveaxis
from tangrad._numpy.conversion import asarray
from tangrad._numpy.creation import ones
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import (
    array_operand,
    broadcast_to_shape,
    canonical_axis,
    index_argument,
    literal_like,
    refuse_out,
    select,
    shape_of,
)
from tangrad._numpy.ranges import diagonal_mask
from tangrad._numpy.reductions import sum as total
from tangrad._numpy.selection import nonzero
from tangrad._numpy.shapes import expand_dims, ravel, reshaped
from tangrad.core import Array, ShapedArray, dtypes, put
from tangrad.core.arguments import max_size, min_size
from tangrad.extend.lax import broadcast_in_dim_p, eq_p, ge_p, pad_p, slice_p
from tangrad.typing import ArrayLike, DTypeLike

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(
    ["diagflat", "fill_diagonal", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from"], True
)

# --- diagonals ---


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Take a diagonal of matrices.

    Args:
        a: an array of at least two dimensions.
        offset: which diagonal: 0 the main one, positive above it, negative below.
        axis1, axis2: the rows and columns.

    Returns:
        An array without these two axes, with the diagonals along a new last one.

    Raises:
        TypeError: `a` is no array, `offset` no integer.
        ValueError: it has fewer dimensions, or an axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.diagonal(tangrad.numpy.array([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    x = array_operand("diagonal", a)
    if x.ndim < 2:
        raise ValueError(f"diagonal requires at least two dimensions, got shape {x.aval.shape}")
    first = canonical_axis("diagonal", axis1, x.ndim, "axis1")
    second = canonical_axis("diagonal", axis2, x.ndim, "axis2")
    if first == second:
        raise ValueError(f"diagonal: axis1 and axis2 must differ, got {axis1} and {axis2}")
    x = moveaxis(x, (first, second), (-2, -1))
    shift = index_argument("diagonal", offset, "offset")
    *batch, rows, columns = x.aval.shape
    length = max_size(0, min_size(rows + min(shift, 0), columns - max(shift, 0)))
    # In one row after the other, the elements of a diagonal are columns + 1 apart.
    start = shift if shift >= 0 else -shift * columns
    flat = reshaped(x, (*batch, rows * columns))
    limit = start + (length - 1) * (columns + 1) + 1 if length else 0
    zeros, whole = (0,) * len(batch), tuple(batch)
    return slice_p.bind(
        flat,
        start_indices=(*zeros, start if length else 0),
        limit_indices=(*whole, limit),
        strides=(*(1,) * len(batch), columns + 1),
    )


@as_one("k")
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Take a diagonal of a matrix, or make a matrix with a given diagonal.

    Args:
        v: an array of two dimensions; or of one: the diagonal.
        k: which diagonal: 0 the main one, positive above it, negative below.

    Returns:
        An array of one dimension, or of two.

    Raises:
        TypeError: `v` is no array, `k` no integer.
        ValueError: it has another number of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.diag(tangrad.numpy.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = array_operand("diag", v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError(f"diag requires one or two dimensions, got shape {x.aval.shape}")
    shift = index_argument("diag", k, "k")
    size = x.aval.shape[0] + abs(shift)
    around = (max(-shift, 0), max(shift, 0), 0)
    zero = literal_like(x, 0)
    spread = pad_p.bind(x, zero, padding_config=(around,)) if shift else x
    rows = broadcast_in_dim_p.bind(spread, shape=(size, size), broadcast_dimensions=(0,))
    return select(diagonal_mask(size, size, shift, eq_p), rows, zero)


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Make a matrix with all elements of an array on a diagonal.

    Args:
        v: an array or number.
        k: which diagonal: 0 the main one, positive above it, negative below.

    Returns:
        An array of two dimensions.

    Raises:
        TypeError: `v` is no array, `k` no integer.

    >>> import tangrad
    >>> tangrad.numpy.diagflat(tangrad.numpy.array([[1, 2]]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    return diag(ravel(array_operand("diagflat", v)), k)


@as_one("offset", "axis1", "axis2", "dtype", "out")
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike | None = None, out: None = None
) -> Array:
    """Add up a diagonal of matrices.

    Args:
        a: an array of at least two dimensions.
        offset: which diagonal: 0 the main one, positive above it, negative below.
        axis1, axis2: the rows and columns.
        dtype: the dtype of the result; None: that of `a`, or the default integer for narrower ones and booleans.
        out: must be None.

    Returns:
        An array without these two axes.

    Raises:
        TypeError: `a` is no array, `offset` no integer, `dtype` no dtype.
        ValueError: it has fewer dimensions, or an axis is out of bounds.

    >>> import tangrad
    >>> tangrad.numpy.trace(tangrad.numpy.array([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    refuse_out("trace", out)
    return total(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False, *, inplace: bool = True) -> Array:
    """Return a copy of an array with its main diagonal replaced.

    Args:
        a: an array of at least two dimensions; of more than two all sizes are equal.
        val: a number, or an array whose elements are repeated along the diagonal.
        wrap: whether the diagonal of a tall matrix goes on below its end.
        inplace: must be False: arrays are immutable.

    Returns:
        An array.

    Raises:
        TypeError: for what is no array.
        ValueError: for an array of one dimension, or of unequal sizes.
        NotImplementedError: `inplace` is not False.

    >>> import tangrad
    >>> tangrad.numpy.fill_diagonal(tangrad.numpy.zeros((2, 2)), 1, inplace=False)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError("fill_diagonal: arrays are immutable; pass inplace=False to get a changed copy")
    x = array_operand("fill_diagonal", a)
    shape = x.aval.shape
    if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
        raise ValueError(f"fill_diagonal requires a matrix, or more dimensions of one size, got shape {shape}")
    size = int(np.prod(shape))
    step = shape[1] + 1 if len(shape) == 2 else 1 + int(np.sum(np.cumprod(shape[:-1])))
    end = size if wrap or len(shape) > 2 else shape[1] * shape[1]
    places = np.arange(0, min(end, size), step)
    values = ravel(asarray(val))
    if values.aval.shape[0] > 1:
        values = values[np.arange(len(places)) % values.aval.shape[0]]
    elif values.aval.shape[0] == 1:
        values = reshaped(values, ())
    return reshaped(at(reshaped(x, (size,)))[places].set(values), shape)


# --- triangles ---


def _triangle(name: str, m: object, k: int, lower: bool) -> Array:
    x = array_operand(name, m)
    if x.ndim < 2:
        raise ValueError(f"{name} requires at least two dimensions, got shape {x.aval.shape}")
    rows, columns = x.aval.shape[-2:]
    offset = index_argument(name, k, "k")
    mask = diagonal_mask(rows, columns, offset if lower else offset - 1, ge_p)
    spread = broadcast_to_shape(mask, x.aval.shape)
    zero = literal_like(x, 0)
    return select(spread, x, zero) if lower else select(spread, zero, x)


@as_one("k")
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Keep the lower triangle of matrices; zeros elsewhere.

    Args:
        m: an array of at least two dimensions.
        k: up to which diagonal: 0 the main one, positive above it, negative below.

    Returns:
        An array of the shape of `m`.

    Raises:
        TypeError: `m` is no array, `k` no integer.
        ValueError: it has fewer dimensions.

    >>> import tangrad
    >>> tangrad.numpy.tril(tangrad.numpy.array([[1, 2], [3, 4]]))
    Array([[1, 0],
           [3, 4]], dtype=int32)
    """
    return _triangle("tril", m, k, True)


@as_one("k")
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Keep the upper triangle of matrices; zeros elsewhere.

    Args:
        m: an array of at least two dimensions.
        k: from which diagonal: 0 the main one, positive above it, negative below.

    Returns:
        An array of the shape of `m`.

    Raises:
        TypeError: `m` is no array, `k` no integer.
        ValueError: it has fewer dimensions.

    >>> import tangrad
    >>> tangrad.numpy.triu(tangrad.numpy.array([[1, 2], [3, 4]]))
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle("triu", m, k, False)


# --- positions ---


def _positions(mask: np.ndarray) -> tuple[Any, ...]:
    kind = dtypes.default_int_dtype()
    return tuple([put(np.asarray(place, kind), ShapedArray(place.shape, kind)) for place in np.nonzero(mask)])


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Find the positions of the lower triangle of a matrix.

    Args:
        n: the number of rows.
        k: up to which diagonal.
        m: the number of columns; None: `n`.

    Returns:
        An array of rows and one of columns.

    Raises:
        TypeError: for what is no integer.

    >>> import tangrad
    >>> tangrad.numpy.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = index_argument("tril_indices", n, "n"), n if m is None else index_argument("tril_indices", m, "m")
    return _positions(np.tri(rows, columns, index_argument("tril_indices", k, "k"), bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Find the positions of the upper triangle of a matrix.

    Args:
        n: the number of rows.
        k: from which diagonal.
        m: the number of columns; None: `n`.

    Returns:
        An array of rows and one of columns.

    Raises:
        TypeError: for what is no integer.

    >>> import tangrad
    >>> tangrad.numpy.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = index_argument("triu_indices", n, "n"), n if m is None else index_argument("triu_indices", m, "m")
    return _positions(~np.tri(rows, columns, index_argument("triu_indices", k, "k") - 1, bool))


def _matrix_shape(name: str, arr: object) -> tuple[int, ...]:
    shape = tuple(arr.shape) if hasattr(arr, "shape") else shape_of(arr)
    if len(shape) != 2:
        raise ValueError(f"{name} requires two dimensions, got shape {shape}")
    return shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Find the positions of the lower triangle of a matrix like another one.

    Args:
        arr: an array of two dimensions.
        k: up to which diagonal.

    Returns:
        An array of rows and one of columns.

    Raises:
        ValueError: `arr` has another number of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.tril_indices_from(tangrad.numpy.ones((2, 2)))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Find the positions of the upper triangle of a matrix like another one.

    Args:
        arr: an array of two dimensions.
        k: from which diagonal.

    Returns:
        An array of rows and one of columns.

    Raises:
        ValueError: `arr` has another number of dimensions.

    >>> import tangrad
    >>> tangrad.numpy.triu_indices_from(tangrad.numpy.ones((2, 2)))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Find the positions of the main diagonal.

    Args:
        n: the size of each dimension.
        ndim: the number of dimensions.

    Returns:
        `ndim` equal arrays.

    Raises:
        TypeError: for what is no integer.
        ValueError: for negative numbers.

    >>> import tangrad
    >>> tangrad.numpy.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    size, rank = index_argument("diag_indices", n, "n"), index_argument("diag_indices", ndim, "ndim")
    if size < 0 or rank < 0:
        raise ValueError(f"diag_indices: n and ndim must not be negative, got {n} and {ndim}")
    return (asarray(np.arange(size, dtype=dtypes.default_int_dtype())),) * rank


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Find the positions of the main diagonal of an array.

    Args:
        arr: an array of at least two dimensions, all of one size.

    Returns:
        An array of positions for each dimension.

    Raises:
        TypeError: `arr` is no array.
        ValueError: the sizes differ.

    >>> import tangrad
    >>> tangrad.numpy.diag_indices_from(tangrad.numpy.ones((2, 2)))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = array_operand("diag_indices_from", arr).aval.shape
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ValueError(f"diag_indices_from requires at least two dimensions of one size, got shape {shape}")
    return diag_indices(shape[0], len(shape))


def mask_indices(
    n: int, mask_func: Callable[[Array, int], ArrayLike], k: int = 0, *, size: int | None = None
) -> tuple[Array, Array]:
    """Find the positions that a function such as `triu` keeps.

    Args:
        n: the number of rows and columns.
        mask_func: takes a matrix and `k`, and puts zeros where it does not keep.
        k: passed on.
        size: how many positions to return; needed while a function is traced.

    Returns:
        An array of rows and one of columns.

    Raises:
        TypeError: `n` is no integer.

    >>> import tangrad
    >>> tangrad.numpy.mask_indices(2, tangrad.numpy.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows = index_argument("mask_indices", n, "n")
    return nonzero(mask_func(ones((rows, rows)), k), size=size)


def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Make a Vandermonde matrix: the powers of numbers, a row for each.

    Args:
        x: an array of one dimension.
        N: how many powers; None: as many as numbers.
        increasing: whether they begin with the power 0, instead of ending with it.

    Returns:
        An array of two dimensions.

    Raises:
        TypeError: `x` is no array, `N` no integer.
        ValueError: it has another number of dimensions, or `N` is negative.

    >>> import tangrad
    >>> tangrad.numpy.vander(tangrad.numpy.array([1, 2, 3]), increasing=True)
    Array([[1, 1, 1],
           [1, 2, 4],
           [1, 3, 9]], dtype=int32)
    """
    made = array_operand("vander", x)
    if made.ndim != 1:
        raise ValueError(f"vander requires one dimension, got shape {made.aval.shape}")
    count = made.aval.shape[0] if N is None else index_argument("vander", N, "N")
    if count < 0:
        raise ValueError(f"vander: N must not be negative, got {N}")
    exponents = np.arange(count, dtype=made.dtype if dtypes.issubdtype(made.dtype, np.integer) else np.int32)
    return expand_dims(made, 1) ** asarray(exponents if increasing else exponents[::-1])
