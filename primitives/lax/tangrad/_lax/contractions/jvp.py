"""How contractions act on tangents: they are linear in each of the two factors."""

from __future__ import annotations

from tangrad._lax.contractions.primitives import dot_general_p
from tangrad._lax.contractions.ragged import ragged_dot_general_p
from tangrad.autodiff import Zero, add_tangents, has_tangent, symbolic_zeros
from tangrad.core import Primitive, RuleSet
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)


def _product(primitive: Primitive) -> None:
    """Register the rule of a product of the first two operands; what follows them (sizes of groups) does not vary."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
        (lhs, rhs, *sizes), (lhs_tangent, rhs_tangent, *_) = primals, tangents
        answer = primitive.bind(lhs, rhs, *sizes, **params)
        if not has_tangent(answer.aval.dtype) or type(lhs_tangent) is type(rhs_tangent) is Zero:
            return answer, Zero.of(answer)
        if type(lhs_tangent) is Zero:
            return answer, primitive.bind(lhs, rhs_tangent, *sizes, **params)
        if type(rhs_tangent) is Zero:
            return answer, primitive.bind(lhs_tangent, rhs, *sizes, **params)
        of_lhs, of_rhs = (lhs_tangent, rhs), (lhs, rhs_tangent)
        return answer, add_tangents(*[primitive.bind(*pair, *sizes, **params) for pair in (of_lhs, of_rhs)])


_product(dot_general_p)
_product(ragged_dot_general_p)
