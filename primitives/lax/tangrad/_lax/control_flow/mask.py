"""Control flow on padded arrays: the programs within become programs over padded operands.

The sizes of a call are operands of these programs where they are traced. Of a scan over a padded axis the iterations
that do not count are passed over by a `cond`, so that their derivatives are not taken either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.control_flow.primitives import CHOICES, cond_p, scan_p, split_list, while_p
from tangrad._lax.elementwise.primitives import convert_element_type_p, lt_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p, iota_p
from tangrad.core import (
    Array,
    ClosedJaxpr,
    Primitive,
    RuleSet,
    ShapedArray,
    closed_over_as_arguments,
    eval_jaxpr,
    literal,
    trace_to_closed_jaxpr,
    trace_to_jaxpr,
)
from tangrad.core.arguments import is_symbolic
from tangrad.extend.masking import INT32, Sizes, mask_jaxpr, number
from tangrad.typing import Dimensions, Value, Values

mask = RuleSet("mask", api=1)


def _masked(
    closed: ClosedJaxpr, args: Sequence[Value], shapes: Sequence[Dimensions], sizes: Sizes
) -> tuple[ClosedJaxpr, list[Any], Any]:
    return mask_jaxpr(closed, shapes, [arg.aval for arg in args], sizes)


def _filled(outs: Sequence[Value], shapes: Sequence[Dimensions], sizes: Sizes) -> tuple[Array, ...]:
    return tuple([sizes.fill(out, shape, 0) for out, shape in zip(outs, shapes, strict=True)])


def _choice(primitive: Primitive, lead: int) -> None:
    """Register the rule of a primitive that runs one of several programs; its first `lead` operands say which."""

    @mask.rule(primitive)
    def _(
        args: Sequence[Value],
        shapes: Sequence[Dimensions],
        *,
        sizes: Sizes,
        branches: tuple[ClosedJaxpr, ...],
        **others: object,
    ) -> Value:
        operands = args[lead:]
        programs = [_masked(branch, operands, shapes[lead:], sizes) for branch in branches]
        consts = [const for _, values, _ in programs for const in values]
        taken, made = 0, []
        for program, values, _ in programs:
            made.append(_with_others(program, taken, len(values), consts, operands))
            taken += len(values)
        return primitive.bind(*args[:lead], *consts, *operands, branches=tuple(made), **others)


for _primitive, _lead in CHOICES.items():
    _choice(_primitive, _lead)


def _with_others(
    program: ClosedJaxpr, start: int, count: int, consts: Sequence[Value], operands: Sequence[Value]
) -> ClosedJaxpr:
    """A branch that takes the constants of all branches, of which its own begin at `start`."""

    def run(*values: Value) -> list[Array]:
        own = (*values[start : start + count], *values[len(consts) :])
        return eval_jaxpr(program.jaxpr, program.consts, *own)

    return trace_to_closed_jaxpr(run, [value.aval for value in (*consts, *operands)], "a masked branch")


@mask.rule(while_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> Sequence[Value]:
    cond_args, body_args, carry = split_list(args, cond_nconsts, body_nconsts)
    cond_shapes, body_shapes, carry_shapes = split_list(shapes, cond_nconsts, body_nconsts)
    condition, cond_consts, _ = _masked(cond_jaxpr, [*cond_args, *carry], [*cond_shapes, *carry_shapes], sizes)
    body, body_consts, _ = _masked(body_jaxpr, [*body_args, *carry], [*body_shapes, *carry_shapes], sizes)
    return while_p.bind(
        *cond_consts,
        *cond_args,
        *body_consts,
        *body_args,
        *carry,
        cond_jaxpr=condition,
        body_jaxpr=body,
        cond_nconsts=len(cond_consts) + cond_nconsts,
        body_nconsts=len(body_consts) + body_nconsts,
    )


@mask.rule(scan_p)
def _(
    args: Sequence[Value],
    shapes: Sequence[Dimensions],
    *,
    sizes: Sizes,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: object,
    reverse: bool,
    unroll: int,
) -> Sequence[Value]:
    consts, carry, xs = split_list(args, num_consts, num_carry)
    inner = [*shapes[: num_consts + num_carry], *[shape[1:] for shape in shapes[num_consts + num_carry :]]]
    rows = [x.aval.update(shape=x.aval.shape[1:]) for x in xs]
    avals = [*[value.aval for value in (*consts, *carry)], *rows]
    body, sizes_of_body, out_shapes = mask_jaxpr(jaxpr, inner, avals, sizes)
    count = sizes.padded(length)
    consts = [*sizes_of_body, *consts]
    if is_symbolic(length):
        body, more = _passing_over(body, number(sizes.logical(length)), num_carry, len(consts))
        consts = [*more, *consts]
        xs = [*xs, iota_p.bind(dtype=INT32, shape=(count,), dimension=0)]
    outs = scan_p.bind(
        *consts,
        *carry,
        *xs,
        jaxpr=body,
        num_consts=len(consts),
        num_carry=num_carry,
        length=count,
        reverse=reverse,
        unroll=unroll,
    )
    ys = _filled(outs[num_carry:], [(length, *shape) for shape in out_shapes[num_carry:]], sizes)
    return (*outs[:num_carry], *ys)


def _passing_over(
    body: ClosedJaxpr, iterations: Value, num_carry: int, num_consts: int
) -> tuple[ClosedJaxpr, list[Array]]:
    """A body that takes the number of its iteration as a last slice, and hands on its carry from `iterations` on.

    Returns it with `iterations` as its first operand where that is traced, and the values of such operands.
    """
    avals = body.in_avals
    carry = slice(num_consts, num_consts + num_carry)

    def stay(*values: Value) -> list[Value]:
        ys = [
            broadcast_in_dim_p.bind(literal(0, aval.dtype, aval.weak_type), shape=aval.shape, broadcast_dimensions=())
            for aval in body.out_avals[num_carry:]
        ]
        return [*values[carry], *ys]

    standing = trace_to_closed_jaxpr(stay, avals, "an iteration that does not count")

    def run(*values: Value) -> Values:
        counts = lt_p.bind(values[-1], iterations)
        index = convert_element_type_p.bind(counts, new_dtype=INT32, weak_type=False)
        return cond_p.bind(index, *values[:-1], branches=(standing, body))

    jaxpr, consts = trace_to_jaxpr(run, [*avals, _scalar()], "an iteration of a masked scan")
    return ClosedJaxpr(closed_over_as_arguments(jaxpr)), list(consts)


def _scalar() -> ShapedArray:
    return literal(np.int32(0), INT32).aval
