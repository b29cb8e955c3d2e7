"""Cholesky's factor, its update, the solution of triangular systems, and the types of the results.

Matrices are the last two dimensions of an array, vectors the last one; the dimensions before them are a batch, of one
shape for all operands.
"""

from __future__ import annotations

from tangrad._lax.checks import FLOATING, INEXACT, check_dtype, check_same_dtype
from tangrad._lax.linalg.checks import check_ranks, check_square, check_wide
from tangrad.core import PrimitiveSet, ShapedArray

linalg = PrimitiveSet("linalg", api=1)


@linalg.primitive(name="cholesky")
def cholesky_p(x: ShapedArray) -> ShapedArray:
    """The lower triangular L with L Lᴴ = x, of whose elements those above the diagonal are not read.

    NaN on and below the diagonal where x is not positive definite.
    """
    check_wide("cholesky", x, "x")
    check_ranks("cholesky", (("x", x, 2),))
    check_square("cholesky", x, "x")
    return ShapedArray(x.shape, x.dtype)


@linalg.primitive(name="cholesky_update")
def cholesky_update_p(r_matrix: ShapedArray, w_vector: ShapedArray) -> ShapedArray:
    """The upper triangular S with Sᵀ S = Rᵀ R + w wᵀ, for an upper triangular R."""
    name = "cholesky_update"
    for operand, argument in ((r_matrix, "r_matrix"), (w_vector, "w_vector")):
        check_dtype(name, operand, (FLOATING,), argument)
    check_same_dtype(name, (r_matrix, w_vector))
    check_ranks(name, (("r_matrix", r_matrix, 2), ("w_vector", w_vector, 1)))
    check_square(name, r_matrix, "r_matrix")
    if r_matrix.shape[-1] != w_vector.shape[-1]:
        raise ValueError(
            f"{name}: r_matrix and w_vector must be of one size, got shapes {r_matrix.shape} and {w_vector.shape}"
        )
    return ShapedArray(r_matrix.shape, r_matrix.dtype)


@linalg.primitive(name="triangular_solve")
def triangular_solve_p(
    a: ShapedArray,
    b: ShapedArray,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> ShapedArray:
    """The X with op(a) X = b, or X op(a) = b, for a triangular matrix of which only its triangle is read."""
    name = "triangular_solve"
    for operand, argument in ((a, "a"), (b, "b")):
        check_dtype(name, operand, INEXACT, argument)
    check_same_dtype(name, (a, b))
    check_ranks(name, (("a", a, 2), ("b", b, 2)))
    check_square(name, a, "a")
    if a.shape[-1] != b.shape[-2 if left_side else -1]:
        side = "rows" if left_side else "columns"
        raise ValueError(f"{name}: b must have as many {side} as a, got shapes {a.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)
