"""Decompositions of matrices, and the types of their results.

Matrices are the last two dimensions of an array; those before them are a batch. What fails for a matrix (NaN in it,
iterations that do not converge) gives NaN for it, and leaves the others of the batch alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._lax.checks import INTEGER, check_dtype, check_int, check_same_dtype
from tangrad._lax.decompositions.algebra import cropped, padded
from tangrad._lax.decompositions.composites import householder_product as _householder_product
from tangrad._lax.linalg.checks import check_ranks, check_square, check_wide
from tangrad._lax.linalg.matrices import upper_triangle
from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes
from tangrad.typing import DType, Value

decompositions = PrimitiveSet("decompositions", api=1)

INDEX = dtypes.as_dtype("int32")


def _matrix(
    name: str, x: ShapedArray, argument: str = "x", square: bool = False
) -> tuple[tuple[Any, ...], Any, Any, Any]:
    """The batch, rows and columns of an operand, and the lesser of the two."""
    check_wide(name, x, argument)
    check_ranks(name, ((argument, x, 2),))
    if square:
        check_square(name, x, argument)
    rows, columns = x.shape[-2:]
    return x.shape[:-2], rows, columns, min(rows, columns)


def _real(dtype: DType) -> np.dtype:
    return dtypes.to_floating_dtype(dtype)


def _complex(dtype: DType) -> np.dtype:
    return dtypes.as_dtype("complex64" if dtypes.dtype_name(dtype) in ("float32", "complex64") else "complex128")


# --- LU ------------------------------------------------------------------------------------------------------------


@decompositions.primitive(name="lu", multiple_results=True)
def lu_p(x: ShapedArray) -> tuple[ShapedArray, ...]:
    """L without its diagonal of ones and U in one matrix, the row that each row was exchanged with, the permutation.

    x[permutation] = L U.
    """
    batch, rows, _, least = _matrix("lu", x)
    return (
        ShapedArray(x.shape, x.dtype),
        ShapedArray((*batch, least), INDEX),
        ShapedArray((*batch, rows), INDEX),
    )


@decompositions.primitive(name="lu_pivots_to_permutation")
def lu_pivots_to_permutation_p(pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
    """The permutation that exchanging row i with row pivots[i], in the order of i, makes."""
    name = "lu_pivots_to_permutation"
    check_dtype(name, pivots, (INTEGER,), "pivots")
    check_ranks(name, (("pivots", pivots, 1),))
    if check_int(name, permutation_size, "permutation_size") < pivots.shape[-1]:
        raise ValueError(
            f"{name}: permutation_size must be at least the number of pivots ({pivots.shape[-1]}), "
            f"got {permutation_size}"
        )
    return ShapedArray((*pivots.shape[:-1], permutation_size), pivots.dtype)


# --- QR ------------------------------------------------------------------------------------------------------------


@decompositions.primitive(name="geqrf", multiple_results=True)
def geqrf_p(a: ShapedArray) -> tuple[ShapedArray, ...]:
    """R with the Householder vectors below it, as LAPACK keeps them, and the factors of the reflections."""
    batch, _, _, least = _matrix("geqrf", a, "a")
    return ShapedArray(a.shape, a.dtype), ShapedArray((*batch, least), a.dtype)


@decompositions.primitive(name="geqp3", multiple_results=True)
def geqp3_p(a: ShapedArray) -> tuple[ShapedArray, ...]:
    """As geqrf, of the columns in an order in which the diagonal of R falls; and that order."""
    batch, _, columns, least = _matrix("geqp3", a, "a")
    return (
        ShapedArray(a.shape, a.dtype),
        ShapedArray((*batch, least), a.dtype),
        ShapedArray((*batch, columns), INDEX),
    )


@decompositions.primitive(name="householder_product", decompose=_householder_product)
def householder_product_p(a: ShapedArray, taus: ShapedArray) -> ShapedArray:
    """The first columns of the product of the reflections that geqrf made."""
    name = "householder_product"
    _, rows, columns, _ = _matrix(name, a, "a")
    check_same_dtype(name, (a, taus))
    check_ranks(name, (("a", a, 2), ("taus", taus, 1)))
    if rows < columns:
        raise ValueError(f"{name}: a must have at least as many rows as columns, got shape {a.shape}")
    if taus.shape[-1] > columns:
        raise ValueError(f"{name}: taus must be at most as many as a has columns, got shapes {taus.shape}, {a.shape}")
    return ShapedArray(a.shape, a.dtype)


def _qr(x: Value, *, pivoting: bool, full_matrices: bool) -> tuple[Array, ...]:
    rows, columns = x.aval.shape[-2:]
    inner = rows if full_matrices else min(rows, columns)
    packed, taus, *order = (geqp3_p if pivoting else geqrf_p).bind(x)
    vectors = cropped(padded(packed, rows, max(inner, columns)), rows, inner)
    return householder_product_p.bind(vectors, taus), upper_triangle(cropped(packed, inner, columns)), *order


@decompositions.primitive(name="qr", multiple_results=True, decompose=_qr)
def qr_p(x: ShapedArray, *, pivoting: bool, full_matrices: bool) -> tuple[ShapedArray, ...]:
    """Q with orthonormal columns and R upper triangular, Q R = x; with pivoting, of x[:, p], and p."""
    batch, rows, columns, least = _matrix("qr", x)
    inner = rows if full_matrices else least
    factors = ShapedArray((*batch, rows, inner), x.dtype), ShapedArray((*batch, inner, columns), x.dtype)
    return (*factors, ShapedArray((*batch, columns), INDEX)) if pivoting else factors


# --- singular values, eigenvalues ----------------------------------------------------------------------------------


@decompositions.primitive(name="svd", multiple_results=True)
def svd_p(x: ShapedArray, *, full_matrices: bool, compute_uv: bool) -> tuple[ShapedArray, ...]:
    """U, the singular values in descending order, and Vᴴ; or the values alone."""
    batch, rows, columns, least = _matrix("svd", x)
    values = ShapedArray((*batch, least), _real(x.dtype))
    if not compute_uv:
        return (values,)
    left = ShapedArray((*batch, rows, rows if full_matrices else least), x.dtype)
    return left, values, ShapedArray((*batch, columns if full_matrices else least, columns), x.dtype)


@decompositions.primitive(name="eigh", multiple_results=True)
def eigh_p(x: ShapedArray, *, lower: bool) -> tuple[ShapedArray, ...]:
    """The eigenvectors, as columns, and the eigenvalues in ascending order, of Hermitian matrices.

    Only the lower or the upper triangle is read.
    """
    batch, size, _, _ = _matrix("eigh", x, square=True)
    return ShapedArray(x.shape, x.dtype), ShapedArray((*batch, size), _real(x.dtype))


@decompositions.primitive(name="eig", multiple_results=True)
def eig_p(
    x: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool
) -> tuple[ShapedArray, ...]:
    """The eigenvalues, and on request the left and the right eigenvectors as columns, of length 1."""
    batch, size, _, _ = _matrix("eig", x, square=True)
    dtype = _complex(x.dtype)
    wanted = compute_left_eigenvectors + compute_right_eigenvectors
    return (ShapedArray((*batch, size), dtype), *[ShapedArray(x.shape, dtype)] * wanted)


# --- reduced forms -------------------------------------------------------------------------------------------------


@decompositions.primitive(name="schur", multiple_results=True)
def schur_p(x: ShapedArray, *, compute_schur_vectors: bool) -> tuple[ShapedArray, ...]:
    """T, triangular but for blocks of two rows in real matrices, and on request the unitary Z with x = Z T Zᴴ."""
    _matrix("schur", x, square=True)
    return (ShapedArray(x.shape, x.dtype),) * (2 if compute_schur_vectors else 1)


@decompositions.primitive(name="hessenberg", multiple_results=True)
def hessenberg_p(a: ShapedArray) -> tuple[ShapedArray, ...]:
    """The Hessenberg form with the Householder vectors below it, as LAPACK keeps them, and the factors."""
    batch, size, _, _ = _matrix("hessenberg", a, "a", square=True)
    return ShapedArray(a.shape, a.dtype), ShapedArray((*batch, max(size - 1, 0)), a.dtype)


@decompositions.primitive(name="tridiagonal", multiple_results=True)
def tridiagonal_p(a: ShapedArray, *, lower: bool) -> tuple[ShapedArray, ...]:
    """Householder vectors as LAPACK keeps them, the diagonal, the one beside it, and the factors of the reflections."""
    batch, size, _, _ = _matrix("tridiagonal", a, "a", square=True)
    real = _real(a.dtype)
    off = (*batch, max(size - 1, 0))
    return (
        ShapedArray(a.shape, a.dtype),
        ShapedArray((*batch, size), real),
        ShapedArray(off, real),
        ShapedArray(off, a.dtype),
    )
