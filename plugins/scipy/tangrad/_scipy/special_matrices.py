"""Matrices of special forms, as in `scipy.linalg`: of given elements, or of their size alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

from tangrad.core import Array, dtypes
from tangrad.extend.numpy import abs as absolute
from tangrad.extend.numpy import (
    asarray,
    broadcast_shape,
    broadcast_to,
    check_dtypes,
    concatenate,
    eye,
    pad,
    where,
    zeros,
    zeros_like,
)
from tangrad.typing import ArrayLike, DTypeLike


def _vector(x: object) -> Array:
    """The elements along the last axis; a number is one, as in SciPy."""
    array = asarray(x)
    return array if array.ndim else array.reshape((1,))


def _size(name: str, n: int) -> int:
    try:
        size = operator.index(n)
    except TypeError:
        raise TypeError(f"{name}: n must be an integer, got {n!r}") from None
    if size < 0:
        raise ValueError(f"{name}: n must not be negative, got {n}")
    return size


def _common(*arrays: Array) -> list[Array]:
    dtype = dtypes.result_type(*arrays)
    return [array.astype(dtype) for array in arrays]


def _of_one_batch(name: str, *arrays: Array) -> list[Array]:
    """Vectors of one dtype, broadcast against each other in all but the last dimension."""
    lead = broadcast_shape(name, [array.shape[:-1] for array in arrays])
    return [broadcast_to(array, (*lead, array.shape[-1])) for array in _common(*arrays)]


def block_diag(*arrs: ArrayLike) -> Array:
    """The matrix with others along its diagonal.

    Args:
        arrs: arrays of at most two dimensions; vectors are rows.

    Raises:
        ValueError: for arrays of more dimensions.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.block_diag(np.ones((1, 2)), 3.0)
    Array([[1., 1., 0.],
           [0., 0., 3.]], dtype=float32)
    """
    check_dtypes("block_diag", *arrs)
    blocks = [asarray(block) for block in arrs] or [zeros((1, 0))]
    for position, block in enumerate(blocks):
        if block.ndim > 2:
            raise ValueError(f"block_diag: argument {position} must have at most two dimensions, got {block.shape}")
    blocks = _common(*[block.reshape((1,) * (2 - block.ndim) + block.shape) for block in blocks])
    width, before, rows = sum([block.shape[1] for block in blocks]), 0, []
    for block in blocks:
        rows.append(pad(block, ((0, 0), (before, width - before - block.shape[1]))))
        before += block.shape[1]
    return concatenate(rows, axis=0)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix whose diagonals are constant.

    Args:
        c: the first column; an array (..., m) makes a batch.
        r: the first row, whose first element is not read; by default the conjugate of `c`.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.toeplitz(np.array([1, 2]), np.array([0, 3, 4]))
    Array([[1, 3, 4],
           [2, 1, 3]], dtype=int32)
    """
    column = _vector(c)
    row = column.conj() if r is None else _vector(r)
    check_dtypes("toeplitz", column, row)
    column, row = _of_one_batch("toeplitz", column, row)
    rows, columns = column.shape[-1], row.shape[-1]
    # From the last element of the column up, and then along the row.
    values = concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    return values[..., np.arange(rows)[::-1, None] + np.arange(columns)]


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """The matrix whose antidiagonals are constant.

    Args:
        c: the first column.
        r: the last row, whose first element is not read; by default zeros.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.hankel(np.array([1, 2]), np.array([0, 3, 4]))
    Array([[1, 2, 3],
           [2, 3, 4]], dtype=int32)
    """
    column = _vector(c)
    row = zeros_like(column) if r is None else _vector(r)
    check_dtypes("hankel", column, row)
    column, row = _of_one_batch("hankel", column, row)
    values = concatenate([column, row[..., 1:]], axis=-1)
    return values[..., np.arange(column.shape[-1])[:, None] + np.arange(row.shape[-1])]


def circulant(c: ArrayLike) -> Array:
    """The matrix whose columns are the first one, turned.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.circulant(np.array([1, 2]))
    Array([[1, 2],
           [2, 1]], dtype=int32)
    """
    column = _vector(c)
    places = np.arange(column.shape[-1])
    return column[..., (places[:, None] - places) % max(len(places), 1)]


def companion(a: ArrayLike) -> Array:
    """The companion matrix of a polynomial, by its coefficients from the highest power down.

    Raises ValueError for fewer than two coefficients.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.companion(np.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    coefficients = _vector(a)
    size = coefficients.shape[-1] - 1
    if size < 1:
        raise ValueError(f"companion: a must have at least two coefficients, got shape {coefficients.shape}")
    first = -(coefficients[..., 1:] / coefficients[..., :1])
    below = broadcast_to(eye(size - 1, size, dtype=first.dtype), (*first.shape[:-1], size - 1, size))
    return concatenate([first[..., None, :], below], axis=-2)


def fiedler(a: ArrayLike) -> Array:
    """The matrix of the distances |a_i - a_j|.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.fiedler(np.array([1, 4]))
    Array([[0, 3],
           [3, 0]], dtype=int32)
    """
    values = _vector(a)
    return absolute(values[..., :, None] - values[..., None, :])


def fiedler_companion(a: ArrayLike) -> Array:
    """Fiedler's companion matrix of a polynomial, which has five diagonals (Fiedler, 2003).

    Args:
        a: its coefficients from the highest power down; the first must not be 0. An array (..., m) makes a batch.

    Returns:
        An array (..., m - 1, m - 1).

    Raises:
        ValueError: for no coefficients.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.fiedler_companion(np.array([1.0, -3.0, 2.0]))
    Array([[ 3., -2.],
           [ 1.,  0.]], dtype=float32)
    """
    coefficients = _vector(a)
    size = coefficients.shape[-1] - 1
    if size < 0:
        raise ValueError(f"fiedler_companion: a must have coefficients, got shape {coefficients.shape}")
    if size == 0:
        return zeros((*coefficients.shape[:-1], 0, 0), coefficients.dtype)
    scaled = -(coefficients / coefficients[..., :1])
    out = zeros((*coefficients.shape[:-1], size, size), scaled.dtype).at[..., 0, 0].set(scaled[..., 1])
    if size == 1:
        return out
    # The even coefficients stand beside the ones above the diagonal, the odd ones below it.
    for k in range(2, size + 1):
        out = out.at[(..., k - 2, k - 1) if k % 2 == 0 else (..., k - 1, k - 2)].set(scaled[..., k])
    out = out.at[..., 1, 0].set(1)
    for k in range(2, size):
        out = out.at[(..., k, k - 2) if k % 2 else (..., k - 2, k)].set(1)
    return out


def leslie(f: object, s: ArrayLike) -> Array:
    """Leslie's matrix of a population: birth rates in the first row, rates of survival below the diagonal.

    Raises ValueError unless there is one birth rate more.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.leslie(np.array([0.5, 2.0]), np.array([0.25]))
    Array([[0.5 , 2.  ],
           [0.25, 0.  ]], dtype=float32)
    """
    births, survivals = _of_one_batch("leslie", _vector(f), _vector(s))
    size = births.shape[-1]
    if survivals.shape[-1] != size - 1:
        raise ValueError(f"leslie: s must have one element less than f, got shapes {births.shape}, {survivals.shape}")
    below = where(eye(size - 1, size, dtype=bool), _pad_last(survivals)[..., None, :], zeros((), survivals.dtype))
    return concatenate([births[..., None, :], below], axis=-2)


def _pad_last(x: Array) -> Array:
    """A zero behind the last element."""
    return concatenate([x, zeros_like(x[..., :1])], axis=-1) if x.shape[-1] else zeros((*x.shape[:-1], 1), x.dtype)


def convolution_matrix(a: ArrayLike, n: int, mode: str = "full") -> Array:
    """The matrix whose product with a vector of n elements is its convolution with `a`.

    Args:
        a: a vector (m,); an array (..., m) makes a batch.
        n: the number of columns.
        mode: "full", "same" or "valid", as for `tangrad.numpy.convolve`.

    Raises:
        ValueError: for an empty `a`, an n that is not positive, and other modes.

    >>> import tangrad.numpy as np
    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.convolution_matrix(np.array([1, 2]), 2)
    Array([[1, 0],
           [2, 1],
           [0, 2]], dtype=int32)
    """
    values = _vector(a)
    count, size = values.shape[-1], _size("convolution_matrix", n)
    if count == 0:
        raise ValueError(f"convolution_matrix: a must have elements along the last axis, got shape {values.shape}")
    if size == 0:
        raise ValueError("convolution_matrix: n must be positive, got 0")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolution_matrix: mode must be 'full', 'same' or 'valid', got {mode!r}")
    margins = [(0, 0)] * (values.ndim - 1) + [(0, size - 1)]
    whole = toeplitz(pad(values, margins), zeros((size,), values.dtype))
    if mode == "same":
        start = (min(count, size) - 1) // 2
        return whole[..., start : start + max(count, size), :]
    if mode == "valid":
        start = min(count, size) - 1
        return whole[..., start : start + max(count, size) - start, :]
    return whole


def hilbert(n: int) -> Array:
    """The matrix of 1 / (i + j + 1).

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.hilbert(2)
    Array([[1.        , 0.5       ],
           [0.5       , 0.33333334]], dtype=float32)
    """
    places = np.arange(_size("hilbert", n))
    return asarray(1.0 / (places[:, None] + places + 1))


def invhilbert(n: int) -> Array:
    """The inverse of `hilbert(n)`, whose elements are integers.

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.invhilbert(2)
    Array([[ 4., -6.],
           [-6., 12.]], dtype=float32)
    """
    size = _size("invhilbert", n)

    def element(i: int, j: int) -> float:
        squared = comb(i + j, i) ** 2
        return float(
            (-1) ** (i + j) * (i + j + 1) * comb(size + i, size - j - 1) * comb(size + j, size - i - 1) * squared
        )

    return asarray(_filled(size, element))


def _filled(size: int, element: Callable[[Any, Any], object]) -> np.ndarray:
    return np.array([[element(i, j) for j in range(size)] for i in range(size)], float).reshape(size, size)


def _symmetric_kind(name: str, kind: str | None) -> str:
    if kind not in (None, "symmetric", "upper", "lower"):
        raise ValueError(f"{name}: kind must be 'symmetric', 'upper' or 'lower', got {kind!r}")
    return kind or "symmetric"


def pascal(n: int, kind: str | None = None) -> Array:
    """Pascal's triangle as a matrix: "symmetric", "upper" or "lower".

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.pascal(3)
    Array([[1., 1., 1.],
           [1., 2., 3.],
           [1., 3., 6.]], dtype=float32)
    """
    form = _symmetric_kind("pascal", kind)
    lower = _filled(_size("pascal", n), comb)
    return asarray({"symmetric": lower @ lower.T, "lower": lower, "upper": lower.T}[form])


def invpascal(n: int, kind: str | None = None) -> Array:
    """The inverse of `pascal(n, kind)`, whose elements are integers.

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.invpascal(2)
    Array([[ 2., -1.],
           [-1.,  1.]], dtype=float32)
    """
    form = _symmetric_kind("invpascal", kind)
    lower = _filled(_size("invpascal", n), lambda i, j: (-1) ** (i + j) * comb(i, j))
    return asarray({"symmetric": lower.T @ lower, "lower": lower, "upper": lower.T}[form])


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Sylvester's matrix of ones and minus ones, with orthogonal rows.

    Raises ValueError unless n is a power of 2.

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.hadamard(2)
    Array([[ 1,  1],
           [ 1, -1]], dtype=int32)
    """
    size = _size("hadamard", n)
    if size == 0 or size & (size - 1):
        raise ValueError(f"hadamard: n must be a power of 2, got {n}")
    found = np.ones((1, 1), int)
    while len(found) < size:
        found = np.block([[found, found], [found, -found]])
    return asarray(found).astype(dtype)


def helmert(n: int, full: bool = False) -> Array:
    """Helmert's matrix, whose rows are orthonormal and, without the first, add up to 0.

    Args:
        n: the number of columns.
        full: whether to return the first row, which is constant, too.

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.helmert(2)
    Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    size = _size("helmert", n)
    found = np.tril(np.ones((size, size)), -1) - np.diag(np.arange(size))
    if size:
        found[0] = 1
    scales = np.arange(size) * np.arange(1, size + 1)
    scales[:1] = size
    found = found / np.sqrt(scales)[:, None]
    return asarray(found if full else found[1:])


def dft(n: int, scale: str | None = None, *, dtype: DTypeLike | None = None) -> Array:
    """The matrix of the discrete Fourier transform.

    Args:
        n: its size.
        scale: None, "sqrtn" (it is divided by the root of n) or "n".
        dtype: a complex dtype.

    Raises:
        ValueError: for other scales.

    >>> import tangrad.scipy.linalg
    >>> tangrad.scipy.linalg.dft(2).real
    Array([[ 1.,  1.],
           [ 1., -1.]], dtype=float32)
    """
    size = _size("dft", n)
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"dft: scale must be None, 'sqrtn' or 'n', got {scale!r}")
    places = np.arange(size)
    found = np.exp(-2j * np.pi * (places[:, None] * places % max(size, 1)) / max(size, 1))
    found = found / {None: 1, "sqrtn": np.sqrt(size), "n": size}[scale]
    result = asarray(found)
    return result if dtype is None else result.astype(dtype)
