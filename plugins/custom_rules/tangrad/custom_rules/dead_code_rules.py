"""How calls with a rule for dead code are thinned, mapped and differentiated: their rule is, as their program."""

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
from tangrad.batching import batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, Var, dce_jaxpr, eval_jaxpr, keeps_alive
from tangrad.custom_rules.dead_code import PartRule, custom_dce_call_p

dce = RuleSet("dce", api=1)
batch = RuleSet("batch", api=1)
jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


def _chosen(values: Any, flags: Any) -> list[Any]:
    return [value for value, flag in zip(values, flags, strict=True) if flag]


@dce.rule(custom_dce_call_p)
def _(used_outputs: Any, equation: Any) -> Any:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    closed, rule = equation.params["jaxpr"], equation.params["rule"]
    used = tuple(used_outputs)
    if rule is not None:
        closed, wanted = rule.program(used), (True,) * sum(used)
    else:
        wanted = used
    program, used_inputs = dce_jaxpr(closed.jaxpr, wanted)
    thinned = ClosedJaxpr(program, closed.consts)
    return used_inputs, equation.replace(
        invars=_chosen(equation.invars, used_inputs),
        outvars=_chosen(equation.outvars, used),
        params={**equation.params, "jaxpr": thinned, "rule": None},
        effects=thinned.effects,
    )


@batch.rule(custom_dce_call_p)
def _batch(args: Any, dims: Any, *, axis_info: Any, jaxpr: Any, rule: Any, name: str) -> Any:
    mapped = tuple([dim is not None for dim in dims])
    whole, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    mapped_rule = None
    if rule is not None:

        def make(used: tuple[bool, ...]) -> ClosedJaxpr:
            # Who reads the results was told which are mapped: the rule must not give a mapped one in place of another.
            part, found = batch_jaxpr(rule.program(used), mapped, axis_info, _chosen(out_mapped, used))
            if list(found) != _chosen(out_mapped, used):
                raise TypeError(f"the rule for dead code of {name} maps results that its function does not")
            return part

        mapped_rule = PartRule(whole, name, make)
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    outs = custom_dce_call_p.bind(*operands, jaxpr=whole, rule=mapped_rule, name=name)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])


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
            program, has_tangent = jvp_jaxpr(rule.program(either), nonzero, _chosen(tangent_used, either))
            outs = program.jaxpr.outvars
            some = sum(either)
            kept = _chosen(outs[:some], _chosen(used[:count], either))
            rest = iter(outs[some:])
            found = [next(rest) if has else None for has in has_tangent]
            kept += _chosen(found, _chosen(tangent_used, either))
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
    given = _chosen(args, known)
    results = eval_jaxpr(program.known.jaxpr, program.known.consts, *given)
    count = sum(program.out_known)
    outs, own = iter(results[:count]), iter(results[count:])
    residuals = [next(own) if source is None else given[source] for source in program.residual_sources]
    known_outs = [next(outs) if is_known else None for is_known in program.out_known]
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    unknown = program.unknown
    inputs, outputs = [Var(aval) for aval in unknown.in_avals], [Var(aval) for aval in unknown.out_avals]
    params = {"jaxpr": unknown, "rule": None, "name": name}
    return PartialEval(known_outs, residuals, JaxprEqn(custom_dce_call_p, inputs, outputs, params, unknown.effects))
