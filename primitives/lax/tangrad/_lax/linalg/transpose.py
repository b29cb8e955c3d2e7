"""How triangular systems map cotangents back: by the transposed system."""

from __future__ import annotations

from tangrad._lax.linalg.primitives import cholesky_p, cholesky_update_p, triangular_solve_p
from tangrad.autodiff import Linear, is_linear
from tangrad.core import RuleSet
from tangrad.typing import Value

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", cholesky_p, cholesky_update_p)


@transpose.rule(triangular_solve_p)
def _triangular_solve(
    ct: Value, a: Value | Linear, b: Value | Linear, *, transpose_a: bool, **params: object
) -> tuple[Value | None, ...]:
    if is_linear(a):
        raise TypeError("triangular_solve is linear in b, not in a")
    return None, triangular_solve_p.bind(a, ct, transpose_a=not transpose_a, **params)
