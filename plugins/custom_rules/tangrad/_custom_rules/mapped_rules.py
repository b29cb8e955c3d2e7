"""How calls with batch rules of their own are mapped and differentiated: the derivative of a rule is a rule again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

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
from tangrad.batching import AxisInfo, batch_flat, batch_jaxpr, place_axis, to_front
from tangrad.core import ClosedJaxpr, JaxprEqn, RuleSet, Var, dtypes, eval_jaxpr

if TYPE_CHECKING:
    from tangrad._custom_rules.primitives import Tangents
    from tangrad.typing import Dims, Value, Values

    Results: TypeAlias = tuple[list[Value], list[bool]]


batch = RuleSet("batch", api=1)


@batch.rule(custom_vmap_call_p)
def _(
    args: tuple[Value, ...],
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    rule: object,
    num_consts: int,
    name: str,
) -> tuple[Values, Dims]:
    if rule is None:
        program, out_mapped = batch_jaxpr(jaxpr, [dim is not None for dim in dims], axis_info)
        values = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
        outs = custom_vmap_call_p.bind(*values, jaxpr=program, rule=None, num_consts=num_consts, name=name)
        return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
    if any([dim is not None for dim in dims[:num_consts]]):
        raise TypeError(
            f"the custom_vmap function {name} closes over a value that is mapped, but its rule only knows of its "
            f"arguments; make the value an argument of {name}"
        )
    mapped = [dim is not None for dim in dims[num_consts:]]
    values = [to_front(arg, dim) for arg, dim in zip(args[num_consts:], dims[num_consts:], strict=True)]
    mapped_outs, flags = _mapped(rule, axis_info.size, mapped, values)
    return tuple(mapped_outs), tuple([0 if flag else None for flag in flags])


def _mapped(rule: Any, size: int, mapped: Sequence[bool], values: Sequence[Value]) -> Results:
    """The flat results of a rule, mapped axes in front, and which of them are mapped."""
    if type(rule) is not TangentRule:
        return rule(size, mapped, values)
    count = len(values) // 2
    pairs = list(zip(mapped[:count], mapped[count:], strict=True))
    if not any([one and other for one, other in pairs]):
        found = _one_by_one(rule.of, size, mapped, values)
        if found is not None:
            return found
    either = [one or other for one, other in pairs]
    flags: list[bool] = []
    # A primal and its tangent must be mapped alike.
    placed = [
        place_axis(value, 0 if is_mapped else None, 0, size) if wanted else value
        for value, is_mapped, wanted in zip(values, mapped, [*either, *either], strict=True)
    ]

    def run(*primals: Value) -> list[Value]:
        outs, found = _mapped(rule.of, size, either, primals)
        flags.extend(found)
        return outs

    outs, tangents = jvp_flat(run, placed[:count], placed[count:])
    return [*outs, *[instantiate(tangent) for tangent in tangents]], [*flags, *flags]


def _one_by_one(rule: object, size: int, mapped: Sequence[bool], values: Sequence[Value]) -> Results | None:
    """Where no primal is mapped along with its tangent: the derivative of `rule` for one example, mapped.

    So what depends on neither stays unmapped. None if the rule maps results of its own accord.
    """
    count = len(values) // 2
    flags: list[bool] = []

    def one(*primals: Value) -> list[Value]:
        outs, found = _mapped(rule, size, [False] * count, primals)
        flags.extend(found)
        return outs

    def run(*inputs: Value) -> list[Value]:
        outs, tangents = jvp_flat(one, inputs[:count], inputs[count:])
        return [*outs, *[instantiate(tangent) for tangent in tangents]]

    dims = [0 if is_mapped else None for is_mapped in mapped]
    results, out_dims = batch_flat(run, values, dims, AxisInfo(None, size))
    if any(flags):
        return None
    placed = [to_front(result, dim) for result, dim in zip(results, out_dims, strict=True)]
    return placed, [dim is not None for dim in out_dims]


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(custom_vmap_call_p)
@symbolic_zeros
def _jvp(
    primals: Values, tangents: Tangents, *, jaxpr: ClosedJaxpr, rule: object, num_consts: int, name: str
) -> object:
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


def _all_differentiable(tangents: Tangents) -> bool:
    """Whether all tangents are of numbers: those of integers would have to be arrays of float0."""
    return all([tangent.aval.dtype != dtypes.float0 for tangent in tangents])


def _by_program(primals: Values, tangents: Tangents, jaxpr: ClosedJaxpr) -> object:
    outs, found = jvp_flat(lambda *values: eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *values), primals, tangents)
    return tuple(outs), tuple(found)


@linearize.rule(custom_vmap_call_p)
def _linearize(
    primals: Sequence[Value], active: Sequence[bool], *, jaxpr: ClosedJaxpr, rule: object, num_consts: int, name: str
) -> Linearized:
    program = linearize_jaxpr(jaxpr, active)
    outs = eval_jaxpr(program.primal.jaxpr, program.primal.consts, *primals)
    primals_out, residuals = program.split(primals, outs)
    return Linearized(tuple(primals_out), tuple(residuals), program.linear, program.nonzero)


@partial_eval.rule(custom_vmap_call_p)
def _partial_eval(
    known: Sequence[bool], args: Values, *, jaxpr: ClosedJaxpr, rule: object, num_consts: int, name: str
) -> PartialEval | None:
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
