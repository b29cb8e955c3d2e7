"""How linear systems map cotangents back: by the transposed system."""

from __future__ import annotations

from typing import Any

from tangrad._lax.decompositions import primitives as p
from tangrad._lax.decompositions.shifts import shifted
from tangrad._lax.decompositions.systems import adjugate_p, determinant_p, pseudoinverse_p, solve_p, tridiagonal_solve_p
from tangrad._lax.linalg.matrices import transposed
from tangrad.autodiff import is_linear
from tangrad.core import RuleSet

decompositions = RuleSet("transpose", api=1)
decompositions.not_applicable("it is not linear", *p.decompositions.primitives.values())

systems = RuleSet("transpose", api=1)
systems.not_applicable("it is not linear", adjugate_p, determinant_p, pseudoinverse_p)


@systems.rule(solve_p)
def _solve(ct: Any, a: Any, b: Any) -> Any:
    if is_linear(a):
        raise TypeError("solve is linear in b, not in a")
    return None, solve_p.bind(transposed(a), ct)


@systems.rule(tridiagonal_solve_p)
def _tridiagonal_solve(ct: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
    if any([is_linear(diagonal) for diagonal in (dl, d, du)]):
        raise TypeError("tridiagonal_solve is linear in b alone")
    last = d.aval.ndim - 1
    return None, None, None, tridiagonal_solve_p.bind(shifted(du, 1, last), d, shifted(dl, -1, last), ct)
