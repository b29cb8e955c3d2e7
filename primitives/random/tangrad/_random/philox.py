"""The Philox-4x32 cipher with 10 rounds, as a program: random words of a key and a counter of 128 bits.

A state is four words of 32 bits, low ones first: two of the key, two of the counter. As in XLA, the upper half of the
counter is the key too, and what is carried into it counts for the numbers at hand alone. Each value of the counter
makes four words.

Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011, doi:10.1145/2063384.2063405.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad.core import Array, literal
from tangrad.extend import lax as p
from tangrad.extend.lax import broadcast_in_dim_p, concatenate_p, iota_p, reshape_p, slice_p
from tangrad.typing import Value

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)  # what the key moves on by, the golden ratio and the root of 3 less 1
UINT32 = np.dtype(np.uint32)


def _number(value: int) -> Value:
    return literal(value, UINT32)


def columns(words: Value, count: int) -> list[Any]:
    """The words along the last dimension, each by itself: arrays (..., 1)."""
    *lead, _ = words.aval.shape
    starts = [0] * len(lead)
    return [
        slice_p.bind(words, start_indices=(*starts, i), limit_indices=(*lead, i + 1), strides=None)
        for i in range(count)
    ]


def spread(column: Value, size: Any) -> Array:
    """A column repeated to `size` elements."""
    shape = (*column.aval.shape[:-1], size)
    return broadcast_in_dim_p.bind(column, shape=shape, broadcast_dimensions=tuple(range(len(shape))))


def _as_dtype(x: Value) -> Array:
    return p.convert_element_type_p.bind(x, new_dtype=UINT32, weak_type=False)


def add_wide(low: Value, high: Value, number: Value) -> tuple[Any, Any, Any]:
    """A number of 32 bits added to one of 64; low and high word, and what is carried beyond."""
    new_low = p.add_p.bind(low, number)
    carry = _as_dtype(p.lt_p.bind(new_low, number))
    new_high = p.add_p.bind(high, carry)
    return new_low, new_high, _as_dtype(p.lt_p.bind(new_high, carry))


def _rounds(counter: Sequence[Value], key: tuple[Any, Any]) -> list[Value]:
    a, b, c, d = counter
    first, second = key
    for _ in range(ROUNDS):
        high_a, low_a = [part.bind(a, _number(MULTIPLIERS[0])) for part in (p.mulhi_p, p.mul_p)]
        high_c, low_c = [part.bind(c, _number(MULTIPLIERS[1])) for part in (p.mulhi_p, p.mul_p)]
        a = p.xor_p.bind(p.xor_p.bind(high_c, b), first)
        c = p.xor_p.bind(p.xor_p.bind(high_a, d), second)
        b, d = low_c, low_a
        first, second = p.add_p.bind(first, _number(STEPS[0])), p.add_p.bind(second, _number(STEPS[1]))
    return [a, b, c, d]


def philox(words: Value, size: int) -> tuple[Array, Array]:
    """From states (..., 4) the new states, and `size` random words of each: (..., size)."""
    *lead, _ = words.aval.shape
    key1, key2, low, high = columns(words, 4)
    blocks = -(-size // 4)
    shape = (*lead, blocks)
    numbers = iota_p.bind(dtype=UINT32, shape=shape, dimension=len(lead))
    key = spread(key1, blocks), spread(key2, blocks)
    c0, c1, carry = add_wide(spread(low, blocks), spread(high, blocks), numbers)
    c2, c3, _ = add_wide(*key, carry)
    drawn = _rounds((c0, c1, c2, c3), key)
    wide = [reshape_p.bind(x, new_sizes=(*shape, 1), dimensions=None) for x in drawn]
    flat = reshape_p.bind(
        concatenate_p.bind(*wide, dimension=len(shape)), new_sizes=(*lead, 4 * blocks), dimensions=None
    )
    kept = slice_p.bind(flat, start_indices=(0,) * len(shape), limit_indices=(*lead, size), strides=None)
    step = broadcast_in_dim_p.bind(_number(blocks), shape=(*lead, 1), broadcast_dimensions=())
    new_low, new_high, _ = add_wide(low, high, step)
    return concatenate_p.bind(key1, key2, new_low, new_high, dimension=len(lead)), kept
