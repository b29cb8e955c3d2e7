"""Decompositions as in `numpy.linalg`, with results that have names."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, overload

from tangrad._numpy.arithmetic import abs as absolute
from tangrad._numpy.axes import swapaxes
from tangrad._numpy.fusing import as_one
from tangrad._numpy.matrix_operands import inexact_matrix
from tangrad._numpy.selection import where
from tangrad._numpy.sorting import argsort
from tangrad._numpy.taking import take_along_axis
from tangrad.core import Array
from tangrad.extend import lax
from tangrad.extend.lax import geqrf_p
from tangrad.typing import ArrayLike, Value


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


def _svd_of_hermitian(array: Value, compute_uv: bool) -> Any:
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
def _eigh(a: Any, UPLO: str | None, symmetrize_input: bool) -> tuple[Any, Any]:
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
