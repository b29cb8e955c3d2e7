"""Directional derivatives of checkpointed calls, and of named values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.checkpoint.primitives import barrier_of, name_p, remat_p
from tangrad.autodiff import Zero, jvp_jaxpr, symbolic_zeros
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)


@jvp.rule(remat_p)
@symbolic_zeros
def _(
    primals: Values, tangents: tuple[Value | Zero, ...], *, jaxpr: ClosedJaxpr, prevent_cse: Any, **params: Any
) -> Any:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    barrier = barrier_of(prevent_cse, range(len(primals)), sum(nonzero))
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    results = remat_p.bind(*primals, *given, jaxpr=program, prevent_cse=barrier, **params)
    count = len(jaxpr.out_avals)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


@jvp.rule(name_p)
@symbolic_zeros
def _name(primals: Values, tangents: Values, *, name: str) -> Any:
    return name_p.bind(primals[0], name=name), tangents[0]
