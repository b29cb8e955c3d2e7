"""Linear systems, and what is defined by them, by factors: inverses of several sorts and determinants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tangrad._lax.checks import check_same_dtype
from tangrad._lax.decompositions.algebra import (
    diagonal_of,
    inverse_permutation,
    row,
    safe_reciprocal,
    take_rows,
    with_diagonal,
)
from tangrad._lax.decompositions.primitives import eigh_p, lu_p, svd_p
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.functions import triangular_solve
from tangrad._lax.linalg.primitives import adjoint, check_ranks, check_square, check_wide, product
from tangrad._lax.operands import operand as as_lax_operand
from tangrad._lax.reductions.functions import reduce_max, reduce_prod, reduce_sum
from tangrad._lax.structure import functions as s
from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.typing import ArrayLike, Value

# What `trans` of `solve_by_factors` means.
PLAIN, TRANSPOSED, ADJOINT = 0, 1, 2


def solve_by_factors(lu: Value, permutation: Value, b: Value, trans: int = PLAIN) -> Array:
    """The X with op(A) X = B, for the A with A[permutation] = L U."""
    if trans == PLAIN:
        below = triangular_solve(lu, take_rows(b, permutation), left_side=True, lower=True, unit_diagonal=True)
        return triangular_solve(lu, below, left_side=True)
    options = {"left_side": True, "transpose_a": True, "conjugate_a": trans == ADJOINT}
    above = triangular_solve(lu, b, **options)
    found = triangular_solve(lu, above, lower=True, unit_diagonal=True, **options)
    return take_rows(found, inverse_permutation(permutation))


def solve(a: Value, b: Value) -> Array:
    """The X with A X = B."""
    lu, _, permutation = lu_p.bind(a)
    return solve_by_factors(lu, permutation, b)


def determinant(a: Value) -> Array:
    """The product of the diagonal of U, with the sign of the permutation."""
    lu, pivots, _ = lu_p.bind(a)
    signs = signs_of(pivots, a.aval.dtype)
    factors = diagonal_of(lu)
    return e.mul(reduce_prod(factors, (factors.aval.ndim - 1,)), signs)


def log_determinant(a: Value) -> tuple[Array, Array]:
    """The sign of the determinant, and the logarithm of its size."""
    lu, pivots, _ = lu_p.bind(a)
    return log_determinant_of(lu, pivots)


def log_determinant_of(lu: Value, pivots: Value) -> tuple[Array, Array]:
    """The same of factors, which make their product neither overflow nor vanish."""
    factors = diagonal_of(lu)
    axes = (factors.aval.ndim - 1,)
    sign = e.mul(reduce_prod(e.sign(factors), axes), signs_of(pivots, lu.aval.dtype))
    return sign, reduce_sum(e.log(e.abs(factors)), axes)


def signs_of(pivots: Value, dtype: np.dtype) -> Array:
    """The signs of the permutations that exchanges make."""
    axis = pivots.aval.ndim - 1
    moved = e.ne(pivots, s.broadcasted_iota(pivots.aval.dtype, pivots.aval.shape, axis))
    count = reduce_sum(e.convert_element_type(moved, pivots.aval.dtype), (axis,))
    odd = e.convert_element_type(e.rem(count, literal(2, count.aval.dtype)), dtype)
    return e.sub(s.full_like(odd, 1), e.mul(odd, 2))


def adjugate(a: Value, determinant_of: Callable[..., Array]) -> Array:
    """det(U Vᴴ) V S' Uᴴ for a = U S Vᴴ, where S' has on its diagonal the products of all other singular values.

    So it is right where the matrix is singular.
    """
    u, values, vh = svd_p.bind(a, full_matrices=False, compute_uv=True)
    shape = (*values.aval.shape, values.aval.shape[-1])
    each = s.broadcast_in_dim(values, shape, (*range(values.aval.ndim - 1), values.aval.ndim))
    others = e.convert_element_type(reduce_prod(with_diagonal(each, 1), (len(shape) - 1,)), a.aval.dtype)
    phase = determinant_of(product(u, vh))
    scaled = e.mul(adjoint(vh), row(others))
    return e.mul(product(scaled, adjoint(u)), s.expand_dims(phase, (phase.aval.ndim, phase.aval.ndim + 1)))


def pseudoinverse(a: Value, rtol: Value, *, hermitian: bool) -> Array:
    """V S⁺ Uᴴ: singular values up to rtol times the greatest are taken for 0."""
    if 0 in a.aval.shape:
        return s.full((*a.aval.shape[:-2], a.aval.shape[-1], a.aval.shape[-2]), 0, a.aval.dtype)
    if hermitian:
        u, values = eigh_p.bind(a, lower=True)
        vh, sizes = adjoint(u), e.abs(values)
    else:
        u, values, vh = svd_p.bind(a, full_matrices=False, compute_uv=True)
        sizes = values
    greatest = reduce_max(sizes, (sizes.aval.ndim - 1,))
    limit = s.broadcast_in_dim(e.mul(rtol, greatest), sizes.aval.shape, tuple(range(greatest.aval.ndim)))
    small = e.le(sizes, limit)
    kept = e.select(small, s.zeros_like_array(values), safe_reciprocal(values))
    scaled = e.mul(adjoint(vh), row(e.convert_element_type(kept, a.aval.dtype)))
    return product(scaled, adjoint(u))


# --- the primitives ---

systems = PrimitiveSet("systems", api=1)


@systems.primitive(name="solve", decompose=solve)
def solve_p(a: ShapedArray, b: ShapedArray) -> ShapedArray:
    """The X with a X = b, for square matrices a; infinities and NaN where a is singular."""
    name = "solve"
    for operand, argument in ((a, "a"), (b, "b")):
        check_wide(name, operand, argument)
    check_same_dtype(name, (a, b))
    check_ranks(name, (("a", a, 2), ("b", b, 2)))
    check_square(name, a, "a")
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"{name}: b must have as many rows as a, got shapes {a.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)


@systems.primitive(name="determinant", decompose=determinant)
def determinant_p(a: ShapedArray) -> ShapedArray:
    """The determinants of square matrices."""
    check_wide("determinant", a, "a")
    check_ranks("determinant", (("a", a, 2),))
    check_square("determinant", a, "a")
    return ShapedArray(a.shape[:-2], a.dtype)


@systems.primitive(name="log_determinant", decompose=log_determinant, multiple_results=True)
def log_determinant_p(a: ShapedArray) -> tuple[ShapedArray, ShapedArray]:
    """The signs of determinants, complex numbers of size 1 for complex ones, and the logarithms of their sizes."""
    check_wide("log_determinant", a, "a")
    check_ranks("log_determinant", (("a", a, 2),))
    check_square("log_determinant", a, "a")
    return ShapedArray(a.shape[:-2], a.dtype), ShapedArray(a.shape[:-2], dtypes.to_floating_dtype(a.dtype))


def _adjugate(a: Value) -> Value:
    return adjugate(a, determinant_p.bind)


@systems.primitive(name="adjugate", decompose=_adjugate)
def adjugate_p(a: ShapedArray) -> ShapedArray:
    """The transposed cofactors: det(a) a⁻¹, where a is singular too."""
    check_wide("adjugate", a, "a")
    check_ranks("adjugate", (("a", a, 2),))
    check_square("adjugate", a, "a")
    return ShapedArray(a.shape, a.dtype)


@systems.primitive(name="pseudoinverse", decompose=pseudoinverse)
def pseudoinverse_p(a: ShapedArray, rtol: ShapedArray, *, hermitian: bool) -> ShapedArray:
    """Moore and Penrose's inverse; singular values up to `rtol` times the greatest are taken for 0."""
    name = "pseudoinverse"
    check_wide(name, a, "a")
    check_ranks(name, (("a", a, 2), ("rtol", rtol, 0)))
    if hermitian:
        check_square(name, a, "a")
    if rtol.dtype != dtypes.to_floating_dtype(a.dtype):
        raise TypeError(f"{name}: rtol must be of the real dtype of a, got {dtypes.dtype_name(rtol.dtype)}")
    return ShapedArray((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype)


@systems.primitive(name="tridiagonal_solve")
def tridiagonal_solve_p(
    dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *, perturb_singular: bool
) -> ShapedArray:
    """The X with T X = b, where T has the diagonals dl (its first element is not read), d, and du (nor its last)."""
    name = "tridiagonal_solve"
    operands = (("dl", dl), ("d", d), ("du", du), ("b", b))
    for argument, operand in operands:
        check_wide(name, operand, argument)
    check_same_dtype(name, [operand for _, operand in operands])
    check_ranks(name, (("dl", dl, 1), ("d", d, 1), ("du", du, 1), ("b", b, 2)))
    for argument, operand in operands[:3]:
        if operand.shape[-1] != b.shape[-2]:
            raise ValueError(
                f"{name}: {argument} must be as long as b has rows, got shapes {operand.shape} and {b.shape}"
            )
    return ShapedArray(b.shape, b.dtype)


# --- the public function ---


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """The solution X of T X = B, for a tridiagonal T.

    Args:
        dl: the diagonal below the main one, of shape (..., n); its first element is not read.
        d: the diagonal, of shape (..., n).
        du: the diagonal above it, of shape (..., n); its last element is not read.
        b: an array of shape (..., n, k) and the same dtype.
        perturb_singular: whether to move pivots away from 0 by about the precision of the numbers, so that the solution
            is finite where T is singular: what inverse iteration for eigenvectors needs. Not on TPUs.

    Returns:
        An array of the type of `b`; infinities and NaN where T is singular, without `perturb_singular`.

    Raises:
        TypeError: for dtypes that are not float32, float64, complex64 or complex128, or differ.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> tangrad.lax.linalg.tridiagonal_solve(
    ...     np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([0.0, 0.0]), np.array([[1.0], [5.0]])
    ... )
    Array([[1.],
           [2.]], dtype=float32)
    """
    name = "tridiagonal_solve"
    operands = [as_lax_operand(name, x, argument) for x, argument in ((dl, "dl"), (d, "d"), (du, "du"), (b, "b"))]
    return tridiagonal_solve_p.bind(*operands, perturb_singular=bool(perturb_singular))
