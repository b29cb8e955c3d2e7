"""Cholesky's factor, its update, the solution of triangular systems, and the types of the results.

Matrices are the last two dimensions of an array, vectors the last one; the dimensions before them are a batch, of one
shape for all operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.core import PrimitiveSet, ShapedArray, dtypes
from tangrad.lax.checks import FLOATING, INEXACT, check_dtype, check_same_dtype

linalg = PrimitiveSet("linalg", api=1)


@linalg.primitive(name="cholesky")
def cholesky_p(x: Any) -> Any:
    """The lower triangular L with L Lᴴ = x, of whose elements those above the diagonal are not read.

    NaN on and below the diagonal where x is not positive definite.
    """
    _check_wide("cholesky", x, "x")
    _check_ranks("cholesky", (("x", x, 2),))
    _check_square("cholesky", x, "x")
    return ShapedArray(x.shape, x.dtype)


@linalg.primitive(name="cholesky_update")
def cholesky_update_p(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangular S with Sᵀ S = Rᵀ R + w wᵀ, for an upper triangular R."""
    name = "cholesky_update"
    for operand, argument in ((r_matrix, "r_matrix"), (w_vector, "w_vector")):
        check_dtype(name, operand, (FLOATING,), argument)
    check_same_dtype(name, (r_matrix, w_vector))
    _check_ranks(name, (("r_matrix", r_matrix, 2), ("w_vector", w_vector, 1)))
    _check_square(name, r_matrix, "r_matrix")
    if r_matrix.shape[-1] != w_vector.shape[-1]:
        raise ValueError(
            f"{name}: r_matrix and w_vector must be of one size, got shapes {r_matrix.shape} and {w_vector.shape}"
        )
    return ShapedArray(r_matrix.shape, r_matrix.dtype)


@linalg.primitive(name="triangular_solve")
def triangular_solve_p(
    a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Any:
    """The X with op(a) X = b, or X op(a) = b, for a triangular matrix of which only its triangle is read."""
    name = "triangular_solve"
    for operand, argument in ((a, "a"), (b, "b")):
        check_dtype(name, operand, INEXACT, argument)
    check_same_dtype(name, (a, b))
    _check_ranks(name, (("a", a, 2), ("b", b, 2)))
    _check_square(name, a, "a")
    if a.shape[-1] != b.shape[-2 if left_side else -1]:
        side = "rows" if left_side else "columns"
        raise ValueError(f"{name}: b must have as many {side} as a, got shapes {a.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)


# --- checks --------------------------------------------------------------------------------------------------------


def _check_wide(name: str, aval: Any, argument: str) -> None:
    """Raise TypeError for what LAPACK has no functions for."""
    check_dtype(name, aval, INEXACT, argument)
    if dtypes.bit_width(aval.dtype) < 32:
        found = dtypes.dtype_name(aval.dtype)
        expected = "float32, float64, complex64 or complex128"
        raise TypeError(f"{name} does not accept dtype {found} for {argument}; expected {expected}")


def _check_ranks(name: str, operands: Sequence[tuple[str, Any, int]]) -> None:
    """Raise ValueError unless each operand has its rank or more, and all have one batch shape."""
    for argument, aval, rank in operands:
        if aval.ndim < rank:
            raise ValueError(f"{name}: {argument} must have at least {rank} dimensions, got shape {aval.shape}")
    batches = [aval.shape[: aval.ndim - rank] for _, aval, rank in operands]
    if any([batch != batches[0] for batch in batches]):
        found = " and ".join([str(aval.shape) for _, aval, _ in operands])
        raise ValueError(f"{name}: the dimensions before those of the matrices must agree, got shapes {found}")


def _check_square(name: str, aval: Any, argument: str) -> None:
    if aval.shape[-1] != aval.shape[-2]:
        raise ValueError(f"{name}: {argument} must be a square matrix, or a batch of them, got shape {aval.shape}")
