"""Decompositions and norms as in `numpy.linalg`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from tangrad._numpy.analytic import sqrt
from tangrad._numpy.arithmetic import abs as absolute
from tangrad._numpy.arithmetic import power
from tangrad._numpy.axes import moveaxis, swapaxes
from tangrad._numpy.conversion import asarray
from tangrad._numpy.fusing import as_one
from tangrad._numpy.operands import canonical_axes, is_sequence
from tangrad._numpy.operations import whole_arrays
from tangrad._numpy.reductions import max as maximum_of
from tangrad._numpy.reductions import min as minimum_of
from tangrad._numpy.reductions import sum as sum_of
from tangrad._numpy.rounding import real
from tangrad._numpy.selection import where
from tangrad._numpy.shapes import expand_dims
from tangrad._numpy.sorting import argsort
from tangrad._numpy.taking import take_along_axis
from tangrad.core import Array, dtypes
from tangrad.extend import lax
from tangrad.extend.lax import geqrf_p
from tangrad.typing import ArrayLike, Axis, Value

# --- What the functions of `tangrad.numpy.linalg` do to their operands ---


def inexact_matrix(name: str, x: ArrayLike) -> Array:
    """An array of a floating or complex dtype. Raises TypeError for what is no number."""
    array = asarray(x)
    if dtypes.issubdtype(array.dtype, np.inexact):
        return array
    if dtypes.issubdtype(array.dtype, np.integer) or dtypes.issubdtype(array.dtype, np.bool_):
        return array.astype(dtypes.to_inexact_dtype(array.dtype))
    raise TypeError(f"{name} takes numbers, got dtype {dtypes.dtype_name(array.dtype)}")


def square_matrix(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """As `inexact_matrix`. Raises ValueError unless the matrices have as many rows as columns."""
    array = inexact_matrix(name, x)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{name}: {argument} must be square matrices, of shape (..., n, n), got shape {array.shape}")
    return array


def real_dtype(array: Value) -> np.dtype:
    """The dtype of the sizes of an array's elements."""
    return dtypes.to_floating_dtype(array.dtype)


# --- Decompositions as in `numpy.linalg`, with results that have names ---


class QRResult(NamedTuple):
    """The factors that `qr` returns."""

    Q: Array
    R: Array


class SVDResult(NamedTuple):
    """The factors that `svd` returns."""

    U: Array
    S: Array
    Vh: Array


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Array
    eigenvectors: Array


@as_one("upper", "symmetrize_input")
def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """The triangular factor L of a positive definite matrix L Lᴴ; NaN where it is not positive definite.

    Args:
        a: an array (..., n, n).
        upper: whether to return Lᴴ.
        symmetrize_input: whether to take (a + aᴴ) / 2.

    >>> import tangrad
    >>> tangrad.numpy.linalg.cholesky(tangrad.numpy.array([[4.0]]))
    Array([[2.]], dtype=float32)
    """
    factor = lax.cholesky(inexact_matrix("cholesky", a), symmetrize_input=symmetrize_input)
    return swapaxes(factor, -1, -2).conj() if upper else factor


@overload
def qr(a: ArrayLike, mode: Literal["reduced", "complete", "full"] = "reduced") -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
@overload
def qr(a: ArrayLike, mode: Literal["raw"]) -> tuple[Array, Array]: ...
@overload
def qr(a: ArrayLike, mode: str) -> QRResult | Array | tuple[Array, Array]: ...
def qr(a: ArrayLike, mode: str = "reduced") -> QRResult | Array | tuple[Array, Array]:
    """The factors a = Q R, where Q has orthonormal columns and R is upper triangular.

    Args:
        a: an array (..., m, n).
        mode: "reduced" (Q has min(m, n) columns), "complete" (Q is square), "r" (R alone), or "raw" (what LAPACK
            makes of the transposed matrix, and the factors of the reflections).

    Returns:
        A named tuple (Q, R); R; or a pair.

    Raises:
        TypeError: for what is no number.
        ValueError: for fewer than two dimensions, and other modes.

    >>> import tangrad.numpy as np
    >>> np.linalg.qr(np.ones((3, 2))).R.shape
    (2, 2)
    """
    array = inexact_matrix("qr", a)
    if mode == "raw":
        packed, taus = geqrf_p.bind(array)
        return swapaxes(packed, -1, -2), taus
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(f"qr: mode must be 'reduced', 'complete', 'r' or 'raw', got {mode!r}")
    q, r = lax.qr(array, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else QRResult(q, r)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult | Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult | Array:
    """The singular value decomposition a = U S Vᴴ.

    Args:
        a: an array (..., m, n).
        full_matrices: whether U and V are square; else they have min(m, n) columns.
        compute_uv: whether to return U and Vᴴ too.
        hermitian: whether the matrices are Hermitian, which takes less time.
        subset_by_index: a range (start, end) of singular values to return.

    Returns:
        A named tuple (U, S, Vh), the singular values in descending order; or these alone.

    Raises:
        TypeError: for what is no number.
        ValueError: for fewer than two dimensions, matrices that are not square with `hermitian`, and ranges that are
            none.

    >>> import tangrad.numpy as np
    >>> np.linalg.svd(np.diag(np.array([1.0, 4.0]))).S
    Array([4., 1.], dtype=float32)
    """
    array = inexact_matrix("svd", a)
    if hermitian and subset_by_index is None:
        return _svd_of_hermitian(array, compute_uv)
    options: dict[str, Any] = {"full_matrices": full_matrices, "subset_by_index": subset_by_index}
    if not compute_uv:
        return lax.svd(array, compute_uv=False, **options)
    return SVDResult(*lax.svd(array, **options))


def _svd_of_hermitian(array: Value, compute_uv: bool) -> Array | SVDResult:
    """The singular values are the sizes of the eigenvalues, whose signs go with the right vectors."""
    vectors, values = lax.eigh(array)
    order = argsort(-absolute(values), axis=-1)
    sizes = take_along_axis(absolute(values), order, -1)
    if not compute_uv:
        return sizes
    signs = where(values < 0, -1, 1).astype(values.dtype)
    left = take_along_axis(vectors, order[..., None, :], -1)
    right = take_along_axis(vectors * signs[..., None, :], order[..., None, :], -1)
    return SVDResult(left, sizes, swapaxes(right.conj(), -1, -2))


def svdvals(x: ArrayLike, /) -> Array:
    """The singular values, in descending order.

    >>> import tangrad.numpy as np
    >>> np.linalg.svdvals(np.diag(np.array([1.0, -4.0])))
    Array([4., 1.], dtype=float32)
    """
    return lax.svd(inexact_matrix("svdvals", x), full_matrices=False, compute_uv=False)


def eig(a: ArrayLike) -> EigResult:
    """The eigenvalues and right eigenvectors of square matrices.

    Args:
        a: an array (..., n, n).

    Returns:
        A named tuple of complex arrays (eigenvalues, eigenvectors), the vectors as columns. Only the values, as
        `eigvals` returns them, have derivatives.

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square.

    >>> import tangrad.numpy as np
    >>> np.linalg.eig(np.array([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    return EigResult(*lax.eig(inexact_matrix("eig", a), compute_left_eigenvectors=False))


def eigvals(a: ArrayLike) -> Array:
    """The eigenvalues of square matrices, a complex array.

    >>> import tangrad.numpy as np
    >>> np.linalg.eigvals(np.array([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    array = inexact_matrix("eigvals", a)
    return lax.eig(array, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0]


def _is_lower(name: str, triangle: str | None) -> bool:
    if triangle not in (None, "L", "U"):
        raise ValueError(f"{name}: UPLO must be 'L', 'U' or None, got {triangle!r}")
    return triangle != "U"


def eigh(a: ArrayLike, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """The eigenvalues and eigenvectors of symmetric or Hermitian matrices.

    Args:
        a: an array (..., n, n).
        UPLO: which triangle is read, "L" or "U", where `symmetrize_input` is False.
        symmetrize_input: whether to take (a + aᴴ) / 2.

    Returns:
        A named tuple (eigenvalues, eigenvectors): the values in ascending order, the vectors as columns.

    Raises:
        TypeError: for what is no number.
        ValueError: for matrices that are not square, and another `UPLO`.

    >>> import tangrad.numpy as np
    >>> np.linalg.eigh(np.diag(np.array([3.0, 1.0]))).eigenvalues
    Array([1., 3.], dtype=float32)
    """
    return EighResult(*_eigh(a, UPLO=UPLO, symmetrize_input=symmetrize_input))


@as_one("UPLO", "symmetrize_input", name="eigh", several=True)
def _eigh(a: ArrayLike, UPLO: str | None, symmetrize_input: bool) -> tuple[Array, Array]:
    lower = _is_lower("eigh", UPLO)
    vectors, values = lax.eigh(inexact_matrix("eigh", a), lower=lower, symmetrize_input=symmetrize_input)
    return values, vectors


@as_one("UPLO", "symmetrize_input")
def eigvalsh(a: ArrayLike, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Array:
    """The eigenvalues of symmetric or Hermitian matrices, in ascending order. See `eigh`.

    >>> import tangrad.numpy as np
    >>> np.linalg.eigvalsh(np.diag(np.array([3.0, 1.0])))
    Array([1., 3.], dtype=float32)
    """
    lower = _is_lower("eigvalsh", UPLO)
    array = inexact_matrix("eigvalsh", a)
    return lax.eigh(array, lower=lower, symmetrize_input=symmetrize_input)[1]


# --- Norms of vectors and matrices ---


@as_one("ord", "axis", "keepdims", family=whole_arrays.name)
def norm(x: ArrayLike, ord: float | str | None = None, axis: object = None, keepdims: bool = False) -> Array:
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


def _root_of_squares(x: Value, axis: int | tuple[int, ...] | None, keepdims: bool) -> Array:
    return _of_total(sum_of(real(x * x.conj()), axis=axis, keepdims=keepdims), sqrt)


def _of_total(total: Value, root: Callable[[ArrayLike], Array]) -> Array:
    """A root of a sum of powers; at 0, where its slope is infinite, with the derivative 0 of the least subgradient."""
    none = total == 0
    return where(none, 0, root(where(none, 1, total)))


def _vector_norm(x: Value, ord: float | str | None, axis: int | tuple[int, ...], keepdims: bool) -> Array:
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


def _greatest(x: Value, axis: int | tuple[int, ...], keepdims: bool) -> Array:
    """The greatest of sizes: 0 of none, as in NumPy."""
    return maximum_of(x, axis=axis, keepdims=keepdims, initial=0 if 0 in x.shape else None)


def _matrix_norm(x: Value, ord: object, axes: tuple[int, ...], keepdims: bool) -> Array:
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


def _norm_of_singular_values(x: Value, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    values = svdvals(moveaxis(x, axes, (-2, -1)))
    if ord == "nuc":
        result = sum_of(values, axis=-1)
    else:
        result = (_greatest if ord > 0 else minimum_of)(values, axis=-1, keepdims=False)
    return expand_dims(result, axes) if keepdims else result


@as_one("axis", "keepdims", "ord")
def vector_norm(x: ArrayLike, /, *, axis: Axis = None, keepdims: bool = False, ord: float | str = 2) -> Array:
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
def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: object = "fro") -> Array:
    """The norm of the matrices in the last two dimensions.

    >>> import tangrad
    >>> float(tangrad.numpy.linalg.matrix_norm(tangrad.numpy.ones((2, 2))))
    2.0
    """
    array = inexact_matrix("matrix_norm", x)
    if array.ndim < 2:
        raise ValueError(f"matrix_norm takes arrays of at least two dimensions, got shape {array.shape}")
    return _matrix_norm(array, ord, (array.ndim - 2, array.ndim - 1), keepdims)
