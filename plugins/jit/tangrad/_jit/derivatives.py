"""How a call of a jitted function is differentiated and transposed: its program is, and the results are calls again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._jit.primitives import hinted_p, jit_p, tagged_p
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    is_linear,
    is_marked_linear,
    jvp_jaxpr,
    linearize_jaxpr,
    log_structure,
    logged,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, RuleSet, Var

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


transpose = RuleSet("transpose", api=1)

# A value with attributes is the value; so are its tangents, and the operations that make them have none.
jvp.form("linear", tagged_p)
transpose.form("linear", tagged_p, using=[lambda cotangent, aval, *, attributes: cotangent])


def _derived(params: Params) -> Params:
    """The further parameters of a call of what is derived from a program."""
    return {**params, "attributes": params["derived"]} if params else params


def _rules_of(primitive: Primitive) -> None:
    """Register the rules of a call with the parameters `jaxpr`, `name`, and others that calls of derivatives share."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(
        primals: Values, tangents: tuple[Value | Zero, ...], *, jaxpr: ClosedJaxpr, name: str, **params: object
    ) -> tuple[Values, tuple[Value | Zero, ...]]:
        nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
        program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
        given = [tangent for tangent in tangents if type(tangent) is not Zero]
        results = primitive.bind(*primals, *given, jaxpr=program, name=f"jvp_{name}", **params)
        count = len(jaxpr.out_avals)
        outs, rest = results[:count], iter(results[count:])
        return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])

    @linearize.rule(primitive)
    def _linearized(
        primals: Values, active: tuple[bool, ...], *, jaxpr: ClosedJaxpr, name: str, **params: object
    ) -> Linearized:
        program = linearize_jaxpr(jaxpr, active)
        outs = primitive.bind(*primals, jaxpr=program.primal, name=name, **params)
        primals_out, residuals = program.split(primals, outs)
        linear = _as_call(primitive, program.linear, name, _derived(params))
        return Linearized(tuple(primals_out), tuple(residuals), linear, program.nonzero)

    @partial_eval.rule(primitive)
    def _known(
        known: tuple[bool, ...], args: Values, *, jaxpr: ClosedJaxpr, name: str, **params: object
    ) -> PartialEval | None:
        if is_marked_linear(jaxpr):
            return None
        program = partial_eval_jaxpr(jaxpr, known)
        if not any(program.out_known):
            return None
        given = [arg for arg, is_known in zip(args, known, strict=True) if is_known]
        results = primitive.bind(*given, jaxpr=program.known, name=name, **params)
        known_outs, residuals = program.split(given, results)
        if all(program.out_known):
            return PartialEval(known_outs, (), None)
        (call,) = _as_call(primitive, program.unknown, name, params).eqns
        return PartialEval(known_outs, residuals, call)

    @transpose.rule(primitive)
    @symbolic_zeros
    def _transposed(
        cotangents: tuple[Value | Zero, ...], *args: Value | Linear, jaxpr: ClosedJaxpr, name: str, **params: object
    ) -> tuple[Value | None, ...]:
        linear = tuple([is_linear(arg) for arg in args])
        given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
        program, nonzero = transpose_jaxpr(jaxpr, linear, given, with_logs=True)
        known = [arg for arg in args if not is_linear(arg)]
        nonzero_cts = [ct for ct in cotangents if type(ct) is not Zero]
        results = primitive.bind(*known, *nonzero_cts, jaxpr=program, name=f"transpose_{name}", **_derived(params))
        found = iter(logged(log_structure(program), results))
        per_unknown = iter([next(found) if has else None for has in nonzero])
        return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])


def _as_call(primitive: Primitive, linear: ClosedJaxpr, name: str, params: Params) -> ClosedJaxpr:
    """A program of one equation, which calls `linear`: the tape then holds one equation for the whole call."""
    inputs = [Var(aval) for aval in linear.in_avals]
    outputs = [Var(aval) for aval in linear.out_avals]
    call = JaxprEqn(primitive, inputs, outputs, {"jaxpr": linear, "name": name, **params}, linear.effects)
    return ClosedJaxpr(Jaxpr([], inputs, outputs, [call]))


_rules_of(jit_p)
_rules_of(hinted_p)
