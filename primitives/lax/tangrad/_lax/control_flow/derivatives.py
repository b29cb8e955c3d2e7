"""How conditionals and loops are differentiated forward, and linearised: their programs compute tangents, too.

For linearisation the primal is computed now; the rest is a linear program on residuals. Which carries of a loop have a
tangent is a fixpoint: one that starts without may get one in the first iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.evaluation import chosen, with_common_types
from tangrad._lax.control_flow.primitives import CHOICES, rows_type, scan_p, split_list, while_p
from tangrad._lax.control_flow.programs import ignoring, rearranged, spans, without_effects
from tangrad._lax.control_flow.residuals import (
    BranchResiduals,
    LoopResiduals,
    call_program,
    equation,
    second_half,
    with_zeros,
    zeros_atom,
)
from tangrad.autodiff import Linearized, Zero, instantiate, jvp_jaxpr, linearize_jaxpr, mark_linear, symbolic_zeros
from tangrad.core import ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, RuleSet, ShapedArray, Tracer, Var
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Params, Value, Values

Flags = tuple[bool, ...]


class WhileTangents:
    """A while loop with tangents.

    Attributes:
        consts, carry: which of the body's constants, and which carries, have one.
        params: of the loop over `(cond_consts, body_consts, their tangents, carry, its tangents)`.
    """

    __slots__ = ("carry", "consts", "params")

    def __init__(self, params: Params, nonzero: Sequence[bool]) -> None:
        cond_jaxpr, body_jaxpr, body_nconsts = params["cond_jaxpr"], params["body_jaxpr"], params["body_nconsts"]
        _, self.consts, carry = map(tuple, split_list(nonzero, params["cond_nconsts"], body_nconsts))
        while True:
            program, found = jvp_jaxpr(body_jaxpr, (*self.consts, *carry), carry)
            if tuple(found) == carry:
                break
            carry = tuple(found)
        self.carry = carry
        parts = spans(body_nconsts, len(carry), sum(self.consts), sum(carry))
        consts, values, const_tangents, tangents = parts
        order = [*consts, *const_tangents, *values, *tangents]
        self.params = {
            "cond_jaxpr": ignoring(cond_jaxpr, [program.in_avals[position] for position in tangents]),
            "body_jaxpr": rearranged(program, order, range(len(program.out_avals))),
            "cond_nconsts": params["cond_nconsts"],
            "body_nconsts": body_nconsts + sum(self.consts),
        }


class ScanTangents:
    """A scan with tangents.

    Attributes:
        consts, carry, xs, ys: which of them have one.
        params: of the scan over `(consts, their tangents, carry, its tangents, xs, their tangents)`, which gives
            `(carry, its tangents, results, their tangents)`.
    """

    __slots__ = ("carry", "consts", "params", "xs", "ys")

    def __init__(self, params: Params, nonzero: Sequence[bool]) -> None:
        jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        self.consts, carry, self.xs = map(tuple, split_list(nonzero, num_consts, num_carry))
        num_ys = len(jaxpr.out_avals) - num_carry
        while True:
            flags = (*self.consts, *carry, *self.xs)
            program, found = jvp_jaxpr(jaxpr, flags, (*carry, *(False,) * num_ys))
            if tuple(found[:num_carry]) == carry:
                break
            carry = tuple(found[:num_carry])
        self.carry, self.ys = carry, tuple(found[num_carry:])
        active = sum(carry)
        consts, values, xs, consts_t, values_t, xs_t = spans(
            num_consts, num_carry, len(self.xs), sum(self.consts), active, sum(self.xs)
        )
        values_out, ys, values_out_t, ys_t = spans(num_carry, num_ys, active, sum(self.ys))
        self.params = {
            **params,
            "jaxpr": rearranged(
                program, [*consts, *consts_t, *values, *values_t, *xs, *xs_t], [*values_out, *values_out_t, *ys, *ys_t]
            ),
            "num_consts": num_consts + sum(self.consts),
            "num_carry": num_carry + active,
        }


# --- forward ---

jvp = RuleSet("jvp", api=1)

_loops = JaxprCache()
register_cache(_loops.clear)


def _nonzero(tangents: Sequence[Value | Zero]) -> tuple[bool, ...]:
    return tuple([type(tangent) is not Zero for tangent in tangents])


def _given(tangents: Sequence[Value | Zero], flags: Sequence[bool]) -> list[Value]:
    """The tangents whose flag is set; zeros that a rule needs become arrays."""
    return [instantiate(tangent) for tangent, flag in zip(tangents, flags, strict=True) if flag]


def _tangents_out(outs: Sequence[Value], nonzero: Sequence[bool], given: Sequence[Value]) -> tuple[Value | Zero, ...]:
    found = iter(given)
    return tuple([next(found) if has else Zero.of(out) for out, has in zip(outs, nonzero, strict=True)])


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @jvp.rule(primitive)
    @symbolic_zeros
    def _(
        primals: Values, tangents: tuple[Value | Zero, ...], *, branches: tuple[ClosedJaxpr, ...], **others: object
    ) -> tuple[Values, tuple[Value | Zero, ...]]:
        nonzero = _nonzero(tangents[lead:])
        found = [jvp_jaxpr(branch, nonzero)[1] for branch in branches]
        wanted = tuple([any(flags) for flags in zip(*found)])
        programs = tuple([jvp_jaxpr(branch, nonzero, wanted)[0] for branch in branches])
        results = primitive.bind(*primals, *_given(tangents[lead:], nonzero), branches=programs, **others)
        outs, rest = split_list(results, len(wanted))
        return tuple(outs), _tangents_out(outs, wanted, rest)


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


@jvp.rule(while_p)
@symbolic_zeros
def _(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: Any
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    nonzero = _nonzero(tangents)
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    key = ("while", nonzero, params["cond_jaxpr"], cond_nconsts)
    loop = _loops.get(params["body_jaxpr"], key, lambda: WhileTangents(params, nonzero))
    cond_consts, body_consts, init = split_list(primals, cond_nconsts, body_nconsts)
    _, const_tangents, init_tangents = split_list(tangents, cond_nconsts, body_nconsts)
    results = while_p.bind(
        *cond_consts,
        *body_consts,
        *_given(const_tangents, loop.consts),
        *init,
        *_given(init_tangents, loop.carry),
        **loop.params,
    )
    outs, rest = split_list(results, len(init))
    return tuple(outs), _tangents_out(outs, loop.carry, rest)


@jvp.rule(scan_p)
@symbolic_zeros
def _(
    primals: Values, tangents: tuple[Value | Zero, ...], **params: Any
) -> tuple[Sequence[Value], Sequence[Value | Zero]]:
    nonzero = _nonzero(tangents)
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    others = tuple([(name, value) for name, value in params.items() if name != "jaxpr"])
    loop = _loops.get(params["jaxpr"], ("scan", nonzero, others), lambda: ScanTangents(params, nonzero))
    consts, init, xs = split_list(primals, num_consts, num_carry)
    consts_dot, init_dot, xs_dot = split_list(tangents, num_consts, num_carry)
    results = scan_p.bind(
        *consts,
        *_given(consts_dot, loop.consts),
        *init,
        *_given(init_dot, loop.carry),
        *xs,
        *_given(xs_dot, loop.xs),
        **loop.params,
    )
    last, last_dot, ys, ys_dot = split_list(results, num_carry, sum(loop.carry), len(loop.ys))
    outs = (*last, *ys)
    return outs, _tangents_out(outs, (*loop.carry, *loop.ys), [*last_dot, *ys_dot])


# --- linearised ---

linearize = RuleSet("linearize", api=1)

_halves = JaxprCache()
register_cache(_halves.clear)


def _chosen_avals(avals: Sequence[ShapedArray], flags: Sequence[bool]) -> list[ShapedArray]:
    return [aval for aval, flag in zip(avals, flags, strict=True) if flag]


# --- one of several programs ---


def _choice_linearized(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @linearize.rule(primitive)
    def _(
        primals: Values, active: tuple[bool, ...], *, branches: tuple[ClosedJaxpr, ...], **others: object
    ) -> Linearized:
        index, operands, flags = primals[:lead], primals[lead:], tuple(active[lead:])
        if lead and not isinstance(index[0], Tracer):  # only the branch that runs matters
            return _one_branch(branches, chosen(index[0], len(branches)), operands, flags)
        key = (primitive.name, branches[1:], flags, tuple(others.items()))
        avals = [value.aval for value in index]
        halves = _halves.get(branches[0], key, lambda: _BranchHalves(primitive, branches, others, flags, avals))
        bound = primitive.bind(*index, *operands, branches=halves.primal, **others)
        outs, slots = split_list(bound, len(halves.nonzero))
        return Linearized(tuple(outs), (*index, *slots, *operands), halves.linear, halves.nonzero)


for _primitive, _lead in CHOICES.items():
    _choice_linearized(_primitive, _lead)


def _one_branch(branches: Sequence[ClosedJaxpr], position: int, operands: Sequence[Value], active: Flags) -> Linearized:
    program = linearize_jaxpr(branches[position], active)
    outs, residuals = program.split(operands, call_program(program.primal, operands))
    return Linearized(with_common_types(outs, branches), tuple(residuals), program.linear, program.nonzero)


class _BranchHalves:
    """Branches linearised together.

    Attributes:
        primal: the branches, which give residuals too.
        linear: closed jaxpr `(index, slots, operands, active tangents) -> tangents`.
        nonzero: for each output, whether it has a tangent.
    """

    __slots__ = ("linear", "nonzero", "primal")

    def __init__(
        self,
        primitive: Primitive,
        branches: Sequence[ClosedJaxpr],
        others: Params,
        active: Flags,
        index_avals: Sequence[ShapedArray],
    ) -> None:
        made = [linearize_jaxpr(branch, active) for branch in branches]
        self.nonzero = tuple([any(flags) for flags in zip(*[program.nonzero for program in made])])
        sources = [program.residual_sources for program in made]
        residuals = BranchResiduals([program.primal for program in made], sources, len(self.nonzero))
        self.primal = residuals.branches
        operands = branches[0].in_avals
        second = []
        for program, places in zip(made, residuals.places, strict=True):
            linear = with_zeros(program.linear, program.nonzero, self.nonzero, branches[0].out_avals)
            second.append(mark_linear(second_half(linear, places, residuals.slots, operands, sum(active))))
        avals = [*index_avals, *residuals.slots, *operands, *_chosen_avals(operands, active)]
        invars = [Var(aval) for aval in avals]
        call = equation(primitive, invars, {"branches": tuple(second), **others})
        self.linear = ClosedJaxpr(Jaxpr([], invars, call.outvars, [call]))


# --- while ---


@linearize.rule(while_p)
def _(primals: Values, active: tuple[bool, ...], **params: object) -> Linearized:
    # How often the loop runs is not known, so there is no room for residuals: the second half runs it once more, with
    # tangents.
    outs = while_p.bind(*primals, **params)
    cond_nconsts = params["cond_nconsts"]
    key = ("while", tuple(active), params["cond_jaxpr"], cond_nconsts)
    linear, nonzero = _halves.get(params["body_jaxpr"], key, lambda: _linear_while(params, primals, tuple(active)))
    return Linearized(tuple(outs), tuple(primals), linear, nonzero)


def _linear_while(params: Params, primals: Sequence[Value], active: Flags) -> tuple[ClosedJaxpr, Flags]:
    loop = WhileTangents(params, active)
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    values = [Var(primal.aval) for primal in primals]
    tangents: list[Any] = [Var(var.aval) if has else None for var, has in zip(values, active, strict=True)]
    cond_consts, body_consts, init = split_list(values, cond_nconsts, body_nconsts)
    __linearized, const_tangents, init_tangents = split_list(tangents, cond_nconsts, body_nconsts)
    eqns: list[JaxprEqn] = []
    started = [
        zeros_atom(var.aval, eqns) if tangent is None else tangent
        for var, tangent, has in zip(init, init_tangents, loop.carry, strict=True)
        if has
    ]
    given = [tangent for tangent in const_tangents if tangent is not None]
    # Side effects take place in the first half, and not once more.
    body = mark_linear(without_effects(loop.params["body_jaxpr"]))
    again = {**loop.params, "cond_jaxpr": without_effects(loop.params["cond_jaxpr"]), "body_jaxpr": body}
    call = equation(while_p, [*cond_consts, *body_consts, *given, *init, *started], again)
    invars = [*values, *[tangent for tangent in tangents if tangent is not None]]
    return ClosedJaxpr(Jaxpr([], invars, call.outvars[len(init) :], [*eqns, call])), loop.carry


# --- scan ---


@linearize.rule(scan_p)
def _(primals: Values, active: tuple[bool, ...], **params: Any) -> Linearized:
    others = tuple([(name, value) for name, value in params.items() if name != "jaxpr"])
    halves = _halves.get(params["jaxpr"], ("scan", tuple(active), others), lambda: _ScanHalves(params, tuple(active)))
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    consts, init, xs = split_list(primals, num_consts, num_carry)
    before = halves.residuals.before(consts, init)
    results = scan_p.bind(*before, *consts, *init, *xs, **halves.primal_params)
    last, ys, stacked = split_list(results, num_carry, len(halves.nonzero) - num_carry)
    fixed, rows = halves.residuals.values(before, consts, init, xs, ys, stacked)
    return Linearized((*last, *ys), (*fixed, *rows), halves.linear, halves.nonzero)


class _ScanHalves:
    """A scan linearised.

    Attributes:
        residuals: the body with residuals, and where they are.
        primal_params: of the scan over it.
        linear: closed jaxpr `(fixed residuals, rows of residuals, active tangents) -> tangents`.
        nonzero: for each output, whether it has a tangent.
    """

    __slots__ = ("linear", "nonzero", "primal_params", "residuals")

    def __init__(self, params: Params, active: Flags) -> None:
        jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        consts, started, xs = map(tuple, split_list(active, num_consts, num_carry))
        carry: Flags = started
        while True:
            made = linearize_jaxpr(jaxpr, (*consts, *carry, *xs))
            found = tuple([a or b for a, b in zip(carry, made.nonzero[:num_carry], strict=True)])
            if found == carry:
                break
            carry = found
        self.nonzero = (*carry, *made.nonzero[num_carry:])
        self.residuals = LoopResiduals(made.primal, made.residual_sources, num_consts, num_carry, len(self.nonzero))
        hoisted = len(self.residuals.body.in_avals) - len(jaxpr.in_avals)
        self.primal_params = {**params, "jaxpr": self.residuals.body, "num_consts": num_consts + hoisted}
        linear = with_zeros(made.linear, made.nonzero, self.nonzero, jaxpr.out_avals)
        self.linear = self._as_scan(linear, params, consts, started, carry, xs)

    def _as_scan(
        self, linear: ClosedJaxpr, params: Params, consts: Flags, started: Flags, carry: Flags, xs: Flags
    ) -> ClosedJaxpr:
        """A scan of the linear body, which takes `(residuals, tangents of consts, carry, slices)`."""
        is_fixed = self.residuals.is_fixed
        count = len(is_fixed)
        fixed = [position for position in range(count) if is_fixed[position]]
        rows = [position for position in range(count) if not is_fixed[position]]
        of_consts, of_carry, of_xs = split_list(range(count, len(linear.in_avals)), sum(consts), sum(carry))
        order = [*fixed, *of_consts, *of_carry, *rows, *of_xs]
        body = mark_linear(rearranged(linear, order, range(len(linear.out_avals))))
        length = params["length"]
        avals = linear.in_avals

        def stacked(positions: Sequence[int]) -> list[Var]:
            return [Var(rows_type(avals[p].strip_weak_type(), length)) for p in positions]

        fixed_vars, const_vars = [Var(avals[p]) for p in fixed], [Var(avals[p]) for p in of_consts]
        row_vars, x_vars = stacked(rows), stacked(of_xs)
        eqns: list[JaxprEqn] = []
        given, first = [], []
        carried = [is_started for is_started, has in zip(started, carry, strict=True) if has]
        for position, is_started in zip(of_carry, carried, strict=True):
            if is_started:
                given.append(Var(avals[position]))
            first.append(given[-1] if is_started else zeros_atom(avals[position], eqns))
        new = {**params, "jaxpr": body, "num_consts": len(fixed) + len(of_consts), "num_carry": len(of_carry)}
        call = equation(scan_p, [*fixed_vars, *const_vars, *first, *row_vars, *x_vars], new)
        invars = [*fixed_vars, *row_vars, *const_vars, *given, *x_vars]
        return ClosedJaxpr(Jaxpr([], invars, call.outvars, [*eqns, call]))
