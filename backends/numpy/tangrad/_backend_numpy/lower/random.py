"""How the random primitives become NumPy: keys are their words, ciphered here.

Bits, splits and folds of a single key, which is what programs do all day, are one call each; whatever else (arrays of
keys, the older stream) follows the primitives' decompositions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy import threads
from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH
from tangrad._backend_numpy.kernels import composed, kernel
from tangrad._backend_numpy.special import erf_inv_block
from tangrad.core import Primitive, RuleSet, decomposition_jaxpr
from tangrad.extend import random
from tangrad.extend.random import THREEFRY

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions, DType


# --- The Threefry-2x32 cipher on NumPy arrays: 20 rounds of an addition, a rotation and an exclusive or ---
# Large arrays go through it in blocks that stay in the cache. For a few elements calls are all that counts: these
# travel as one long Python integer, 64 bits for each word of 32, so that neither carries nor rotations reach others.
# Source of the constants: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA
WORD = 0xFFFFFFFF
BLOCK = 1 << 17  # elements of a block, for which each thread has three arrays of words: 1.5 MB
FEW = 160  # elements up to which long integers are faster

# --- `x · y + z` with one rounding, as processors compute it where XLA fuses the two ---
# NumPy has no such function.
# Uniform samples between two bounds are to be the same on both backends, bit for bit, so this must be right for every
# element; float32 is done in double precision, with a look at the rare sums that end up halfway between two floats.

Array = np.ndarray
UINT32 = np.dtype(np.uint32)


def _number(value: int) -> Array:
    """A scalar as an array without dimensions, which ufuncs take faster than a NumPy scalar."""
    return np.array(value, UINT32)


_SHIFTS = [[(_number(rotation), _number(32 - rotation)) for rotation in ROTATIONS[group % 2]] for group in range(5)]


# --- arrays ---


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
    """Encipher the numbers from 0 to `size` - 1, and hand each block's words to `use(part, x, y)`, in any thread."""
    schedule = _scalar_schedule(key1, key2)
    height = min(size, BLOCK)
    numbers = np.arange(height, dtype=UINT32)

    def draw(starts: Iterable[int]) -> None:
        words = np.empty((3, height), UINT32)
        for start in starts:
            count = min(BLOCK, size - start)
            x, y, spare = words[:, :count]
            x.fill(key1)
            np.add(numbers[:count], _number((key2 + start) & WORD), y)
            _rounds(schedule, x, y, spare)
            use(slice(start, start + count), x, y)

    threads.share(draw, range(0, size, BLOCK))


# --- a few elements as one integer ---


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


_DROPPED = np.int64((1 << 29) - 1)  # the bits of a double that a float32 has no room for
_HALF = np.int64(1 << 28)
_SPLITTER = float((1 << 27) + 1)


def fused_multiply_add(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """`x · y + z` rounded once, for arrays of float32 or float64 that broadcast; all finite and far from overflow."""
    return _single(x, y, z) if x.dtype == np.float32 else _double(x, y, z)


def _single(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    product = np.multiply(x, y, dtype=np.float64)  # exact: 48 bits
    wide = np.asarray(product + z)
    halfway = (wide.view(np.int64) & _DROPPED) == _HALF
    if halfway.any():
        # Rounded to double it is halfway between two float32: the rest of the sum decides which is nearer.
        rest = _rest_of_sum(product, np.asarray(z, np.float64), wide)
        toward = np.where(rest > 0, np.inf, np.where(rest < 0, -np.inf, wide))
        wide = np.where(halfway, np.nextafter(wide, toward), wide)
    return wide.astype(np.float32)


def _rest_of_sum(x: np.ndarray, y: np.ndarray, total: np.ndarray) -> np.ndarray:
    """What the rounded sum of x and y lacks. D. E. Knuth, The Art of Computer Programming, 4.2.2."""
    shadow = total - x
    return (x - (total - shadow)) + (y - shadow)


def _double(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: by rounding to odd, 2008."""
    product = x * y
    rest_of_product = _rest_of_product(x, y, product)
    low = z + rest_of_product
    rest_of_low = _rest_of_sum(z, rest_of_product, low)
    high = product + low
    rest_of_high = _rest_of_sum(product, low, high)
    return high + _sum_to_odd(rest_of_low, rest_of_high)


def _rest_of_product(x: np.ndarray, y: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What the rounded product lacks. T. J. Dekker, 1971."""
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return x_low * y_low - (((product - x_high * y_high) - x_low * y_high) - x_high * y_low)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = x * _SPLITTER
    high = scaled - (scaled - x)
    return high, x - high


def _sum_to_odd(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x + y, rounded to the neighbour whose last bit is 1 where it is not exact."""
    total = np.asarray(x + y)
    rest = _rest_of_sum(x, y, total)
    even = (total.view(np.int64) & 1) == 0
    toward = np.where(rest > 0, np.inf, -np.inf)
    return np.where(even & (rest != 0), np.nextafter(total, toward), total)


lower = RuleSet("lower.numpy", api=1)


@kernel(lower, random.threefry2x32_p, nature=FRESH)
def _threefry(ctx: Lowering) -> Callable[..., tuple[np.ndarray, ...]]:
    shape = ctx.out_avals[0].shape
    size = prod(shape)
    # A scalar key, by far the most frequent, is added as a number.
    one_key = not any([aval.shape for aval in ctx.in_avals[:2]])

    def threefry(key1: Array, key2: Array, x: Array, y: Array) -> tuple[Array, Array]:
        first = np.array(np.broadcast_to(x, shape), UINT32).reshape(size)
        second = np.array(np.broadcast_to(y, shape), UINT32).reshape(size)
        if not one_key:
            key1, key2 = [np.broadcast_to(key, shape).reshape(size) for key in (key1, key2)]
        encipher(key1, key2, first, second)
        return first.reshape(shape), second.reshape(shape)

    return threefry


@composed(lower, random.random_wrap_p)
def _wrap(ctx: Lowering, words: Value, *, impl: DType) -> Value:
    return words


@composed(lower, random.random_unwrap_p)
def _unwrap(ctx: Lowering, keys: Value) -> Value:
    return keys


# --- a single key ---


def _decomposed(ctx: Lowering, *values: Value, **params: object) -> Value:
    return ctx.inline(decomposition_jaxpr(ctx.primitive, ctx.in_avals, params), *values)


def _is_simple(ctx: Lowering, shape: tuple[int, ...], partitionable: bool) -> bool:
    (keys, *_) = ctx.in_avals
    return partitionable and keys.dtype is THREEFRY and not keys.shape and prod(shape) <= WORD


@composed(lower, random.random_bits_p)
def _bits(ctx: Lowering, keys: Value, *, bit_width: int, shape: Dimensions, partitionable: bool) -> Value:
    if bit_width == 64 or not _is_simple(ctx, shape, partitionable):
        return _decomposed(ctx, keys, bit_width=bit_width, shape=shape, partitionable=partitionable)
    return ctx.call(_bits_function(shape, ctx.out_aval.dtype), keys, nature=FRESH)


def _bits_function(shape: tuple[int, ...], dtype: np.dtype) -> Callable[[Array], Array]:
    size = prod(shape)

    def few(words: Array) -> Array:
        return draw_few(int(words[0]), int(words[1]), size).astype(dtype, copy=False).reshape(shape)

    def many(words: Array) -> Array:
        drawn = np.empty(size, dtype)

        def use(part: slice, x: Array, y: Array) -> None:
            np.bitwise_xor(x, y, drawn[part], casting="unsafe")

        draw_many(int(words[0]), int(words[1]), size, use)
        return drawn.reshape(shape)

    return few if 0 < size <= FEW else many


@composed(lower, random.random_split_p)
def _split(ctx: Lowering, keys: Value, *, shape: Dimensions, partitionable: bool) -> Value:
    if not _is_simple(ctx, shape, partitionable):
        return _decomposed(ctx, keys, shape=shape, partitionable=partitionable)
    size = prod(shape)

    def few(words: Array) -> Array:
        return draw_pairs(int(words[0]), int(words[1]), size).reshape(*shape, 2)

    def many(words: Array) -> Array:
        drawn = np.empty((size, 2), UINT32)

        def use(part: slice, x: Array, y: Array) -> None:
            drawn[part, 0] = x
            drawn[part, 1] = y

        draw_many(int(words[0]), int(words[1]), size, use)
        return drawn.reshape(*shape, 2)

    return ctx.call(few if 0 < size <= FEW else many, keys, nature=FRESH)


@composed(lower, random.random_fold_in_p)
def _fold_in(ctx: Lowering, keys: Value, data: Value) -> Value:
    if ctx.in_avals[0].dtype is not THREEFRY or any([aval.shape for aval in ctx.in_avals]):
        return _decomposed(ctx, keys, data)

    def fold(words: Array, data: Array) -> Array:
        return encipher_one(int(words[0]), int(words[1]), 0, int(data) & WORD)

    return ctx.call(fold, keys, data, nature=FRESH)


# --- floats ---

SINGLE = np.dtype(np.float32)
_ONE = np.array(0x3F800000, UINT32)  # 1.0 in float32
_SURPLUS = np.array(9, UINT32)  # bits of a word that its mantissa has no room for
_NORMAL_LOW = np.nextafter(np.float32(-1), np.float32(0))
_ROOT_2 = np.float32(np.sqrt(2))


def _unit(words: Array) -> Array:
    """Random words, in place, as floats in [0, 1)."""
    words >>= _SURPLUS
    words |= _ONE
    floats = words.view(SINGLE)
    floats -= np.float32(1)
    return floats


def _normal(words: Array, out: Array) -> None:
    """Random words, which are overwritten, as normal numbers."""
    floats = _unit(words)
    floats *= np.float32(2)
    floats += _NORMAL_LOW
    erf_inv_block(floats, out)
    out *= _ROOT_2


def _copy_unit(words: Array, out: Array) -> None:
    out[...] = _unit(words)


def _floats(primitive: Primitive, fill: Callable[[Array, Array], None]) -> None:
    """Register a sampler whose float32 numbers `fill(words, out)` makes of random words, block by block."""

    @composed(lower, primitive)
    def _(ctx: Lowering, keys: Value, *, shape: Dimensions, dtype: np.dtype, partitionable: bool) -> Value:
        if dtype != SINGLE or not _is_simple(ctx, shape, partitionable):
            return _decomposed(ctx, keys, shape=shape, dtype=dtype, partitionable=partitionable)
        size = prod(shape)

        def few(words: Array) -> Array:
            drawn = np.empty(size, SINGLE)
            fill(draw_few(int(words[0]), int(words[1]), size), drawn)
            return drawn.reshape(shape)

        def many(words: Array) -> Array:
            drawn = np.empty(size, SINGLE)

            def use(part: slice, x: Array, y: Array) -> None:
                x ^= y
                fill(x, drawn[part])

            draw_many(int(words[0]), int(words[1]), size, use)
            return drawn.reshape(shape)

        return ctx.call(few if 0 < size <= FEW else many, keys, nature=FRESH)


_floats(random.random_uniform_p, _copy_unit)
_floats(random.random_normal_p, _normal)


@composed(lower, random.random_between_p)
def _between(ctx: Lowering, unit: Value, low: Value, high: Value) -> Value:
    span = ctx.subtract(high, low)
    if unit.dtype not in (SINGLE, np.float64) or _is_power_of_2(span.constant):
        moved = ctx.add(ctx.multiply(unit, span), low)  # a product with a power of 2 is exact
    else:
        moved = ctx.call(fused_multiply_add, unit, span, low, nature=ELEMENTWISE)
    return ctx.maximum(low, moved)


def _is_power_of_2(number: np.ndarray | None) -> bool:
    return number is not None and bool(np.all(np.frexp(number)[0] == 0.5))
