"""How convolutions and reductions over windows act on tangents.

`reduce_window` has no rule of its own: its derivative is that of the slices that it decomposes into.
"""

from __future__ import annotations

from typing import Any

from tangrad._lax.windows.primitives import (
    SELECTIONS,
    conv_general_dilated_p,
    reduce_window_sum_p,
    select_and_gather_add_p,
    select_and_scatter_add_p,
)
from tangrad.autodiff import Zero, add_tangents, has_tangent, linear_jvp, symbolic_zeros
from tangrad.core import Array, Primitive, RuleSet
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)

linear_jvp(jvp, reduce_window_sum_p)


@jvp.rule(conv_general_dilated_p)
@symbolic_zeros
def _conv_general_dilated(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: object
) -> tuple[Value, Value | Zero]:
    (lhs, rhs), (lhs_tangent, rhs_tangent) = primals, tangents
    answer = conv_general_dilated_p.bind(lhs, rhs, **params)
    total: Any = Zero.of(answer)
    if not has_tangent(answer.aval.dtype):
        return answer, total
    if type(lhs_tangent) is not Zero:
        total = conv_general_dilated_p.bind(lhs_tangent, rhs, **params)
    if type(rhs_tangent) is not Zero:
        total = add_tangents(total, conv_general_dilated_p.bind(lhs, rhs_tangent, **params))
    return answer, total


def _extremum(primitive: Primitive, select_prim: Primitive) -> Any:
    """The tangent of the first element that is the greatest, or least."""

    def rule(primals: Values, tangents: Values, **params: object) -> tuple[Array, Array]:
        (operand,), (tangent,) = primals, tangents
        answer = primitive.bind(operand, **params)
        return answer, select_and_gather_add_p.bind(tangent, operand, select_prim=select_prim, **params)

    return rule


jvp.table({primitive: _extremum(primitive, select_prim) for primitive, select_prim in SELECTIONS.items()})


def _selected(primitive: Primitive) -> Any:
    """Linear in the first argument; what is selected does not change with the second."""

    @symbolic_zeros
    def rule(primals: Values, tangents: Values, **params: object) -> tuple[Array, Array]:
        answer = primitive.bind(*primals, **params)
        if type(tangents[0]) is Zero:
            return answer, Zero.of(answer)
        return answer, primitive.bind(tangents[0], primals[1], **params)

    return rule


jvp.table({primitive: _selected(primitive) for primitive in (select_and_gather_add_p, select_and_scatter_add_p)})
