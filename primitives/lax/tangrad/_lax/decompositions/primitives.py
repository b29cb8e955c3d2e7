"""Decompositions of matrices: the algorithms that there are for them, and the types of their results."""

from __future__ import annotations

import enum

import numpy as np

from tangrad._lax.checks import INTEGER, check_dtype, check_int, check_same_dtype
from tangrad._lax.decompositions.algebra import column, cropped, padded, with_diagonal
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.functions import triangular_solve
from tangrad._lax.linalg.primitives import (
    adjoint,
    check_ranks,
    check_square,
    check_wide,
    conjugated,
    lower_triangle,
    product,
    upper_triangle,
)
from tangrad._lax.structure import functions as s
from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes
from tangrad.core.caches import exact_equality
from tangrad.typing import DType, Value


@exact_equality
class SvdAlgorithm(enum.Enum):
    """Ways to a singular value decomposition: on CPUs all but JACOBI and POLAR, which come to the same.

    >>> import numpy as np
    >>> import tangrad
    >>> x = np.array([[2.0, 0.0], [0.0, 1.0]])
    >>> tangrad.lax.linalg.svd(x, compute_uv=False, algorithm=tangrad.lax.linalg.SvdAlgorithm.QR)
    Array([2., 1.], dtype=float32)
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@exact_equality
class EighImplementation(enum.Enum):
    """Ways to the eigenvalues of Hermitian matrices: on CPUs there is QR.

    >>> import tangrad
    >>> tangrad.lax.linalg.EighImplementation("qr")
    <EighImplementation.QR: 'qr'>
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@exact_equality
class EigImplementation(enum.Enum):
    """Libraries for the eigenvalues of other matrices: on CPUs there is LAPACK.

    >>> import tangrad
    >>> tangrad.lax.linalg.EigImplementation("lapack")
    <EigImplementation.LAPACK: 'lapack'>
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


_OF_LAPACK: dict[type[enum.Enum], tuple[enum.Enum, ...]] = {
    SvdAlgorithm: (SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER),
    EighImplementation: (EighImplementation.QR,),
    EigImplementation: (EigImplementation.LAPACK,),
}


def check_algorithm(name: str, argument: str, kind: type[enum.Enum], value: object) -> None:
    """Raise TypeError for what is no algorithm, NotImplementedError for one that is not there; None is the usual."""
    if value is None:
        return
    if not isinstance(value, kind):
        raise TypeError(f"{name}: {argument} must be a lax.linalg.{kind.__name__} or None, got {value!r}")
    available = _OF_LAPACK[kind]
    if value not in available:
        names = ", ".join([item.name for item in available])
        raise NotImplementedError(f"{name}: {argument} {value.name} is not there; there are: {names}")


# --- what some are made of, in terms of others: their decompositions ---


def accumulated(a: Value, taus: Value) -> tuple[Array, Array, Array]:
    """V, M and D, with which the product of reflections is I - V M⁻¹ D Vᴴ.

    D has the factors τ on its diagonal, and M = I + D S, where S has the products of the vectors above its diagonal.
    That is (D⁻¹ + S)⁻¹ of Joffrain, Low, Quintana-Ortí, van de Geijn, Van Zee, Accumulating Householder
    transformations, revisited, ACM TOMS 32, 2006, without the reciprocals: a factor may be 0.
    """
    rows, count = a.aval.shape[-2], taus.aval.shape[-1]
    vectors = with_diagonal(lower_triangle(cropped(a, rows, count), -1), 1)
    factors = column(taus)
    products = upper_triangle(product(adjoint(vectors), vectors), 1)
    return vectors, with_diagonal(e.mul(factors, products), 1), factors


def householder_product(a: Value, taus: Value) -> Array:
    """The first columns of the product of reflections."""
    vectors, mixing, factors = accumulated(a, taus)
    first = adjoint(cropped(vectors, a.aval.shape[-1], taus.aval.shape[-1]))
    inner = triangular_solve(mixing, e.mul(factors, first), left_side=True)
    return e.sub(with_diagonal(s.zeros_like_array(a), 1), product(vectors, inner))


def reflected(a: Array, taus: Array, c: Array, inversely: bool) -> Array:
    """The product of reflections, or its inverse, times other matrices."""
    vectors, mixing, factors = accumulated(a, taus)
    inner = product(adjoint(vectors), c)
    if inversely:
        solved = triangular_solve(mixing, inner, left_side=True, transpose_a=True, conjugate_a=True)
        return e.sub(c, product(vectors, e.mul(conjugated(factors), solved)))
    return e.sub(c, product(vectors, triangular_solve(mixing, e.mul(factors, inner), left_side=True)))


# --- the primitives ---

decompositions = PrimitiveSet("decompositions", api=1)

INDEX = dtypes.as_dtype("int32")


def _matrix(
    name: str, x: ShapedArray, argument: str = "x", square: bool = False
) -> tuple[tuple[int, ...], int, int, int]:
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


# --- LU ---


@decompositions.primitive(name="lu", multiple_results=True)
def lu_p(x: ShapedArray) -> tuple[ShapedArray, ShapedArray, ShapedArray]:
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


# --- QR ---


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


@decompositions.primitive(name="householder_product", decompose=householder_product)
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


# --- singular values, eigenvalues ---


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


# --- reduced forms ---


@decompositions.primitive(name="schur", multiple_results=True)
def schur_p(x: ShapedArray, *, compute_schur_vectors: bool) -> tuple[ShapedArray, ...]:
    """T, triangular but for blocks of two rows in real matrices, and on request the unitary Z with x = Z T Zᴴ."""
    _matrix("schur", x, square=True)
    return (ShapedArray(x.shape, x.dtype),) * (2 if compute_schur_vectors else 1)


@decompositions.primitive(name="hessenberg", multiple_results=True)
def hessenberg_p(a: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
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
