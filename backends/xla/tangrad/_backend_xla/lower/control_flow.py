"""How control flow becomes StableHLO: `case` and `while`, with regions for the programs.

A scan is a loop that counts, takes slices and updates the results in place, as JAX lowers it. Values of the function
around may be used inside regions, so what a body closed over is no part of the loop's state. The tokens of ordered
effects are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.helpers import State, broadcast, compare, full, loop, physical_aval, reshape, window
from tangrad._backend_xla.lowering import FunctionContext, ordered_effects
from tangrad._backend_xla.symbolic_entry import PLATFORM_INDEX
from tangrad.core import ClosedJaxpr, Effect, RuleSet, ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.extend.lax import branch_of_platform, cond_p, platform_dependent_p, scan_p, split_list, while_p

if TYPE_CHECKING:
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla", api=1)

_INDEX = ShapedArray((), dtypes.as_dtype("int32"))


# --- conditionals ----------------------------------------------------------------------------------------------------


@lower.rule(cond_p)
def _cond(
    ctx: FunctionContext, index: IrValue, *operands: IrValue, branches: tuple[ClosedJaxpr, ...]
) -> tuple[IrValue, ...]:
    return _case(ctx, index, operands, branches)


def _case(
    ctx: FunctionContext,
    index: IrValue,
    operands: Sequence[IrValue],
    branches: Sequence[ClosedJaxpr],
    platforms: Sequence[str] | None = None,
) -> tuple[IrValue, ...]:
    """One of several programs; with `platforms`, each of them is lowered for its platform."""
    effects = _effects(ctx, *branches)
    types = [*[ctx.vocabulary.token] * len(effects), *[ctx.types[aval] for aval in ctx.out_avals]]
    case = ctx.ops("stablehlo.case", types, (index,), None, len(branches))
    for position, branch in enumerate(branches):
        with ctx.module.on_platform(None if platforms is None else platforms[position]):
            inner, _ = ctx.region(case, position, (), captures=True)
            inner.tokens.update({effect: ctx.tokens[effect] for effect in effects})
            outs = inner.inline(branch, operands)
        inner.give([*[inner.tokens[effect] for effect in effects], *outs])
    results: list[IrValue] = list(case.results)
    ctx.tokens.update(zip(effects, results, strict=False))
    return tuple(results[len(effects) :])


@lower.rule(platform_dependent_p)
def _platform_dependent(
    ctx: FunctionContext, *operands: IrValue, branches: tuple[ClosedJaxpr, ...], platforms: Sequence[str]
) -> tuple[IrValue, ...]:
    own = ctx.module.platforms
    chosen = [branch_of_platform(platforms, "xla", platform) for platform in own]
    if len(set(chosen)) == 1:
        return tuple(ctx.inline(branches[chosen[0]], operands))
    return _case(ctx, ctx.sizes[PLATFORM_INDEX], operands, [branches[position] for position in chosen], own)


def _effects(ctx: FunctionContext, *programs: ClosedJaxpr) -> list[Effect]:
    """The ordered effects of several programs, whose tokens go through the operation at hand."""
    found = {effect: None for program in programs for effect in ordered_effects(program.jaxpr)}
    return [effect for effect in ctx.tokens if effect in found]


# --- loops -----------------------------------------------------------------------------------------------------------


@lower.rule(while_p)
def _while(
    ctx: FunctionContext,
    *operands: IrValue,
    cond_jaxpr: ClosedJaxpr,
    body_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_nconsts: int,
) -> tuple[IrValue, ...]:
    cond_consts, body_consts, carry = split_list(operands, cond_nconsts, body_nconsts)
    outs = loop(
        ctx,
        _effects(ctx, cond_jaxpr, body_jaxpr),
        carry,
        ctx.in_avals[cond_nconsts + body_nconsts :],
        lambda inner, state: inner.inline(cond_jaxpr, [*cond_consts, *state])[0],
        lambda inner, state: inner.inline(body_jaxpr, [*body_consts, *state]),
    )
    return tuple(outs)


@lower.rule(scan_p)
def _scan(
    ctx: FunctionContext,
    *operands: IrValue,
    jaxpr: ClosedJaxpr,
    num_consts: int,
    num_carry: int,
    length: int,
    reverse: bool,
    unroll: int,
) -> tuple[IrValue, ...]:
    consts, carry, xs = split_list(operands, num_consts, num_carry)
    x_avals, y_avals = ctx.in_avals[num_consts + num_carry :], ctx.out_avals[num_carry:]
    if is_symbolic(length):
        unroll = 1  # how many iterations a longer body would leave over is not known
    iterations = length if unroll == 1 else 0 if unroll >= length else length // unroll
    carry_avals = ctx.in_avals[num_consts : num_consts + num_carry]

    def step(inner: FunctionContext, carry: State, ys: State, position: IrValue) -> tuple[State, State]:
        slices = [_row(inner, x, aval, position) for x, aval in zip(xs, x_avals)]
        carry, results = split_list(inner.inline(jaxpr, [*consts, *carry, *slices]), num_carry)
        return carry, [_set_row(inner, y, aval, row, position) for y, aval, row in zip(ys, y_avals, results)]

    def body(inner: FunctionContext, state: State) -> State:
        (count,), carry, ys = split_list(state, 1, num_carry)
        first = count if unroll == 1 else _arithmetic(inner, "multiply", count, inner.constant(np.int32(unroll)))
        for offset in range(unroll):
            position = first if not offset else _arithmetic(inner, "add", first, inner.constant(np.int32(offset)))
            if reverse:
                position = _arithmetic(inner, "subtract", inner.size(length - 1), position)
            carry, ys = step(inner, carry, ys, position)
        return [_arithmetic(inner, "add", count, inner.constant(np.int32(1))), *carry, *ys]

    def condition(inner: FunctionContext, state: State) -> IrValue:
        return compare(inner, "LT", state[0], inner.size(iterations), _INDEX)

    ys = [full(ctx, 0, aval) for aval in y_avals]
    if is_symbolic(iterations) or iterations:
        start = ctx.constant(np.int32(0))
        avals = [_INDEX, *carry_avals, *y_avals]
        _, *rest = loop(ctx, _effects(ctx, jaxpr), [start, *carry, *ys], avals, condition, body)
        carry, ys = split_list(rest, num_carry)
    for number in () if is_symbolic(length) else range(iterations * unroll, length):
        position = ctx.constant(np.int32(length - 1 - number if reverse else number))
        carry, ys = step(ctx, carry, ys, position)
    return (*carry, *ys)


def _arithmetic(ctx: FunctionContext, name: str, x: IrValue, y: IrValue) -> IrValue:
    return ctx.op(f"stablehlo.{name}", ctx.types[_INDEX], (x, y))


def _starts(ctx: FunctionContext, inner_aval: ShapedArray, position: IrValue) -> list[IrValue]:
    zeros = [ctx.constant(np.int32(0))] * (len(inner_aval.shape) - 1)
    return [position, *zeros]


def _row(ctx: FunctionContext, x: IrValue, aval: ShapedArray, position: IrValue) -> IrValue:
    """One slice of an operand to scan over."""
    inner = physical_aval(aval)
    sizes = (1, *inner.shape[1:])
    row = window(ctx, x, inner, inner.update(shape=sizes), _starts(ctx, inner, position), _INDEX)
    return reshape(ctx, row, inner.update(shape=inner.shape[1:]))


def _set_row(ctx: FunctionContext, y: IrValue, aval: ShapedArray, row: IrValue, position: IrValue) -> IrValue:
    """Stacked results with one of them in its place."""
    inner = physical_aval(aval)
    update = broadcast(ctx, row, inner.update(shape=(1, *inner.shape[1:])), tuple(range(1, len(inner.shape))))
    return ctx.op("stablehlo.dynamic_update_slice", ctx.types[inner], [y, update, *_starts(ctx, inner, position)])
