"""The rules of checkpointed calls and of named values: forward, in two parts, transposed; mapped; made smaller."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tangrad._custom_rules.checkpoint.division import Halves, judged
from tangrad._custom_rules.checkpoint.primitives import Barrier, barrier_of, name_p, remat_p
from tangrad.autodiff import (
    Linear,
    Linearized,
    PartialEval,
    Zero,
    is_linear,
    jvp_jaxpr,
    linear_transpose_rule,
    linearize_jaxpr,
    log_structure,
    logged,
    partial_eval_jaxpr,
    symbolic_zeros,
    transpose_jaxpr,
)
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, RuleSet, Var, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad._custom_rules.checkpoint.policies import Policy
    from tangrad._custom_rules.primitives import Tangents
    from tangrad.core import Array
    from tangrad.typing import Value, Values


# --- Derivatives of checkpointed calls, and of named values: forward, in two parts, and transposed ---

jvp = RuleSet("jvp", api=1)


@jvp.rule(remat_p)
@symbolic_zeros
def _(
    primals: Values,
    tangents: tuple[Value | Zero, ...],
    *,
    jaxpr: ClosedJaxpr,
    prevent_cse: bool | tuple[bool, ...],
    **params: object,
) -> tuple[Values, tuple[Value | Zero, ...]]:
    nonzero = tuple([type(tangent) is not Zero for tangent in tangents])
    program, nonzero_out = jvp_jaxpr(jaxpr, nonzero)
    barrier = barrier_of(prevent_cse, range(len(primals)), sum(nonzero))
    given = [tangent for tangent in tangents if type(tangent) is not Zero]
    results = remat_p.bind(*primals, *given, jaxpr=program, prevent_cse=barrier, **params)
    count = len(jaxpr.out_avals)
    outs, rest = results[:count], iter(results[count:])
    return outs, tuple([next(rest) if has else Zero.of(out) for out, has in zip(outs, nonzero_out, strict=True)])


@jvp.rule(name_p)
@symbolic_zeros
def _name(primals: Values, tangents: Values, *, name: str) -> tuple[Array, Value]:
    return name_p.bind(primals[0], name=name), tangents[0]


linearize = RuleSet("linearize", api=1)
partial_eval = RuleSet("partial_eval", api=1)
_programs = JaxprCache()
register_cache(_programs.clear)


@linearize.rule(remat_p)
def _(
    primals: Values,
    active: tuple[bool, ...],
    *,
    jaxpr: ClosedJaxpr,
    policy: Policy | None,
    prevent_cse: Barrier,
    differentiated: bool,
) -> Linearized:
    key = ("linearize", tuple(active), policy, prevent_cse)
    halves, linear, nonzero = _programs.get(jaxpr, key, lambda: _linearized(jaxpr, *key[1:]))
    params = {"policy": policy, "prevent_cse": prevent_cse, "differentiated": differentiated}
    outs = remat_p.bind(*primals, jaxpr=halves.first, **params)
    return Linearized(tuple(outs[: len(nonzero)]), tuple(halves.residuals(primals, outs)), linear, nonzero)


def _linearized(
    closed: ClosedJaxpr, active: tuple[bool, ...], policy: Policy | None, prevent_cse: Barrier
) -> tuple[Halves, ClosedJaxpr, Sequence[bool]]:
    program = linearize_jaxpr(judged(closed, policy), active)
    count = len(program.nonzero)
    halves = Halves(program.primal, count, program.residual_sources, program.linear, policy, prevent_cse)
    inputs, call = _call(halves, policy)
    # A program of one equation: the tape holds that one, so nothing is computed early.
    linear = ClosedJaxpr(Jaxpr([], inputs, call.outvars, [call] if call.outvars else []))
    return halves, linear, program.nonzero


def _call(halves: Halves, policy: Policy | None) -> tuple[list[Var], JaxprEqn]:
    """The operands and the equation of a call of the second half."""
    closed = halves.second
    inputs, outputs = [Var(aval) for aval in closed.in_avals], [Var(aval) for aval in closed.out_avals]
    params = {"jaxpr": closed, "policy": policy, "prevent_cse": halves.barrier, "differentiated": True}
    return inputs, JaxprEqn(remat_p, inputs, outputs, params, closed.effects)


@partial_eval.rule(remat_p)
def _partial_eval(
    known: tuple[bool, ...],
    args: Values,
    *,
    jaxpr: ClosedJaxpr,
    policy: Policy | None,
    prevent_cse: bool,
    differentiated: bool,
) -> PartialEval | None:
    # Without results that are known, as in the second half of a linearised call, nothing must be computed early.
    if not any(partial_eval_jaxpr(jaxpr, known).out_known):
        return None
    key = ("partial_eval", tuple(known), policy, prevent_cse)
    halves, out_known = _programs.get(jaxpr, key, lambda: _divided(jaxpr, *key[1:]))
    given = [position for position, is_known in enumerate(known) if is_known]
    inputs = [args[position] for position in given]
    params = {"policy": policy, "prevent_cse": barrier_of(prevent_cse, given), "differentiated": differentiated}
    outs = remat_p.bind(*inputs, jaxpr=halves.first, **params)
    found = iter(outs)
    known_outs = [next(found) if is_known else None for is_known in out_known]
    if all(out_known):
        return PartialEval(known_outs, (), None)
    rest = [arg for arg, is_known in zip(args, known, strict=True) if not is_known]
    return PartialEval(known_outs, (), _call(halves, policy)[1], (*halves.residuals(inputs, outs), *rest))


def _divided(
    closed: ClosedJaxpr, known: tuple[bool, ...], policy: Policy | None, prevent_cse: Barrier
) -> tuple[Halves, Sequence[bool]]:
    program = partial_eval_jaxpr(judged(closed, policy), known)
    given = [position for position, is_known in enumerate(known) if is_known]
    count = sum(program.out_known)
    barrier = barrier_of(prevent_cse, given)
    halves = Halves(program.known, count, program.residual_sources, program.unknown, policy, barrier)
    return halves, program.out_known


transpose = RuleSet("transpose", api=1)


@transpose.rule(remat_p)
@symbolic_zeros
def _(
    cotangents: Tangents, *args: Value | Linear, jaxpr: ClosedJaxpr, prevent_cse: bool, **params: object
) -> tuple[Value | None, ...]:
    linear = tuple([is_linear(arg) for arg in args])
    given = tuple([type(cotangent) is not Zero for cotangent in cotangents])
    program, nonzero = transpose_jaxpr(jaxpr, linear, given, with_logs=True)
    known = [position for position, is_unknown in enumerate(linear) if not is_unknown]
    cotangents = [cotangent for cotangent in cotangents if type(cotangent) is not Zero]
    barrier = barrier_of(prevent_cse, known, len(cotangents))
    operands = [args[position] for position in known]
    results = remat_p.bind(*operands, *cotangents, jaxpr=program, prevent_cse=barrier, **params)
    found = iter(logged(log_structure(program), results))
    per_unknown = iter([next(found) if has else None for has in nonzero])
    return tuple([next(per_unknown) if is_unknown else None for is_unknown in linear])


linear_transpose_rule(transpose, name_p, lambda cotangent, aval, name: cotangent)


# --- The rules of checkpointed calls but for derivatives: their program is mapped, checked, or made smaller ---

batch = RuleSet("batch", api=1)
batch.form("call", remat_p)
batch.form("elementwise", name_p)

checkify = RuleSet("checkify", api=1)
checkify.form("call", remat_p)

# --- dead code: unused results and arguments are removed -----------------------------------------------------------

dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(remat_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    closed, used = equation.params["jaxpr"], tuple(used_outputs)
    if not any(used) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    barrier = barrier_of(
        equation.params["prevent_cse"], [position for position, is_used in enumerate(used_inputs) if is_used]
    )
    new = equation.replace(
        invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
        outvars=[var for var, is_used in zip(equation.outvars, used, strict=True) if is_used],
        params={**equation.params, "jaxpr": program, "prevent_cse": barrier},
        effects=program.effects,
    )
    return used_inputs, new


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs
