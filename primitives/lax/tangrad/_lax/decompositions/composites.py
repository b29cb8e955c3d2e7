"""What some primitives are made of, in terms of others: their decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._lax.decompositions.algebra import column, cropped, with_diagonal
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.functions import triangular_solve
from tangrad._lax.linalg.matrices import adjoint, conjugated, lower_triangle, product, upper_triangle
from tangrad._lax.structure import functions as s
from tangrad.typing import Value

if TYPE_CHECKING:
    from tangrad.core import Array


def accumulated(a: Value, taus: Value) -> tuple[Any, Any, Any]:
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


def reflected(a: Any, taus: Any, c: Any, inversely: bool) -> Array:
    """The product of reflections, or its inverse, times other matrices."""
    vectors, mixing, factors = accumulated(a, taus)
    inner = product(adjoint(vectors), c)
    if inversely:
        solved = triangular_solve(mixing, inner, left_side=True, transpose_a=True, conjugate_a=True)
        return e.sub(c, product(vectors, e.mul(conjugated(factors), solved)))
    return e.sub(c, product(vectors, triangular_solve(mixing, e.mul(factors, inner), left_side=True)))
