"""How calls with a rule for dead code are differentiated forward: their rule is, as their program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.dead_code import PartRule, chosen, custom_dce_call_p
from tangrad.autodiff import Zero, jvp_jaxpr, symbolic_zeros
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)


@jvp.rule(custom_dce_call_p)
@symbolic_zeros
def _jvp(primals: Values, tangents: tuple[Value | Zero, ...], *, jaxpr: ClosedJaxpr, rule: PartRule, name: str) -> Any:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    whole, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    count = len(jaxpr.out_avals)
    both = None
    if rule is not None:

        def make(used: tuple[bool, ...]) -> ClosedJaxpr:
            of_tangents = iter(used[count:])
            tangent_used = [next(of_tangents) if has else False for has in nonzero_out]
            either = [a or b for a, b in zip(used[:count], tangent_used, strict=True)]
            program, has_tangent = jvp_jaxpr(rule.program(either), nonzero, chosen(tangent_used, either))
            outs = program.jaxpr.outvars
            some = sum(either)
            kept = chosen(outs[:some], chosen(used[:count], either))
            rest = iter(outs[some:])
            found = [next(rest) if has else None for has in has_tangent]
            kept += chosen(found, chosen(tangent_used, either))
            return ClosedJaxpr(program.jaxpr.replace(outvars=kept), program.consts)

        both = PartRule(whole, name, make)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    results = custom_dce_call_p.bind(*primals, *given, jaxpr=whole, rule=both, name=name)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])
