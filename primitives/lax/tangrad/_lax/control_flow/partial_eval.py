"""How conditionals and loops with known and unknown operands are taken apart: what is known is computed now.

Which carries are unknown is a fixpoint: one that starts known may come to depend on the unknowns. None as an answer
means that all outputs do, and that there is nothing to take out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, split_list, while_p
from tangrad._lax.control_flow.programs import kept, rearranged, without_effects
from tangrad._lax.control_flow.residuals import BranchResiduals, LoopResiduals, equation, second_half
from tangrad.autodiff import PartialEval, is_marked_linear, partial_eval_jaxpr
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, Var
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Params, Values

if TYPE_CHECKING:
    from tangrad.typing import Value

partial_eval = RuleSet("partial_eval", api=1)

_halves = JaxprCache()
register_cache(_halves.clear)

Flags = tuple[bool, ...]


def _not(flags: Sequence[bool]) -> Flags:
    return tuple([not flag for flag in flags])


def _both(one: Sequence[bool], other: Sequence[bool]) -> Flags:
    return tuple([a and b for a, b in zip(one, other, strict=True)])


def _merge(out_known: Sequence[bool], values: Sequence[Value]) -> list[Value | None]:
    found = iter(values)
    return [next(found) if is_known else None for is_known in out_known]


# --- one of several programs ---


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @partial_eval.rule(primitive)
    def _(
        known: tuple[bool, ...], args: Values, *, branches: tuple[ClosedJaxpr, ...], **others: object
    ) -> PartialEval | None:
        if not all(known[:lead]) or all([is_marked_linear(branch) for branch in branches]):
            return None
        return _taken_apart(primitive, args[:lead], tuple(known[lead:]), args[lead:], branches, others)


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


def _taken_apart(
    primitive: Primitive,
    index: Values,
    flags: Flags,
    args: Values,
    branches: tuple[ClosedJaxpr, ...],
    others: dict[str, object],
) -> PartialEval | None:
    found = [partial_eval_jaxpr(branch, flags).out_known for branch in branches]
    out_known = tuple([all(each) for each in zip(*found)])
    if not any(out_known):
        return None
    made = [partial_eval_jaxpr(branch, flags, _not(out_known)) for branch in branches]
    sources = [program.residual_sources for program in made]
    residuals = BranchResiduals([program.known for program in made], sources, sum(out_known))
    operands = kept(args, flags)
    results = primitive.bind(*index, *operands, branches=residuals.branches, **others)
    outs, slots = split_list(results, sum(out_known))
    avals = [operand.aval for operand in operands]
    second = tuple(
        [
            second_half(program.unknown, places, residuals.slots, avals, flags.count(False))
            for program, places in zip(made, residuals.places, strict=True)
        ]
    )
    rest = (*index, *slots, *operands, *kept(args, _not(flags)))
    if all(out_known):
        return PartialEval(outs, (), None)
    call = equation(primitive, [Var(value.aval) for value in rest], {"branches": second, **others})
    return PartialEval(_merge(out_known, outs), (), call, rest)


# --- while ---


@partial_eval.rule(while_p)
def _(known: tuple[bool, ...], args: Values, **params: Any) -> PartialEval | None:
    cond_jaxpr, body_jaxpr = params["cond_jaxpr"], params["body_jaxpr"]
    if is_marked_linear(body_jaxpr):
        return None
    cond_nconsts, body_nconsts = params["cond_nconsts"], params["body_nconsts"]
    of_cond, of_body, carry = map(tuple, split_list(known, cond_nconsts, body_nconsts))
    while True:
        found = partial_eval_jaxpr(body_jaxpr, (*of_body, *carry), _not(carry)).out_known
        if found == carry:
            break
        carry = found
    if not any(carry):
        return None
    (predicate_known,) = partial_eval_jaxpr(cond_jaxpr, (*of_cond, *carry)).out_known
    if not predicate_known:
        return None
    outs = _known_while(args, params, of_cond, of_body, carry)
    # The unknown part is the whole loop once more: there is no room for residuals where the iterations are not counted.
    if all(carry):
        return PartialEval(outs, (), None)
    again = {**params, "cond_jaxpr": without_effects(cond_jaxpr), "body_jaxpr": without_effects(body_jaxpr)}
    call = equation(while_p, [Var(arg.aval) for arg in args], again)
    return PartialEval(_merge(carry, outs), (), call, tuple(args))


def _known_while(args: Sequence[object], params: Params, of_cond: Flags, of_body: Flags, carry: Flags) -> Values:
    """The loop over the carries that are known."""
    cond_consts, body_consts, init = split_list(args, params["cond_nconsts"], params["body_nconsts"])
    body = partial_eval_jaxpr(params["body_jaxpr"], (*of_body, *carry), _not(carry)).known
    condition = partial_eval_jaxpr(params["cond_jaxpr"], (*of_cond, *carry)).known
    new = {
        "cond_jaxpr": rearranged(condition, range(len(condition.in_avals)), [0]),
        "body_jaxpr": rearranged(body, range(len(body.in_avals)), range(sum(carry))),
        "cond_nconsts": sum(of_cond),
        "body_nconsts": sum(of_body),
    }
    return while_p.bind(*kept(cond_consts, of_cond), *kept(body_consts, of_body), *kept(init, carry), **new)


# --- scan ---


@partial_eval.rule(scan_p)
def _(known: tuple[bool, ...], args: Values, **params: Any) -> PartialEval | None:
    if is_marked_linear(params["jaxpr"]):
        return None
    others = tuple([(name, value) for name, value in params.items() if name != "jaxpr"])
    halves = _halves.get(params["jaxpr"], ("scan", tuple(known), others), lambda: _ScanHalves(params, tuple(known)))
    if halves.residuals is None:
        return None
    consts, init, xs = split_list(args, params["num_consts"], params["num_carry"])
    of_consts, _, of_xs = split_list(known, params["num_consts"], params["num_carry"])
    carry = halves.carry
    first = kept(consts, of_consts), kept(init, carry), kept(xs, of_xs)
    before = halves.residuals.before(first[0], first[1])
    results = scan_p.bind(*before, *first[0], *first[1], *first[2], **halves.known_params)
    last, ys, stacked = split_list(results, sum(carry), sum(halves.ys))
    out_known = (*carry, *halves.ys)
    if all(out_known):
        return PartialEval([*last, *ys], (), None)
    fixed, rows = halves.residuals.values(before, *first, ys, stacked)
    rest = (
        *fixed,
        *kept(consts, _not(of_consts)),
        *kept(init, _not(carry)),
        *rows,
        *kept(xs, _not(of_xs)),
    )
    call = equation(scan_p, [Var(value.aval) for value in rest], halves.unknown_params)
    return PartialEval(_merge(out_known, [*last, *ys]), (), call, rest)


class _ScanHalves:
    """A scan taken apart; `residuals` is None where there is nothing to take out.

    Attributes:
        carry, ys: which of them are known.
        residuals: the body of the known part, and where residuals are.
        known_params, unknown_params: of the two scans.
    """

    __slots__ = ("carry", "known_params", "residuals", "unknown_params", "ys")

    def __init__(self, params: Params, known: Flags) -> None:
        jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
        consts, carry, xs = map(tuple, split_list(known, num_consts, num_carry))
        no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)
        while True:
            made = partial_eval_jaxpr(jaxpr, (*consts, *carry, *xs), (*_not(carry), *no_ys))
            found = made.out_known[:num_carry]
            if found == carry:
                break
            carry = found
        self.carry, self.ys = carry, made.out_known[num_carry:]
        self.residuals = None
        if not any(made.out_known):
            return
        count = sum(consts)
        self.residuals = LoopResiduals(made.known, made.residual_sources, count, sum(carry), sum(made.out_known))
        body = self.residuals.body
        hoisted = len(body.in_avals) - len(made.known.in_avals)
        self.known_params = {**params, "jaxpr": body, "num_consts": count + hoisted, "num_carry": sum(carry)}
        is_fixed = self.residuals.is_fixed
        fixed = [position for position, flag in enumerate(is_fixed) if flag]
        rows = [position for position, flag in enumerate(is_fixed) if not flag]
        rest = range(len(is_fixed), len(made.unknown.in_avals))
        new_consts, new_carry, new_xs = split_list(rest, consts.count(False), carry.count(False))
        order = [*fixed, *new_consts, *new_carry, *rows, *new_xs]
        self.unknown_params = {
            **params,
            "jaxpr": rearranged(made.unknown, order, range(len(made.unknown.out_avals))),
            "num_consts": len(fixed) + len(new_consts),
            "num_carry": len(new_carry),
        }
