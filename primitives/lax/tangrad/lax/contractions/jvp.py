"""How the contraction acts on tangents: it is linear in each operand."""

from __future__ import annotations

from typing import Any

from tangrad.autodiff import Zero, add_tangents, symbolic_zeros
from tangrad.autodiff.zeros import has_tangent
from tangrad.core import RuleSet
from tangrad.lax.contractions.primitives import dot_general_p

jvp = RuleSet("jvp", api=1)


@jvp.rule(dot_general_p)
@symbolic_zeros
def _dot_general(primals: Any, tangents: Any, **params: Any) -> Any:
    (lhs, rhs), (lhs_tangent, rhs_tangent) = primals, tangents
    answer = dot_general_p.bind(lhs, rhs, **params)
    if not has_tangent(answer.aval.dtype):
        return answer, Zero.of(answer)
    if type(lhs_tangent) is Zero:
        return answer, dot_general_p.bind(lhs, rhs_tangent, **params)
    if type(rhs_tangent) is Zero:
        return answer, dot_general_p.bind(lhs_tangent, rhs, **params)
    terms = dot_general_p.bind(lhs_tangent, rhs, **params), dot_general_p.bind(lhs, rhs_tangent, **params)
    return answer, add_tangents(*terms)
