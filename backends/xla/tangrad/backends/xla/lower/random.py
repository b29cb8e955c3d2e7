"""How the random primitives become StableHLO: the cipher as integer operations; keys are their words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.backends.xla.helpers import broadcast_operands, full, same_type
from tangrad.core import RuleSet
from tangrad.random import cipher as p

lower = RuleSet("lower.xla", api=1)

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


@lower.rule(p.threefry2x32_p)
def _threefry(ctx: Any, *operands: Any) -> tuple[Any, Any]:
    aval = ctx.out_avals[0]
    key1, key2, x, y = broadcast_operands(ctx, operands, aval.shape)

    def number(value: int) -> Any:
        return full(ctx, np.uint32(value), aval)

    def add(one: Any, other: Any) -> Any:
        return same_type(ctx, "stablehlo.add", one, other)

    def rotate(value: Any, by: int) -> Any:
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
def _wrap(ctx: Any, words: Any, *, impl: Any) -> Any:
    return words


@lower.rule(p.random_unwrap_p)
def _unwrap(ctx: Any, keys: Any) -> Any:
    return keys
