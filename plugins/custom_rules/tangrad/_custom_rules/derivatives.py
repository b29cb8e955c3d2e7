"""How calls with rules of their own are differentiated and transposed: by these rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tangrad._custom_rules.calls import closed_over
from tangrad._custom_rules.primitives import custom_jvp_call_p, custom_lin_p, custom_vjp_call_p
from tangrad.autodiff import Linear, Linearized, Zero, symbolic_zeros, tangent_aval
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, RuleSet, ShapedArray, Var, dtypes, equation_effects

if TYPE_CHECKING:
    from tangrad._custom_rules.forward import JVPRule
    from tangrad._custom_rules.primitives import FwdFunction, Tangents
    from tangrad.typing import Params, Value, Values


jvp = RuleSet("jvp", api=1)
linearize = RuleSet("linearize", api=1)


@jvp.rule(custom_jvp_call_p)
@symbolic_zeros
def _(
    primals: Values, tangents: Tangents, *, jaxpr: ClosedJaxpr, rule: JVPRule, num_consts: int, name: str
) -> tuple[Values, tuple[Value | Zero, ...]]:
    if any([type(tangent) is not Zero for tangent in tangents[:num_consts]]):
        raise closed_over("custom_jvp", name)
    outs, tangents_out = rule(primals[num_consts:], tangents[num_consts:])
    return tuple(outs), tuple(tangents_out)


def _linear_params(outs: Sequence[Value], residuals: Sequence[Value], bwd: object, active: object, name: str) -> Params:
    avals = tuple([tangent_aval(out.aval) for out in outs])
    return {
        "bwd": bwd,
        "num_res": len(residuals),
        "active": active,
        "avals_out": avals,
        "nonzero": tuple([aval.dtype != dtypes.float0 for aval in avals]),
        "name": name,
    }


@jvp.rule(custom_vjp_call_p)
@symbolic_zeros
def _(
    primals: Values, tangents: Tangents, *, jaxpr: ClosedJaxpr, fwd: FwdFunction, num_consts: int, name: str
) -> tuple[Values, tuple[Value | Zero, ...]]:
    active = tuple([type(tangent) is not Zero for tangent in tangents])
    if any(active[:num_consts]):
        raise closed_over("custom_vjp", name)
    active = active[num_consts:]
    outs, residuals, bwd = fwd(primals[num_consts:], active)
    params = _linear_params(outs, residuals, bwd, active, name)
    # Nothing can be done with these but to transpose them; computing them raises an error.
    found = iter(custom_lin_p.bind(*residuals, *[t for t in tangents if type(t) is not Zero], **params))
    pairs = zip(params["avals_out"], params["nonzero"], strict=True)
    return tuple(outs), tuple([next(found) if has else Zero(aval) for aval, has in pairs])


@linearize.rule(custom_vjp_call_p)
def _(
    primals: Values, active: Sequence[bool], *, jaxpr: ClosedJaxpr, fwd: FwdFunction, num_consts: int, name: str
) -> Linearized:
    if any(active[:num_consts]):
        raise closed_over("custom_vjp", name)
    active, primals = tuple(active[num_consts:]), primals[num_consts:]
    outs, residuals, bwd = fwd(primals, active)
    params = _linear_params(outs, residuals, bwd, active, name)
    avals = [value.aval for value in (*residuals, *[p for p, a in zip(primals, active, strict=True) if a])]
    invars = [Var(aval) for aval in avals]
    outvars = [Var(aval) for aval in custom_lin_p.infer(tuple(avals), params)]
    effects = equation_effects(custom_lin_p, tuple(avals), params)
    equations = [JaxprEqn(custom_lin_p, invars, outvars, params, effects)] if outvars else []
    linear = ClosedJaxpr(Jaxpr([], invars, outvars, equations))
    return Linearized(tuple(outs), tuple(residuals), linear, params["nonzero"])


transpose = RuleSet("transpose", api=1)


@transpose.rule(custom_lin_p)
@symbolic_zeros
def _(
    cotangents: tuple[Value | Zero, ...],
    *args: Value | Linear,
    bwd: Callable[..., Tangents],
    num_res: int,
    active: Sequence[bool],
    avals_out: tuple[ShapedArray, ...],
    nonzero: Sequence[bool],
    name: str,
) -> tuple[Value | Zero | None, ...]:
    given = iter(cotangents)
    every = [next(given) if has else Zero(aval) for aval, has in zip(avals_out, nonzero, strict=True)]
    found = bwd(args[:num_res], every)
    return (*[None] * num_res, *[cotangent for cotangent, wanted in zip(found, active, strict=True) if wanted])


# --- shardings -----------------------------------------------------------------------------------------------------

sharding = RuleSet("sharding", api=1)


@sharding.rule(custom_lin_p)
def _(operands: object, results: object, params: Params) -> tuple[ShapedArray, ...]:
    """Tangents are sharded as the results are, whose types are known."""
    pairs = zip(params["avals_out"], params["nonzero"], strict=True)
    return tuple([aval for aval, has in pairs if has])
