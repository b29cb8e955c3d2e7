"""Systems of equations, inverses and determinants by factors, in terms of other primitives."""

from __future__ import annotations

from typing import Any

import numpy as np

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
from tangrad._lax.linalg.matrices import adjoint, product
from tangrad._lax.reductions.functions import reduce_max, reduce_prod, reduce_sum
from tangrad._lax.structure import functions as s
from tangrad.core import Array, literal
from tangrad.typing import Value

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


def signs_of(pivots: Value, dtype: np.dtype) -> Array:
    """The signs of the permutations that exchanges make."""
    axis = pivots.aval.ndim - 1
    moved = e.ne(pivots, s.broadcasted_iota(pivots.aval.dtype, pivots.aval.shape, axis))
    count = reduce_sum(e.convert_element_type(moved, pivots.aval.dtype), (axis,))
    odd = e.convert_element_type(e.rem(count, literal(2, count.aval.dtype)), dtype)
    return e.sub(s.full_like(odd, 1), e.mul(odd, 2))


def adjugate(a: Value, determinant_of: Any) -> Array:
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
