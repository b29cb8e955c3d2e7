"""How calls with batch rules of their own are differentiated: the derivative of a rule is a rule again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._custom_rules.mapped import TangentRule, custom_vmap_call_p
from tangrad.autodiff import (
    Linearized,
    PartialEval,
    Zero,
    instantiate,
    jvp_flat,
    jvp_jaxpr,
    linearize_jaxpr,
    partial_eval_jaxpr,
    symbolic_zeros,
)
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, Var, dtypes, eval_jaxpr

jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(custom_vmap_call_p)
@symbolic_zeros
def _jvp(primals: Any, tangents: Any, *, jaxpr: ClosedJaxpr, rule: Any, num_consts: int, name: str) -> Any:
    beyond_rule = rule is None or any([type(tangent) is not Zero for tangent in tangents[:num_consts]])
    if beyond_rule or not _all_differentiable(tangents[num_consts:]):
        return _by_program(primals, tangents, jaxpr)
    wanted = [position >= num_consts for position in range(len(primals))]
    program, _ = jvp_jaxpr(jaxpr, wanted, instantiate_outputs=True)
    results = custom_vmap_call_p.bind(
        *primals,
        *[instantiate(tangent) for tangent in tangents[num_consts:]],
        jaxpr=program,
        rule=TangentRule(rule),
        num_consts=num_consts,
        name=f"jvp_{name}",
    )
    count = len(jaxpr.out_avals)
    return results[:count], results[count:]


def _all_differentiable(tangents: Sequence[Any]) -> bool:
    """Whether all tangents are of numbers: those of integers would have to be arrays of float0."""
    return all([tangent.aval.dtype != dtypes.float0 for tangent in tangents])


def _by_program(primals: Any, tangents: Any, jaxpr: Any) -> Any:
    outs, found = jvp_flat(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values), primals, tangents)
    return tuple(outs), tuple(found)


@linearize.rule(custom_vmap_call_p)
def _linearize(primals: Any, active: Any, *, jaxpr: ClosedJaxpr, rule: Any, num_consts: int, name: str) -> Any:
    program = linearize_jaxpr(jaxpr, active)
    outs = eval_jaxpr(program.primal.jaxpr, program.primal.consts, *primals)
    primals_out, residuals = program.split(primals, outs)
    return Linearized(tuple(primals_out), tuple(residuals), program.linear, program.nonzero)


@partial_eval.rule(custom_vmap_call_p)
def _partial_eval(known: Any, args: Any, *, jaxpr: ClosedJaxpr, rule: Any, num_consts: int, name: str) -> Any:
    """The function's values and its tangents, taken apart: each is that of its program from here on."""
    program = partial_eval_jaxpr(jaxpr, known)
    if not any(program.out_known):
        return None
    inputs = [arg for arg, is_known in zip(args, known, strict=True) if is_known]
    outs = eval_jaxpr(program.known.jaxpr, program.known.consts, *inputs)
    known_outs, residuals = program.split(inputs, outs)
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    rest = [arg for arg, is_known in zip(args, known, strict=True) if not is_known]
    unknown = program.unknown
    invars, outvars = [Var(aval) for aval in unknown.in_avals], [Var(aval) for aval in unknown.out_avals]
    params = {"jaxpr": unknown, "rule": None, "num_consts": len(invars), "name": f"{name} of unknowns"}
    equation = JaxprEqn(custom_vmap_call_p, invars, outvars, params, unknown.effects)
    return PartialEval(known_outs, (), equation, (*residuals, *rest))
