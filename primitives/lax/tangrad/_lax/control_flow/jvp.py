"""How conditionals and loops are differentiated forward: their programs compute tangents beside primals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, split_list, while_p
from tangrad._lax.control_flow.tangents import ScanTangents, WhileTangents
from tangrad.autodiff import Zero, instantiate, jvp_jaxpr, symbolic_zeros
from tangrad.core import ClosedJaxpr, Primitive, RuleSet
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.typing import Value, Values

jvp = RuleSet("jvp", api=1)

_loops = JaxprCache()
register_cache(_loops.clear)


def _nonzero(tangents: Sequence[Value | Zero]) -> tuple[bool, ...]:
    return tuple([type(tangent) is not Zero for tangent in tangents])


def _given(tangents: Sequence[Value | Zero], flags: Sequence[bool]) -> list[Value]:
    """The tangents whose flag is set; zeros that a rule needs become arrays."""
    return [instantiate(tangent) for tangent, flag in zip(tangents, flags, strict=True) if flag]


def _tangents_out(outs: Sequence[Any], nonzero: Sequence[bool], given: Sequence[Value]) -> tuple[Any, ...]:
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
