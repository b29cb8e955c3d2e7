"""How a call of a jitted function is differentiated and transposed: its program is, and the results are calls again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._jit.primitives import jit_p
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    is_linear,
    is_marked_linear,
    jvp_jaxpr,
    linearize_jaxpr,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, RuleSet, Var

if TYPE_CHECKING:
    from tangrad.typing import Value, Values


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)


@jvp.rule(jit_p)
@symbolic_zeros
def _(primals: Values, tangents: tuple[Value | Zero, ...], *, jaxpr: ClosedJaxpr, name: str) -> Any:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    results = jit_p.bind(*primals, *given, jaxpr=program, name=f"jvp_{name}")
    count = len(jaxpr.out_avals)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


@linearize.rule(jit_p)
def _(primals: Values, active: Any, *, jaxpr: ClosedJaxpr, name: str) -> Any:
    program = linearize_jaxpr(jaxpr, active)
    outs = jit_p.bind(*primals, jaxpr=program.primal, name=name)
    primals_out, residuals = program.split(primals, outs)
    return Linearized(tuple(primals_out), tuple(residuals), _as_call(program.linear, name), program.nonzero)


def _as_call(linear: ClosedJaxpr, name: str) -> ClosedJaxpr:
    """A program of one equation, which calls `linear`: the tape then holds one equation for the whole call."""
    inputs = [Var(aval) for aval in linear.in_avals]
    outputs = [Var(aval) for aval in linear.out_avals]
    call = JaxprEqn(jit_p, inputs, outputs, {"jaxpr": linear, "name": name}, linear.effects)
    return ClosedJaxpr(Jaxpr([], inputs, outputs, [call]))


@partial_eval.rule(jit_p)
def _(known: Any, args: Values, *, jaxpr: ClosedJaxpr, name: str) -> Any:
    if is_marked_linear(jaxpr):
        return None
    program = partial_eval_jaxpr(jaxpr, known)
    if not any(program.out_known):
        return None
    given = [arg for arg, is_known in zip(args, known, strict=True) if is_known]
    results = jit_p.bind(*given, jaxpr=program.known, name=name)
    known_outs, residuals = program.split(given, results)
    if all(program.out_known):
        return PartialEval(known_outs, (), None)
    (call,) = _as_call(program.unknown, name).eqns
    return PartialEval(known_outs, residuals, call)


transpose = RuleSet("transpose", api=1)


@transpose.rule(jit_p)
@symbolic_zeros
def _(
    cotangents: tuple[Value | Zero, ...], *args: Value | Linear, jaxpr: ClosedJaxpr, name: str
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    program, nonzero = transpose_jaxpr(jaxpr, linear, given)
    known = [arg for arg in args if not is_linear(arg)]
    results = jit_p.bind(
        *known, *[ct for ct in cotangents if type(ct) is not Zero], jaxpr=program, name=f"transpose_{name}"
    )
    found = iter(results)
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])
