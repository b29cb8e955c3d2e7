"""How calls with a rule for dead code are thinned, differentiated, transposed and mapped: by what their rule makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tangrad._custom_rules.dead_code import PartRule, chosen, custom_dce_call_p, merged, with_outputs
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    instantiate,
    is_linear,
    is_marked_linear,
    jvp_jaxpr,
    linearize_jaxpr,
    log_structure,
    logged,
    mark_linear,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.batching import batch_jaxpr, to_front
from tangrad.core import (
    ClosedJaxpr,
    JaxprEqn,
    RuleSet,
    ShapedArray,
    Var,
    dce_jaxpr,
    eval_jaxpr,
    keeps_alive,
    thread,
    trace_to_closed_jaxpr,
)

if TYPE_CHECKING:
    from tangrad.batching import AxisInfo
    from tangrad.core import Array
    from tangrad.typing import Dims, Params, Value, Values


dce = RuleSet("dce", api=1)


@dce.rule(custom_dce_call_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    closed, rule = equation.params["jaxpr"], equation.params["rule"]
    used = tuple(used_outputs)
    part = with_outputs(closed, used) if rule is None else rule.program(used)
    program, used_inputs = dce_jaxpr(part.jaxpr, (True,) * sum(used))
    thinned = ClosedJaxpr(program, part.consts)
    return used_inputs, equation.replace(
        invars=chosen(equation.invars, used_inputs),
        outvars=chosen(equation.outvars, used),
        params={**equation.params, "jaxpr": thinned, "rule": _rule_of_part(rule, thinned, used, used_inputs)},
        effects=thinned.effects,
    )


def _rule_of_part(rule: PartRule, part: ClosedJaxpr, used: Sequence[bool], used_inputs: Sequence[bool]) -> PartRule:
    """The rule of the call that is left: it may be thinned again, as by a derivative that needs less of it."""
    if rule is None:
        return None

    def make(used_again: tuple[bool, ...]) -> ClosedJaxpr:
        smaller = rule.program(merged(used, used_again))
        program, inputs = dce_jaxpr(smaller.jaxpr, (True,) * sum(used_again), used_inputs)
        if any([needed and not there for needed, there in zip(inputs, used_inputs, strict=True)]):
            return with_outputs(part, used_again)  # for less the rule takes inputs that went already
        return ClosedJaxpr(program, smaller.consts)

    return PartRule(part, str(rule), make)


jvp = RuleSet("jvp", api=1)


@jvp.rule(custom_dce_call_p)
@symbolic_zeros
def _jvp(
    primals: Values, tangents: tuple[Value | Zero, ...], *, jaxpr: ClosedJaxpr, rule: PartRule, name: str
) -> tuple[Values, tuple[Value | Zero, ...]]:
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
            kept += [out for out in chosen(found, chosen(tangent_used, either)) if out is not None]
            return ClosedJaxpr(program.jaxpr.replace(outvars=kept), program.consts)

        both = PartRule(whole, name, make)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    results = custom_dce_call_p.bind(*primals, *given, jaxpr=whole, rule=both, name=name)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)
transpose = RuleSet("transpose", api=1)


def _first_rule(
    first: ClosedJaxpr, count: int, name: str, part: Callable[[tuple[bool, ...]], ClosedJaxpr | None]
) -> PartRule:
    """The rule of the first call, which gives `count` results and then residuals.

    Where no residual is used, `part(used)` is the program of the results, or None where there is none but the whole.
    """

    def make(used: tuple[bool, ...]) -> ClosedJaxpr:
        program = None if any(used[count:]) else part(used[:count])
        return program or with_outputs(first, used)

    return PartRule(first, name, make)


def _second_call(
    second: ClosedJaxpr, residuals: int, inputs: Sequence[ShapedArray], name: str, part: Callable[..., Sequence[Value]]
) -> Params:
    """The parameters of the second call, which takes residuals, then the first call's `inputs` (avals), then unknowns.

    `second` takes no inputs; `part(used, inputs, unknowns)` computes the results that are used without residuals.
    """
    given = second.jaxpr.invars
    variables = [*given[:residuals], *[Var(aval) for aval in inputs], *given[residuals:]]
    whole = ClosedJaxpr(second.jaxpr.replace(invars=variables), second.consts)
    end = residuals + len(inputs)

    def make(used: tuple[bool, ...]) -> ClosedJaxpr:
        return trace_to_closed_jaxpr(
            lambda *values: part(used, values[residuals:end], values[end:]), whole.in_avals, f"part of {name}"
        )

    return {"jaxpr": mark_linear(whole), "rule": PartRule(whole, name, make), "name": name}


@linearize.rule(custom_dce_call_p)
def _linearize(primals: Values, active: Sequence[bool], *, jaxpr: ClosedJaxpr, rule: PartRule, name: str) -> Linearized:
    program = linearize_jaxpr(jaxpr, active)
    if rule is None or not thread.trace.stages:
        outs = eval_jaxpr(program.primal.jaxpr, program.primal.consts, *primals)
        primals_out, residuals = program.split(primals, outs)
        return Linearized(tuple(primals_out), tuple(residuals), program.linear, program.nonzero)

    def tangents_of(used: tuple[bool, ...], inputs: Sequence[Value], tangents: Sequence[Value]) -> list[Value]:
        some = linearize_jaxpr(rule.program(merged(program.nonzero, used)), active)
        results = eval_jaxpr(some.primal.jaxpr, some.primal.consts, *inputs)
        outs, kept = some.split(inputs, results)
        found = iter(eval_jaxpr(some.linear.jaxpr, some.linear.consts, *kept, *tangents))
        return [next(found) if has else instantiate(Zero.of(out)) for out, has in zip(outs, some.nonzero, strict=True)]

    first_rule = _first_rule(program.primal, len(jaxpr.out_avals), name, rule.program)
    results = custom_dce_call_p.bind(*primals, jaxpr=program.primal, rule=first_rule, name=name)
    primals_out, residuals = program.split(primals, results)
    second = _second_call(program.linear, len(residuals), jaxpr.in_avals, name, tangents_of)
    linear = trace_to_closed_jaxpr(lambda *values: custom_dce_call_p.bind(*values, **second), second["jaxpr"].in_avals)
    return Linearized(tuple(primals_out), (*residuals, *primals), mark_linear(linear), program.nonzero)


@partial_eval.rule(custom_dce_call_p)
def _partial_eval(
    known: Sequence[bool], args: Values, *, jaxpr: ClosedJaxpr, rule: PartRule, name: str
) -> PartialEval | None:
    if is_marked_linear(jaxpr):
        return None
    program = partial_eval_jaxpr(jaxpr, known)
    if not any(program.out_known):
        return None
    given = chosen(args, known)
    unknown = [not is_known for is_known in program.out_known]
    by_rule = rule is not None and thread.trace.stages

    def known_part(used: tuple[bool, ...]) -> ClosedJaxpr | None:
        some = partial_eval_jaxpr(rule.program(merged(program.out_known, used)), known)
        return some.known if all(some.out_known) else None  # which the rule need not give of what is known alone

    def unknown_part(used: tuple[bool, ...], inputs: Sequence[Value], unknowns: Sequence[Value]) -> Sequence[Value]:
        some = rule.program(merged(unknown, used))
        first, second = iter(inputs), iter(unknowns)
        return eval_jaxpr(some.jaxpr, some.consts, *[next(first if is_known else second) for is_known in known])

    first_rule = _first_rule(program.known, sum(program.out_known), name, known_part) if by_rule else None
    results = custom_dce_call_p.bind(*given, jaxpr=program.known, rule=first_rule, name=name)
    known_outs, residuals = program.split(given, results)
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    params: Params = {"jaxpr": program.unknown, "rule": None, "name": name}
    if by_rule:
        params = _second_call(program.unknown, len(residuals), chosen(jaxpr.in_avals, known), name, unknown_part)
        residuals = [*residuals, *given]
    rest = params["jaxpr"]
    inputs, outputs = [Var(aval) for aval in rest.in_avals], [Var(aval) for aval in rest.out_avals]
    return PartialEval(known_outs, residuals, JaxprEqn(custom_dce_call_p, inputs, outputs, params, rest.effects))


@transpose.rule(custom_dce_call_p)
@symbolic_zeros
def _transpose(
    cotangents: tuple[Value | Zero, ...], *args: Value | Linear, jaxpr: ClosedJaxpr, rule: PartRule, name: str
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    used = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    program, has_cotangent = jaxpr, used
    if rule is not None and thread.trace.stages:
        program, has_cotangent = rule.program(used), (True,) * sum(used)
    transposed, nonzero = transpose_jaxpr(program, linear, has_cotangent, with_logs=True)
    others = [arg for arg, unknown in zip(args, linear, strict=True) if not unknown]
    results = eval_jaxpr(transposed.jaxpr, transposed.consts, *others, *chosen(cotangents, used))
    found = iter(logged(log_structure(transposed), results))
    of_linear = iter(nonzero)
    return tuple([next(found) if unknown and next(of_linear) else None for unknown in linear])


batch = RuleSet("batch", api=1)


@batch.rule(custom_dce_call_p)
def _batch(
    args: Values, dims: Dims, *, axis_info: AxisInfo, jaxpr: ClosedJaxpr, rule: PartRule, name: str
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    mapped = tuple([dim is not None for dim in dims])
    whole, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    mapped_rule = None
    if rule is not None:

        def make(used: tuple[bool, ...]) -> ClosedJaxpr:
            # The reader of the results knows which are mapped: the rule must not give a mapped one in place of another.
            part, found = batch_jaxpr(rule.program(used), mapped, axis_info, chosen(out_mapped, used))
            if list(found) != chosen(out_mapped, used):
                raise TypeError(f"the rule for dead code of {name} maps results that its function does not")
            return part

        mapped_rule = PartRule(whole, name, make)
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    outs = custom_dce_call_p.bind(*operands, jaxpr=whole, rule=mapped_rule, name=name)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
