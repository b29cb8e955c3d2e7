"""How calls with a rule for dead code are differentiated: their rule is, as their program."""

from __future__ import annotations

from typing import Any

from tangrad.autodiff import (
    Linearized,
    PartialEval,
    Zero,
    jvp_jaxpr,
    linearize_jaxpr,
    partial_eval_jaxpr,
    symbolic_zeros,
)
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, Var, eval_jaxpr
from tangrad.custom_rules.dead_code import PartRule, chosen, custom_dce_call_p

jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(custom_dce_call_p)
@symbolic_zeros
def _jvp(primals: Any, tangents: Any, *, jaxpr: Any, rule: Any, name: str) -> Any:
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


@linearize.rule(custom_dce_call_p)
def _linearize(primals: Any, active: Any, *, jaxpr: Any, rule: Any, name: str) -> Any:
    program = linearize_jaxpr(jaxpr, active)
    outs = eval_jaxpr(program.primal.jaxpr, program.primal.consts, *primals)
    primals_out, residuals = program.split(primals, outs)
    return Linearized(tuple(primals_out), tuple(residuals), program.linear, program.nonzero)


@partial_eval.rule(custom_dce_call_p)
def _partial_eval(known: Any, args: Any, *, jaxpr: Any, rule: Any, name: str) -> Any:
    program = partial_eval_jaxpr(jaxpr, known)
    if not any(program.out_known):
        return None
    given = chosen(args, known)
    results = eval_jaxpr(program.known.jaxpr, program.known.consts, *given)
    known_outs, residuals = program.split(given, results)
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    unknown = program.unknown
    inputs, outputs = [Var(aval) for aval in unknown.in_avals], [Var(aval) for aval in unknown.out_avals]
    params = {"jaxpr": unknown, "rule": None, "name": name}
    return PartialEval(known_outs, residuals, JaxprEqn(custom_dce_call_p, inputs, outputs, params, unknown.effects))
