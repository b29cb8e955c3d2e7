"""How conditionals and loops are mapped.

Where what decides (the index of a conditional, the condition of a loop) is the same along the mapped axis, the programs
are mapped and the structure stays. Where it is not, all branches run and a selection follows; a loop runs as long as
any of its rows has to, and the other rows keep their values.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._lax.control_flow.primitives import CHOICES, scan_p, split_list, while_p
from tangrad._lax.control_flow.programs import forwarded, rearranged
from tangrad._lax.elementwise.primitives import and_p, eq_p, ne_p, select_n_p
from tangrad._lax.reductions.primitives import reduce_or_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, stop_gradient_p
from tangrad.batching import AxisInfo, batch_jaxpr, broadcast_axis, move_axis, place_axis, to_front
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Literal,
    Primitive,
    RuleSet,
    Tracer,
    dtypes,
    eval_jaxpr,
    literal,
    trace_to_closed_jaxpr,
)
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.programs import without_value_checks
from tangrad.typing import Dims, Value, Values

batch = RuleSet("batch", api=1)
_masked = JaxprCache()
register_cache(_masked.clear)
_ZERO = literal(0, np.dtype("int32"), False)

Flags = tuple[bool, ...]


def _either(one: Sequence[bool], other: Sequence[bool]) -> Flags:
    return tuple([a or b for a, b in zip(one, other, strict=True)])


def _mapped(dims: Sequence[int | None]) -> Flags:
    return tuple([dim is not None for dim in dims])


def _dims(flags: Sequence[bool], axis: int = 0) -> tuple[int | None, ...]:
    return tuple([axis if flag else None for flag in flags])


# --- one of several programs ---


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @batch.rule(primitive)
    def _(
        args: Values, dims: Dims, *, axis_info: AxisInfo, branches: tuple[ClosedJaxpr, ...], **others: object
    ) -> tuple[Values, Dims]:
        placed = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
        if any(_mapped(dims[:lead])):
            return _select(placed[0], placed[lead:], dims[lead:], axis_info, branches)
        mapped = _mapped(dims[lead:])
        out_mapped: Flags = (False,) * len(branches[0].out_avals)
        for branch in branches:
            out_mapped = _either(out_mapped, batch_jaxpr(branch, mapped, axis_info)[1])
        programs = tuple([batch_jaxpr(branch, mapped, axis_info, out_mapped)[0] for branch in branches])
        return primitive.bind(*placed, branches=programs, **others), _dims(out_mapped)


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


def _select(
    index: Value,
    operands: Sequence[Value],
    dims: Sequence[int | None],
    axis_info: AxisInfo,
    branches: tuple[ClosedJaxpr, ...],
) -> tuple[tuple[Array | Literal, ...], tuple[int | None, ...]]:
    """All branches on all rows, and for each row the results of the branch that its index chooses."""
    refused = _exact_effects(*branches)
    if refused:
        raise NotImplementedError(
            f"cond: a mapped index would run all branches, and branches have effects that must happen only in the one "
            f"that is chosen: {refused}. Of callbacks only those of tangrad.debug can be here"
        )
    sources = forwarded(branches)
    made = [position for position, source in enumerate(sources) if source is None]
    results = []
    for number, branch in enumerate(branches):
        chosen = eq_p.bind(index, literal(number, index.aval.dtype, False))
        guarded, mapped = _guarded(chosen, operands, _mapped(dims), axis_info.size)
        program, _ = batch_jaxpr(rearranged(branch, range(len(operands)), made), mapped, axis_info, True)
        with without_value_checks():  # what is not chosen counts for nothing
            results.append(eval_jaxpr(program.jaxpr, program.consts, *guarded))
    which = index
    if len(branches) == 2:
        which = ne_p.bind(index, _ZERO)
    chosen_ones = iter([_choose(which, cases) for cases in zip(*results)])
    outs = tuple([next(chosen_ones) if source is None else operands[source] for source in sources])
    return outs, tuple([None if source is not None and dims[source] is None else 0 for source in sources])


def _guarded(
    chosen: Value, operands: Sequence[Value], mapped: Flags, size: int
) -> tuple[list[Value], tuple[bool, ...]]:
    """The operands of one branch, such that nothing flows back to them from rows on which another one is chosen.

    On those the derivatives of this branch may be infinite, and zero times infinity is not zero. Every row needs its
    own answer, so operands that are not mapped are repeated. Values do not change. To what is no tracer nothing flows
    back: it stays as it is, or weights that branches close over would be repeated for each row.
    """
    guarded, flags = [], []
    for operand, flag in zip(operands, mapped, strict=True):
        if isinstance(operand, Tracer) and dtypes.issubdtype(operand.aval.dtype, np.inexact):
            rows = operand if flag else broadcast_axis(operand, size, 0)
            guarded.append(_choose(chosen, (stop_gradient_p.bind(rows), rows)))
            flags.append(True)
        else:
            guarded.append(operand)
            flags.append(flag)
    return guarded, tuple(flags)


def _exact_effects(*programs: ClosedJaxpr) -> str:
    """The effects of programs that must not happen more often than they say; empty if there are none."""
    effects = frozenset().union(*[program.effects for program in programs])
    return ", ".join(sorted([str(effect) for effect in effects if not (effect.incidental or effect.droppable)]))


def _choose(which: Value, cases: Sequence[Value]) -> Value:
    """`cases[which[i]][i]` for each row i."""
    shape = cases[0].aval.shape
    if all([case is cases[0] for case in cases]):
        return cases[0]
    if len(shape) > 1:
        which = broadcast_in_dim_p.bind(which, shape=shape, broadcast_dimensions=(0,))
    return select_n_p.bind(which, *cases)


# --- while ---


@batch.rule(while_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[Sequence[Value], Sequence[int | None]]:
    cond_mapped, body_mapped, carry_mapped = map(tuple, split_list(_mapped(dims), cond_nconsts, body_nconsts))
    while True:
        _, (predicate_mapped,) = batch_jaxpr(cond_jaxpr, (*cond_mapped, *carry_mapped), axis_info)
        if predicate_mapped:
            carry_mapped = (True,) * len(carry_mapped)
        _, out_mapped = batch_jaxpr(body_jaxpr, (*body_mapped, *carry_mapped), axis_info, carry_mapped)
        if out_mapped == carry_mapped:
            break
        carry_mapped = _either(carry_mapped, out_mapped)
    condition, _ = batch_jaxpr(cond_jaxpr, (*cond_mapped, *carry_mapped), axis_info)
    body, _ = batch_jaxpr(body_jaxpr, (*body_mapped, *carry_mapped), axis_info, carry_mapped)
    placed = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    cond_consts, body_consts, carry = split_list(placed, cond_nconsts, body_nconsts)
    carry = [
        broadcast_axis(value, axis_info.size, 0) if wanted and dim is None else value
        for value, wanted, dim in zip(carry, carry_mapped, dims[cond_nconsts + body_nconsts :], strict=True)
    ]
    ordered = predicate_mapped and any([effect.ordered for effect in condition.effects])
    if predicate_mapped:
        masked = _mask(condition, body, cond_nconsts, body_nconsts, ordered)  # raises before anything happens
        if ordered:
            carry = [*eval_jaxpr(condition.jaxpr, condition.consts, *cond_consts, *carry), *carry]
        condition, body, count = masked
        body_consts, body_nconsts = [*cond_consts, *body_consts], count
    if ordered:
        cond_consts, cond_nconsts = [], 0
    outs = while_p.bind(
        *cond_consts,
        *body_consts,
        *carry,
        cond_jaxpr=condition,
        body_jaxpr=body,
        cond_nconsts=cond_nconsts,
        body_nconsts=body_nconsts,
    )
    return outs[ordered:], _dims(carry_mapped)


def _mask(
    condition: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, body_nconsts: int, ordered: bool
) -> tuple[ClosedJaxpr, ClosedJaxpr, int]:
    """A condition that holds while it holds for any row, and a body that changes only the rows for which it holds.

    `ordered`: the condition has ordered effects and must not be computed twice: the loop carries the rows first.
    """
    refused = _exact_effects(condition, body)
    if refused:
        raise NotImplementedError(
            "while_loop: rows that end at different times go on together until the last, so there can be no effects "
            f"that must happen only in rows that go on: {refused}. Of callbacks only those of tangrad.debug can be here"
        )
    key = ("mask", cond_nconsts, body_nconsts, ordered)
    return _masked.get(body, (key, condition), lambda: _make_mask(condition, body, cond_nconsts, ordered))


def _make_mask(
    condition: ClosedJaxpr, body: ClosedJaxpr, cond_nconsts: int, ordered: bool
) -> tuple[ClosedJaxpr, ClosedJaxpr, int]:
    def any_row(*args: Value) -> list[Value]:
        rows = args[0] if ordered else eval_jaxpr(condition.jaxpr, condition.consts, *args)[0]
        return [reduce_or_p.bind(rows, axes=(0,))]

    count = len(body.out_avals)
    consts = len(body.in_avals) - count

    def step(*args: Value) -> list[Value]:
        cond_consts, body_consts, carry = split_list(args, cond_nconsts, consts)
        (rows,) = eval_jaxpr(condition.jaxpr, condition.consts, *cond_consts, *carry)
        new = eval_jaxpr(body.jaxpr, body.consts, *body_consts, *carry)
        return [_choose(rows, (old, value)) for old, value in zip(carry, new)]

    def ordered_step(*args: Value) -> list[Value]:
        cond_consts, body_consts, (rows, *carry) = split_list(args, cond_nconsts, consts)
        new = eval_jaxpr(body.jaxpr, body.consts, *body_consts, *carry)
        (going,) = eval_jaxpr(condition.jaxpr, condition.consts, *cond_consts, *new)
        return [and_p.bind(rows, going), *[_choose(rows, (old, value)) for old, value in zip(carry, new)]]

    constants, carried = [*condition.in_avals[:cond_nconsts], *body.in_avals[:consts]], body.in_avals[consts:]
    if ordered:
        carried = [*condition.out_avals, *carried]
    return (
        trace_to_closed_jaxpr(any_row, carried if ordered else condition.in_avals, "any row"),
        trace_to_closed_jaxpr(ordered_step if ordered else step, [*constants, *carried], "rows that go on"),
        cond_nconsts + consts,
    )


# --- scan ---


@batch.rule(scan_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[Sequence[Value], Sequence[int | None]]:
    consts_mapped, carry_mapped, xs_mapped = map(tuple, split_list(_mapped(dims), num_consts, num_carry))
    no_ys = (False,) * (len(jaxpr.out_avals) - num_carry)
    while True:
        flags = (*consts_mapped, *carry_mapped, *xs_mapped)
        program, out_mapped = batch_jaxpr(jaxpr, flags, axis_info, (*carry_mapped, *no_ys))
        if out_mapped[:num_carry] == carry_mapped:
            break
        carry_mapped = out_mapped[:num_carry]
    consts, carry, xs = split_list(list(zip(args, dims, strict=True)), num_consts, num_carry)
    outs = scan_p.bind(
        *[to_front(value, dim) for value, dim in consts],
        *[
            place_axis(value, dim, 0, axis_info.size) if wanted else value
            for (value, dim), wanted in zip(carry, carry_mapped, strict=True)
        ],
        *[value if dim is None else move_axis(value, dim, 1) for value, dim in xs],
        jaxpr=program,
        num_consts=num_consts,
        num_carry=num_carry,
        length=length,
        reverse=reverse,
        unroll=unroll,
    )
    return outs, (*_dims(carry_mapped), *_dims(out_mapped[num_carry:], 1))
