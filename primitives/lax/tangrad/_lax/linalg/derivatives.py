"""The derivatives of factorisations and solutions, and the transpose of triangular systems."""

from __future__ import annotations

from typing import Any

from tangrad._lax.elementwise.primitives import add_p, mul_p, neg_p
from tangrad._lax.linalg.primitives import (
    cholesky_p,
    cholesky_update_p,
    conjugated,
    halved_diagonal,
    lower_triangle,
    product,
    transposed,
    triangular_solve_p,
    upper_triangle,
)
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.autodiff import Linear, Zero, add_tangents, instantiate, is_linear, symbolic_zeros
from tangrad.core import Array, RuleSet
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)


# --- Cholesky ---


@jvp.rule(cholesky_p)
def _cholesky(primals: Values, tangents: Values) -> tuple[Value, Value]:
    factor = cholesky_p.bind(primals[0])
    return factor, _factor_tangent(factor, tangents[0])


def _factor_tangent(factor: Value, tangent: Value) -> Array:
    """How L changes with L Lᴴ: L Φ(L⁻¹ Ẋ L⁻ᴴ), where Φ takes the lower triangle, and half of the diagonal.

    Murray, Differentiation of the Cholesky decomposition, 2016, arXiv:1602.07527.
    """
    solve = {"lower": True, "unit_diagonal": False}
    half = triangular_solve_p.bind(
        factor, tangent, left_side=False, transpose_a=True, conjugate_a=_is_complex(factor), **solve
    )
    whole = triangular_solve_p.bind(factor, half, left_side=True, transpose_a=False, conjugate_a=False, **solve)
    return product(factor, halved_diagonal(lower_triangle(whole)))


def _is_complex(matrix: Value) -> bool:
    return bool(matrix.aval.dtype.kind == "c")


@jvp.rule(cholesky_update_p)
@symbolic_zeros
def _cholesky_update(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    """That of the factor of RᵀR + wwᵀ; what it is made of is symmetric, which halves the products."""
    (matrix, vector), (matrix_tangent, vector_tangent) = primals, tangents
    out = cholesky_update_p.bind(matrix, vector)
    total: Any = Zero.of(out)
    if type(matrix_tangent) is not Zero:
        total = add_tangents(total, product(transposed(matrix), upper_triangle(matrix_tangent)))
    if type(vector_tangent) is not Zero:
        total = add_tangents(total, _outer(vector, vector_tangent))
    return out, transposed(_factor_tangent(transposed(out), add_p.bind(total, transposed(total))))


def _outer(x: Value, y: Value) -> Array:
    """x yᵀ, for each pair of vectors."""
    rank = x.aval.ndim
    shape = (*x.aval.shape, x.aval.shape[-1])
    column = broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(range(rank)))
    row = broadcast_in_dim_p.bind(y, shape=shape, broadcast_dimensions=(*range(rank - 1), rank))
    return mul_p.bind(column, row)


# --- triangular systems ---


@jvp.rule(triangular_solve_p)
@symbolic_zeros
def _triangular_solve(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: object
) -> tuple[Value, Value | Zero]:
    (a, b), (a_tangent, b_tangent) = primals, tangents
    out = triangular_solve_p.bind(a, b, **params)
    total: Any = Zero.of(out)
    if type(a_tangent) is not Zero:
        total = _by_matrix(a, a_tangent, out, **params)
    if type(b_tangent) is not Zero:
        total = add_tangents(total, triangular_solve_p.bind(a, instantiate(b_tangent), **params))
    return out, total


def _by_matrix(a: Value, tangent: Value, out: Value, **params: object) -> Array:
    """-A⁻¹ Ȧ X, or -X Ȧ A⁻¹, in the order that takes fewer operations."""
    offset = 1 if params["unit_diagonal"] else 0
    tangent = lower_triangle(tangent, -offset) if params["lower"] else upper_triangle(tangent, offset)
    tangent = neg_p.bind(tangent)
    if params["transpose_a"]:
        tangent = transposed(tangent)
    if params["conjugate_a"]:
        tangent = conjugated(tangent)
    rows, columns = out.aval.shape[-2:]
    if params["left_side"]:
        if rows > columns:
            return triangular_solve_p.bind(a, product(tangent, out), **params)
        return product(triangular_solve_p.bind(a, tangent, **params), out)
    if rows < columns:
        return triangular_solve_p.bind(a, product(out, tangent), **params)
    return product(out, triangular_solve_p.bind(a, tangent, **params))


# --- cotangents ---

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", cholesky_p, cholesky_update_p)


@transpose.rule(triangular_solve_p)
def _triangular_solve_transposed(
    ct: Value, a: Value | Linear, b: Value | Linear, *, transpose_a: bool, **params: object
) -> tuple[Value | None, ...]:
    if is_linear(a):
        raise TypeError("triangular_solve is linear in b, not in a")
    return None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)
