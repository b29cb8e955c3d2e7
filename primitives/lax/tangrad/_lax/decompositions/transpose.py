"""How linear systems map cotangents back: by the transposed system."""

from __future__ import annotations

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.algebra import shifted
from tangrad._lax.decompositions.systems import adjugate_p, determinant_p, pseudoinverse_p, solve_p, tridiagonal_solve_p
from tangrad._lax.linalg.matrices import transposed
from tangrad.autodiff import Linear, is_linear
from tangrad.core import RuleSet
from tangrad.typing import Value

decompositions = RuleSet("transpose", api=1)
decompositions.not_applicable("it is not linear", *p.decompositions.primitives.values())

systems = RuleSet("transpose", api=1)
systems.not_applicable("it is not linear", adjugate_p, determinant_p, pseudoinverse_p)


@systems.rule(solve_p)
def _solve(ct: Value, a: Value, b: Linear) -> tuple[Value | None, ...]:
    if is_linear(a):
        raise TypeError("solve is linear in b, not in a")
    return None, solve_p.bind(transposed(a), ct)


@systems.rule(tridiagonal_solve_p)
def _tridiagonal_solve(ct: Value, dl: Value, d: Value, du: Value, b: Linear) -> tuple[Value | None, ...]:
    if any([is_linear(diagonal) for diagonal in (dl, d, du)]):
        raise TypeError("tridiagonal_solve is linear in b alone")
    last = d.aval.ndim - 1
    return None, None, None, tridiagonal_solve_p.bind(shifted(du, 1, last), d, shifted(dl, -1, last), ct)
