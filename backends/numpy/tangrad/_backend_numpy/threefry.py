"""The Threefry-2x32 cipher on NumPy arrays: 20 rounds of an addition, a rotation and an exclusive or.

Large arrays go through it in blocks that stay in the cache: each round is five calls of NumPy on a block, 0.1 ns an
element and call where the call itself no longer counts. For a few elements the calls are all that counts, 0.4 µs each
and 115 of them; so these travel as one long Python integer, with 64 bits for each word of 32, so that neither carries
nor rotations reach the neighbour: 45 ns an operation. Splitting a key takes 10 µs instead of 70.

Source of the constants: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 0xFFFFFFFF
BLOCK = 1 << 15  # elements: what a block takes (400 KB) fits into a second-level cache
FEW = 160  # elements up to which long integers are faster

Array = np.ndarray
UINT32 = np.dtype(np.uint32)


def _number(value: int) -> Array:
    """A scalar as an array without dimensions, which ufuncs take faster than a NumPy scalar."""
    return np.array(value, UINT32)


_SHIFTS = [[(_number(rotation), _number(32 - rotation)) for rotation in ROTATIONS[group % 2]] for group in range(5)]


# --- arrays --------------------------------------------------------------------------------------------------------


def _scalar_schedule(key1: int, key2: int) -> list[tuple[Array, Array]]:
    """What is added to the two words at the start and after each four rounds."""
    words = (key1, key2, key1 ^ key2 ^ PARITY)
    return [(_number(words[i % 3]), _number((words[(i + 1) % 3] + i) & WORD)) for i in range(6)]


def _array_schedule(key1: Array, key2: Array) -> list[tuple[Array, Array]]:
    words = (key1, key2, key1 ^ key2 ^ _number(PARITY))
    return [(words[i % 3], words[(i + 1) % 3] + _number(i)) for i in range(6)]


def _rounds(schedule: list[tuple[Array, Array]], x: Array, y: Array, spare: Array) -> None:
    """Encipher the pairs (x, y) in place; the first key has been added."""
    add, left, right, either, exclusive = np.add, np.left_shift, np.right_shift, np.bitwise_or, np.bitwise_xor
    for shifts, (first, second) in zip(_SHIFTS, schedule[1:]):
        for up, down in shifts:
            add(x, y, x)
            right(y, down, spare)
            left(y, up, y)
            either(y, spare, y)
            exclusive(y, x, y)
        add(x, first, x)
        add(y, second, y)


def encipher(key1: Array, key2: Array, x: Array, y: Array) -> None:
    """Encipher pairs of words in place.

    Args:
        key1, key2: the keys, one for all (without dimensions) or one for each pair.
        x, y: flat arrays of uint32.
    """
    size = len(x)
    spare = np.empty(min(size, BLOCK), UINT32)
    schedule = _scalar_schedule(int(key1), int(key2)) if not key1.ndim else None
    for start in range(0, size, BLOCK):
        part = slice(start, start + BLOCK)
        own = schedule or _array_schedule(key1[part], key2[part])
        first, second = x[part], y[part]
        first += own[0][0]
        second += own[0][1]
        _rounds(own, first, second, spare[: len(first)])


def draw_many(key1: int, key2: int, size: int, use: Callable[[slice, Array, Array], None]) -> None:
    """Encipher the numbers from 0 to `size` - 1, and hand each block's words to `use(part, x, y)`."""
    schedule = _scalar_schedule(key1, key2)
    height = min(size, BLOCK)
    numbers = np.arange(height, dtype=UINT32)
    x, y, spare = np.empty((3, height), UINT32)
    for start in range(0, size, BLOCK):
        count = min(BLOCK, size - start)
        x, y = x[:count], y[:count]
        x.fill(key1)
        np.add(numbers[:count], _number((key2 + start) & WORD), y)
        _rounds(schedule, x, y, spare[:count])
        use(slice(start, start + count), x, y)


# --- a few elements as one integer ---------------------------------------------------------------------------------


@lru_cache(FEW + 1)
def _lanes(count: int) -> tuple[int, int, int]:
    """Words in each of `count` lanes of 64 bits: 1, 2³² - 1, and the lane's number."""
    ones = ((1 << 64 * count) - 1) // ((1 << 64) - 1)
    return ones, ones * WORD, sum([lane << 64 * lane for lane in range(count)])


def _packed_rounds(key1: int, key2: int, x: int, y: int, ones: int, mask: int) -> tuple[int, int]:
    """Encipher the pairs in the lanes of x and y."""
    words = (key1, key2, key1 ^ key2 ^ PARITY)
    x = (x + key1 * ones) & mask
    y = (y + key2 * ones) & mask
    for group in range(5):
        for rotation in ROTATIONS[group % 2]:
            x = (x + y) & mask
            y = ((y << rotation | y >> 32 - rotation) & mask) ^ x
        x = (x + words[(group + 1) % 3] * ones) & mask
        y = (y + (words[(group + 2) % 3] + group + 1) * ones) & mask
    return x, y


def _words(packed: int, count: int) -> Array:
    """The 2 · `count` words in the lanes, the low word of each first."""
    return np.frombuffer(packed.to_bytes(8 * count, "little"), "<u4").astype(UINT32)


def draw_pairs(key1: int, key2: int, count: int) -> Array:
    """The cipher of the numbers from 0 to `count` - 1, for at most `FEW`: both words of each, one after the other."""
    ones, mask, numbers = _lanes(count)
    x, y = _packed_rounds(key1, key2, 0, numbers, ones, mask)
    return _words(x | y << 32, count)


def draw_few(key1: int, key2: int, count: int) -> Array:
    """As `draw_pairs`, but the exclusive or of the two words."""
    ones, mask, numbers = _lanes(count)
    x, y = _packed_rounds(key1, key2, 0, numbers, ones, mask)
    return _words(x ^ y, count)[::2].copy()


def encipher_one(key1: int, key2: int, x: int, y: int) -> Array:
    """One enciphered pair."""
    x, y = _packed_rounds(key1, key2, x, y, 1, WORD)
    return _words(x | y << 32, 1)
