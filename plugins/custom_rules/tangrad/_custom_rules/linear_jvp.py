"""How linear calls are differentiated and transposed: transposed, the two programs change places."""

from __future__ import annotations

from typing import Any

from tangrad._custom_rules.linear import linear_call_p, made
from tangrad.autodiff import Zero, add_tangents, instantiate, jvp_flat, symbolic_zeros
from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr

jvp = RuleSet("jvp", api=1)
transpose = RuleSet("transpose", api=1)


@jvp.rule(linear_call_p)
@symbolic_zeros
def _(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, transposed: Any, num_res: int) -> Any:
    params = {"jaxpr": jaxpr, "transposed": transposed, "num_res": num_res}
    outs = linear_call_p.bind(*primals, **params)
    residuals, linear = primals[:num_res], primals[num_res:]
    totals: list[Any] = [Zero.of(out) for out in outs]
    if any([type(tangent) is not Zero for tangent in tangents[num_res:]]):
        given = [instantiate(tangent) for tangent in tangents[num_res:]]
        totals = list(linear_call_p.bind(*residuals, *given, **params))
    if any([type(tangent) is not Zero for tangent in tangents[:num_res]]):
        run = lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values, *linear)
        _, more = jvp_flat(run, residuals, tangents[:num_res])
        totals = [add_tangents(one, other) for one, other in zip(totals, more, strict=True)]
    return outs, tuple(totals)


@transpose.rule(linear_call_p)
def _transpose(cotangents: Any, *args: Any, jaxpr: ClosedJaxpr, transposed: Any, num_res: int) -> Any:
    found = linear_call_p.bind(*args[:num_res], *cotangents, jaxpr=made(transposed), transposed=jaxpr, num_res=num_res)
    return (*[None] * num_res, *found)
