"""The derivatives of solutions, inverses and determinants."""

from __future__ import annotations

from typing import Any

from tangrad._lax.decompositions.algebra import column, identity_like, shifted, trace_of
from tangrad._lax.decompositions.primitives import lu_p
from tangrad._lax.decompositions.solving import solve_by_factors
from tangrad._lax.decompositions.systems import adjugate_p, determinant_p, pseudoinverse_p, solve_p, tridiagonal_solve_p
from tangrad._lax.elementwise import functions as e
from tangrad._lax.linalg.matrices import adjoint, product, transposed
from tangrad._lax.reductions.functions import reduce_sum
from tangrad._lax.structure import functions as s
from tangrad.autodiff import Zero, add_tangents, instantiate, symbolic_zeros
from tangrad.core import RuleSet
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)


@jvp.rule(solve_p)
@symbolic_zeros
def _solve(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    """A Ẋ = Ḃ - Ȧ X, with the factors that gave X."""
    (a, b), (a_tangent, b_tangent) = primals, tangents
    lu, _, permutation = lu_p.bind(a)
    out = solve_by_factors(lu, permutation, b)
    right: Any = b_tangent
    if type(a_tangent) is not Zero:
        right = add_tangents(right, e.neg(product(a_tangent, out)))
    return out, solve_by_factors(lu, permutation, instantiate(right))


@jvp.rule(determinant_p)
def _determinant(primals: Values, tangents: Values) -> tuple[Value, Value]:
    """Jacobi's formula: the sum of the cofactors times the tangents."""
    (a,), (tangent,) = primals, tangents
    weighted = e.mul(transposed(adjugate_p.bind(a)), tangent)
    return determinant_p.bind(a), reduce_sum(weighted, (a.aval.ndim - 2, a.aval.ndim - 1))


@jvp.rule(adjugate_p)
def _adjugate(primals: Values, tangents: Values) -> tuple[Value, Value]:
    """tr(X) A' - X A', where X = A⁻¹ Ȧ and A' is the adjugate: of matrices that have an inverse."""
    (a,), (tangent,) = primals, tangents
    out = adjugate_p.bind(a)
    relative = solve_p.bind(a, tangent)
    return out, e.sub(e.mul(out, trace_of(relative)), product(relative, out))


@jvp.rule(pseudoinverse_p)
@symbolic_zeros
def _pseudoinverse(
    primals: Values, tangents: tuple[Value | Zero, ...], *, hermitian: bool
) -> tuple[Value, Value | Zero]:
    """Golub and Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems, SIAM J. Numer.
    Anal. 10, 1973, (4.12). The rank is constant nearby.
    """
    (a, rtol), (tangent, _) = primals, tangents
    out = pseudoinverse_p.bind(a, rtol, hermitian=hermitian)
    if type(tangent) is Zero:
        return out, Zero.of(out)
    turned, back = adjoint(out), adjoint(tangent)
    left, right = product(a, out), product(out, a)
    inner = e.neg(product(product(out, tangent), out))
    rows = product(product(product(out, turned), back), e.sub(identity_like(left), left))
    columns = product(product(product(e.sub(identity_like(right), right), back), turned), out)
    return out, e.add(inner, e.add(rows, columns))


@jvp.rule(tridiagonal_solve_p)
@symbolic_zeros
def _tridiagonal_solve(primals: Values, tangents: tuple[Value | Zero, ...]) -> tuple[Value, Value | Zero]:
    """T Ẋ = Ḃ - Ṫ X."""
    dl, d, du, _ = primals
    out = tridiagonal_solve_p.bind(*primals)
    right: Any = tangents[3]
    # Row i of T X is made of the rows i - 1, i and i + 1 of X.
    for tangent, offset in zip(tangents[:3], (1, 0, -1)):
        if type(tangent) is not Zero:
            moved = shifted(out, offset, out.aval.ndim - 2)
            weights = s.broadcast_in_dim(column(tangent), out.aval.shape, tuple(range(out.aval.ndim)))
            right = add_tangents(right, e.neg(e.mul(weights, moved)))
    return out, tridiagonal_solve_p.bind(dl, d, du, instantiate(right))
