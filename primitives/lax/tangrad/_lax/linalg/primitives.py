"""Cholesky factors, triangular systems, and what linear algebra checks and expresses by other primitives."""

from __future__ import annotations

from typing import overload

from tangrad._lax.checks import COMPLEX, FLOATING, INEXACT, check_dtype, check_same_dtype, is_kind
from tangrad._lax.contractions.precision import Precision
from tangrad._lax.contractions.primitives import DotDimensionNumbers, dot_general_p
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, transpose_p
from tangrad.core import Array, PrimitiveSet, ShapedArray, dtypes, literal
from tangrad.errors import ArgumentError
from tangrad.typing import Value

# --- checks: matrices in the last two dimensions, of dtypes that LAPACK has ---


def check_wide(name: str, aval: ShapedArray, argument: str) -> None:
    """Raise TypeError for what LAPACK has no functions for."""
    check_dtype(name, aval, INEXACT, argument)
    if dtypes.bit_width(aval.dtype) < 32:
        found = dtypes.dtype_name(aval.dtype)
        expected = "float32, float64, complex64 or complex128"
        raise TypeError(f"{name} does not accept dtype {found} for {argument}; expected {expected}")


def check_ranks(name: str, operands: tuple[tuple[str, ShapedArray, int], ...]) -> None:
    """Raise ValueError unless each operand has its rank or more, and all have one batch shape."""
    for argument, aval, rank in operands:
        if aval.ndim < rank:
            raise ArgumentError(f"{name}: {argument} must have at least {rank} dimensions, got shape {aval.shape}")
    batches = [aval.shape[: aval.ndim - rank] for _, aval, rank in operands]
    if any([batch != batches[0] for batch in batches]):
        found = " and ".join([str(aval.shape) for _, aval, _ in operands])
        raise ArgumentError(f"{name}: the dimensions before those of the matrices must agree, got shapes {found}")


def check_square(name: str, aval: ShapedArray, argument: str) -> None:
    """Raise ValueError unless the matrices have as many rows as columns."""
    if aval.shape[-1] != aval.shape[-2]:
        raise ArgumentError(f"{name}: {argument} must be a square matrix, or a batch of them, got shape {aval.shape}")


INDEX = dtypes.as_dtype("int32")
_EXACTLY = (Precision.HIGHEST, Precision.HIGHEST)


# --- matrices expressed by other primitives ---


def transposed(matrix: Value) -> Array:
    """The last two dimensions exchanged."""
    rank = matrix.aval.ndim
    return transpose_p.bind(matrix, permutation=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(matrix: Value) -> Array:
    """The conjugate of the transpose."""
    return conjugated(transposed(matrix))


@overload
def conjugated(matrix: Array) -> Array: ...
@overload
def conjugated(matrix: Value) -> Value: ...
def conjugated(matrix: Value) -> Value:
    """The complex conjugate; a real matrix as it is."""
    if not is_kind(matrix.aval.dtype, (COMPLEX,)):
        return matrix
    return p.conj_p.bind(matrix)


def symmetrized(matrix: Value) -> Array:
    """(x + xᴴ) / 2."""
    return p.div_p.bind(p.add_p.bind(matrix, adjoint(matrix)), literal(2, matrix.aval.dtype, True))


def product(x: Value, y: Value) -> Array:
    """The matrix product, of pairs in two batches of one shape, at the highest precision."""
    rank = x.aval.ndim
    batch = tuple(range(rank - 2))
    numbers = DotDimensionNumbers((((rank - 1,), (rank - 2,)), (batch, batch)))
    return dot_general_p.bind(x, y, dimension_numbers=numbers, precision=_EXACTLY, preferred_element_type=None)


def lower_triangle(matrix: Value, k: int = 0) -> Array:
    """The matrix with 0 above diagonal k, which counts from the main one upwards."""
    return p.select_n_p.bind(_from_diagonal(matrix.aval, k), _zeros(matrix.aval), matrix)


def upper_triangle(matrix: Value, k: int = 0) -> Array:
    """The matrix with 0 below diagonal k, which counts from the main one upwards."""
    return p.select_n_p.bind(_from_diagonal(matrix.aval, k - 1), matrix, _zeros(matrix.aval))


def halved_diagonal(matrix: Value) -> Array:
    """The matrix with half of its diagonal."""
    aval = matrix.aval
    diagonal = p.convert_element_type_p.bind(p.eq_p.bind(*_indices(aval)), new_dtype=aval.dtype, weak_type=False)
    return p.div_p.bind(matrix, _for_each_matrix(p.add_p.bind(literal(1, aval.dtype), diagonal), aval))


def _from_diagonal(aval: ShapedArray, k: int) -> Value:
    """Whether an element is on diagonal k or below it."""
    rows, columns = _indices(aval)
    return _for_each_matrix(p.ge_p.bind(p.add_p.bind(rows, literal(k, INDEX)), columns), aval)


def _indices(aval: ShapedArray) -> tuple[Array, Array]:
    shape = aval.shape[-2:]
    rows, columns = [iota_p.bind(dtype=INDEX, shape=shape, dimension=d) for d in (0, 1)]
    return rows, columns


def _for_each_matrix(mask: Value, aval: ShapedArray) -> Value:
    rank = aval.ndim
    if rank == 2:
        return mask
    return broadcast_in_dim_p.bind(mask, shape=aval.shape, broadcast_dimensions=(rank - 2, rank - 1))


def _zeros(aval: ShapedArray) -> Array:
    return broadcast_in_dim_p.bind(literal(0, aval.dtype), shape=aval.shape, broadcast_dimensions=())


# --- the primitives ---

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
        raise ArgumentError(
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
        raise ArgumentError(f"{name}: b must have as many {side} as a, got shapes {a.shape} and {b.shape}")
    return ShapedArray(b.shape, b.dtype)
