"""Matrices said with other primitives: transposes, triangles, products."""

from __future__ import annotations

from typing import TypeVar

from tangrad._lax.checks import COMPLEX, is_kind
from tangrad._lax.contractions.precision import Precision
from tangrad._lax.contractions.primitives import DotDimensionNumbers, dot_general_p
from tangrad._lax.elementwise import primitives as p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p, transpose_p
from tangrad.core import Array, ShapedArray, dtypes, literal
from tangrad.typing import Value

INDEX = dtypes.as_dtype("int32")
M = TypeVar("M", bound=Value)
_EXACTLY = (Precision.HIGHEST, Precision.HIGHEST)


def transposed(matrix: Value) -> Array:
    """The last two dimensions exchanged."""
    rank = matrix.aval.ndim
    return transpose_p.bind(matrix, permutation=(*range(rank - 2), rank - 1, rank - 2))


def adjoint(matrix: Value) -> Array:
    """The conjugate of the transpose."""
    return conjugated(transposed(matrix))


def conjugated(matrix: M) -> M:
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
    return tuple([iota_p.bind(dtype=INDEX, shape=shape, dimension=d) for d in (0, 1)])


def _for_each_matrix(mask: Value, aval: ShapedArray) -> Value:
    rank = aval.ndim
    if rank == 2:
        return mask
    return broadcast_in_dim_p.bind(mask, shape=aval.shape, broadcast_dimensions=(rank - 2, rank - 1))


def _zeros(aval: ShapedArray) -> Array:
    return broadcast_in_dim_p.bind(literal(0, aval.dtype), shape=aval.shape, broadcast_dimensions=())
