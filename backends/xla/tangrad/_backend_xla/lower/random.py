"""How the random primitives become StableHLO: the ciphers as integer operations; keys are their words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_xla.helpers import broadcast_operands, convert, full, reshape, same_type
from tangrad.core import RuleSet, ShapedArray, decomposition_jaxpr, dtypes
from tangrad.extend import random as p
from tangrad.extend.random import RandomAlgorithm, rng_bit_generator_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions, DType


lower = RuleSet("lower.xla", api=1)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


@lower.rule(p.threefry2x32_p)
def _threefry(ctx: FunctionContext, *operands: IrValue) -> tuple[IrValue, IrValue]:
    aval = ctx.out_avals[0]
    key1, key2, x, y = broadcast_operands(ctx, operands, aval.shape)

    def number(value: int) -> IrValue:
        return full(ctx, np.uint32(value), aval)

    def add(one: IrValue, other: IrValue) -> IrValue:
        return same_type(ctx, "stablehlo.add", one, other)

    def rotate(value: IrValue, by: int) -> IrValue:
        left = same_type(ctx, "stablehlo.shift_left", value, number(by))
        right = same_type(ctx, "stablehlo.shift_right_logical", value, number(32 - by))
        return same_type(ctx, "stablehlo.or", left, right)

    both = same_type(ctx, "stablehlo.xor", key1, key2)
    schedule = (key1, key2, same_type(ctx, "stablehlo.xor", both, number(PARITY)))
    x, y = add(x, schedule[0]), add(y, schedule[1])
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = add(x, y)
            y = same_type(ctx, "stablehlo.xor", rotate(y, rotation), x)
        x = add(x, schedule[(group + 1) % 3])
        y = add(add(y, schedule[(group + 2) % 3]), number(group + 1))
    return x, y


@lower.rule(p.random_wrap_p)
def _wrap(ctx: FunctionContext, words: IrValue, *, impl: DType) -> IrValue:
    return words


@lower.rule(p.random_unwrap_p)
def _unwrap(ctx: FunctionContext, keys: IrValue) -> IrValue:
    return keys


# --- XLA's own generators ------------------------------------------------------------------------------------------

_STATE = ShapedArray((2, 2), dtypes.as_dtype("uint32"))
_PAIR = ShapedArray((2,), dtypes.as_dtype("uint64"))
_ALGORITHMS = {
    RandomAlgorithm.RNG_DEFAULT: "DEFAULT",
    RandomAlgorithm.RNG_THREE_FRY: "THREE_FRY",
    RandomAlgorithm.RNG_PHILOX: "PHILOX",
}


@lower.rule(rng_bit_generator_p)
def _rng_bit_generator(
    ctx: FunctionContext, state: IrValue, *, shape: Dimensions, dtype: DType, algorithm: RandomAlgorithm
) -> tuple[IrValue, ...]:
    aval = ctx.in_avals[0]
    if len(aval.shape) > 1:  # the operation has one state
        params = {"shape": shape, "dtype": dtype, "algorithm": algorithm}
        return tuple(ctx.inline(decomposition_jaxpr(rng_bit_generator_p, [aval], params), [state]))
    out, pair = ctx.out_avals[1], ctx.types[_PAIR]
    drawn = out if dtypes.bit_width(dtype) >= 32 else out.update(dtype=_STATE.dtype)
    words_of = reshape(ctx, state, _STATE)
    packed = ctx.op("stablehlo.bitcast_convert", pair, (words_of,))
    chosen = {"rng_algorithm": ctx.vocabulary.parsed(f"#stablehlo<rng_algorithm {_ALGORITHMS[algorithm]}>")}
    made = ctx.ops("stablehlo.rng_bit_generator", [pair, ctx.types[drawn]], (packed,), chosen)
    new_state, bits = made.results
    unpacked = ctx.op("stablehlo.bitcast_convert", ctx.types[_STATE], (new_state,))
    return reshape(ctx, unpacked, aval), bits if drawn is out else convert(ctx, bits, drawn, out)
