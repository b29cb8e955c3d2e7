"""What some primitives are made of, in terms of others: their decompositions."""

from __future__ import annotations

from typing import Any

from tangrad.lax.elementwise import functions as e
from tangrad.lax.linalg.functions import triangular_solve
from tangrad.lax.linalg.matrices import adjoint, lower_triangle, product, upper_triangle
from tangrad.lax.structure import functions as s
from tangrad.linalg.algebra import cropped, on_diagonal, with_diagonal


def accumulated(a: Any, taus: Any) -> tuple[Any, Any]:
    """V and T⁻¹, with which the product of reflections is I - V T Vᴴ.

    T⁻¹ has 1 / τ on its diagonal and the products of the vectors above it: Joffrain, Low, Quintana-Ortí, van de Geijn,
    Van Zee, Accumulating Householder transformations, revisited, ACM TOMS 32, 2006. A reflection with τ = 0 is none:
    its vector is taken for 0.
    """
    rows, count = a.aval.shape[-2], taus.aval.shape[-1]
    absent = e.eq(taus, s.zeros_like_array(taus))
    vectors = with_diagonal(lower_triangle(cropped(a, rows, count), -1), 1)
    kept = s.broadcast_in_dim(absent, vectors.aval.shape, (*range(taus.aval.ndim - 1), taus.aval.ndim))
    vectors = e.select(kept, s.zeros_like_array(vectors), vectors)
    one = s.full_like(taus, 1)
    scales = e.div(one, e.select(absent, one, taus))
    return vectors, e.add(upper_triangle(product(adjoint(vectors), vectors), 1), on_diagonal(scales))


def householder_product(a: Any, taus: Any) -> Any:
    """The first columns of the product of reflections."""
    vectors, inverse = accumulated(a, taus)
    first = adjoint(cropped(vectors, a.aval.shape[-1], taus.aval.shape[-1]))
    reflected = product(vectors, triangular_solve(inverse, first, left_side=True))
    return e.sub(with_diagonal(s.zeros_like_array(a), 1), reflected)


def reflected(a: Any, taus: Any, c: Any, inversely: bool) -> Any:
    """The product of reflections, or its inverse, times other matrices."""
    vectors, inverse = accumulated(a, taus)
    inner = product(adjoint(vectors), c)
    options = {"transpose_a": inversely, "conjugate_a": inversely}
    return e.sub(c, product(vectors, triangular_solve(inverse, inner, left_side=True, **options)))
