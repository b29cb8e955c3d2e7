"""How collectives act on tangents: nearly all are linear."""

from __future__ import annotations

from typing import Any

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import positions_among
from tangrad.autodiff import Zero, linear_jvp, symbolic_zeros
from tangrad.core import Primitive, RuleSet
from tangrad.extend.lax import broadcast_in_dim_p, convert_element_type, div_p, eq_p, mul_p
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)
linear_jvp(jvp, p.psum_p, p.all_gather_p, p.reduce_scatter_p, p.all_to_all_p, p.ppermute_p, p.pbroadcast_p, p.pvary_p)
jvp.not_applicable("it has no operands", p.axis_index_p)


@jvp.rule(p.psum_to_p, p.psum_back_p)
@symbolic_zeros
def _(primals: Values, tangents: tuple[Value | Zero, ...], **params: object) -> tuple[Value, Value | Zero]:
    """Linear in the first operand; of the others only counts along which axes they differ."""
    primitive = p.psum_to_p if len(primals) == 3 else p.psum_back_p
    answer, (tangent, *_) = primitive.bind(*primals, **params), tangents
    if type(tangent) is Zero:
        return answer, Zero.of(answer)
    return answer, primitive.bind(tangent, *primals[1:], **params)


def _extreme(primitive: Primitive) -> Any:
    """The tangent of the example that has the greatest, or least, value; of several, their mean."""

    def rule(primals: Any, tangents: Any, **params: object) -> Any:
        (x,), (tangent,) = primals, tangents
        answer = primitive.bind(x, **params)
        if type(tangent) is Zero:
            return answer, Zero.of(answer)
        chosen = convert_element_type(eq_p.bind(x, _spread(answer, x, params["axes"])), x.aval.dtype)
        count = p.psum_p.bind(chosen, **params)
        return answer, div_p.bind(p.psum_p.bind(mul_p.bind(tangent, chosen), **params), count)

    return symbolic_zeros(rule)


def _spread(answer: Value, x: Value, axes: Any) -> Value:
    """A result at the shape of the operand again."""
    positions = positions_among(axes)
    if not positions:
        return answer
    kept = tuple([axis for axis in range(len(x.aval.shape)) if axis not in positions])
    return broadcast_in_dim_p.bind(answer, shape=x.aval.shape, broadcast_dimensions=kept)


jvp.table({primitive: _extreme(primitive) for primitive in (p.pmax_p, p.pmin_p)})
