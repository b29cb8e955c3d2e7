"""`tangrad.lax.rng_bit_generator` by the algorithms that XLA has, and keys that are states of these generators."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random import ciphers
from tangrad._random.ciphers import BIT_WIDTHS, random, random_unwrap_p, random_wrap_p, threefry2x32_p
from tangrad._random.keys import THREEFRY, UINT32
from tangrad.core import Array, ShapedArray, as_operand, class_boundary, dtypes, literal
from tangrad.core.arguments import canonicalize_shape, product
from tangrad.core.caches import exact_equality
from tangrad.extend import lax as p
from tangrad.extend.lax import (
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    concatenate_p,
    constrained,
    convert_element_type_p,
    iota_p,
    reshape_p,
    slice_p,
    squeeze_p,
    transpose_p,
    xor_p,
)
from tangrad.typing import ArrayLike, DType, DTypeLike, ShardingLike, Value

# --- The Philox-4x32 cipher with 10 rounds, as a program: random words of a key and a counter of 128 bits ---
# A state is four words of 32 bits, low ones first: two of the key, two of the counter. As in XLA, the upper half of the
# counter is the key too, and what is carried into it counts for the numbers at hand alone. Each value of the counter
# makes four words.
# Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011, doi:10.1145/2063384.2063405.

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)  # what the key moves on by, the golden ratio and the root of 3 less 1


def _number(value: int) -> Value:
    return literal(value, UINT32)


def columns(words: Value, count: int) -> list[Array]:
    """The words along the last dimension, each by itself: arrays (..., 1)."""
    *lead, _ = words.aval.shape
    starts = [0] * len(lead)
    return [
        slice_p.bind(words, start_indices=(*starts, i), limit_indices=(*lead, i + 1), strides=None)
        for i in range(count)
    ]


def spread(column: Value, size: object) -> Array:
    """A column repeated to `size` elements."""
    shape = (*column.aval.shape[:-1], size)
    return broadcast_in_dim_p.bind(column, shape=shape, broadcast_dimensions=tuple(range(len(shape))))


def _as_dtype(x: Value) -> Array:
    return p.convert_element_type_p.bind(x, new_dtype=UINT32, weak_type=False)


def add_wide(low: Value, high: Value, number: Value) -> tuple[Array, Array, Array]:
    """A number of 32 bits added to one of 64; low and high word, and what is carried beyond."""
    new_low = p.add_p.bind(low, number)
    carry = _as_dtype(p.lt_p.bind(new_low, number))
    new_high = p.add_p.bind(high, carry)
    return new_low, new_high, _as_dtype(p.lt_p.bind(new_high, carry))


def _rounds(counter: Sequence[Value], key: tuple[object, object]) -> list[Value]:
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


UINT64 = np.dtype(np.uint64)
WORDS = 4  # of a state: two of the key, two of the counter, low ones first


@class_boundary
@exact_equality
class RandomAlgorithm(enum.IntEnum):
    """How `lax.rng_bit_generator` draws: RNG_DEFAULT is what the platform does best, Philox on CPUs and GPUs.

    >>> import tangrad
    >>> tangrad.lax.RandomAlgorithm.RNG_PHILOX
    <RandomAlgorithm.RNG_PHILOX: 2>
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2


# --- Threefry ---


def paired_dimension(shape: Sequence[int]) -> int:
    """The dimension along which the two words of a cipher stand: the first of even size, or the first largest one."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else int(np.argmax(shape))


def _threefry(words: Value, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """From states (n, 4) the new states and random words (n, *shape)."""
    if not shape:
        state, drawn = _threefry(words, (1,))
        return state, reshape_p.bind(drawn, new_sizes=drawn.aval.shape[:1], dimensions=None)
    count, axis = words.aval.shape[0], paired_dimension(shape)
    blocks = (*shape[:axis], -(-shape[axis] // 2), *shape[axis + 1 :])
    state, first, second = _ciphers(words, product(blocks))
    apart = (count, *blocks[: axis + 1], 1, *blocks[axis + 1 :])  # the words of a pair are side by side
    pair = [reshape_p.bind(x, new_sizes=apart, dimensions=None) for x in (first, second)]
    both = concatenate_p.bind(*pair, dimension=axis + 2)
    whole = (count, *shape[:axis], 2 * blocks[axis], *shape[axis + 1 :])
    drawn = reshape_p.bind(both, new_sizes=whole, dimensions=None)
    starts = (0,) * len(whole)
    return state, slice_p.bind(drawn, start_indices=starts, limit_indices=(count, *shape), strides=None)


def _ciphers(words: Value, size: int) -> tuple[Array, Array, Array]:
    """From states (n, 4) the new states, and both words (n, size) of the ciphers of the numbers that follow."""
    count = words.aval.shape[0]
    key1, key2, low, high = columns(words, WORDS)
    numbers = iota_p.bind(dtype=UINT32, shape=(count, size), dimension=1)
    x, y, _ = add_wide(spread(low, size), spread(high, size), numbers)
    first, second = threefry2x32_p.bind(spread(key1, size), spread(key2, size), x, y)
    step = broadcast_in_dim_p.bind(literal(size, UINT32), shape=(count, 1), broadcast_dimensions=())
    new_low, new_high, _ = add_wide(low, high, step)
    return concatenate_p.bind(key1, key2, new_low, new_high, dimension=1), first, second


# --- the primitive ---


def is_philox(algorithm: RandomAlgorithm) -> bool:
    """Whether an algorithm is Philox on CPUs and GPUs."""
    return algorithm != RandomAlgorithm.RNG_THREE_FRY


def draw(states: Value, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm) -> tuple[Array, Array]:
    """The numbers of each state; 64 bits are two words, 8 and 16 the low bits of one."""
    lead, wide = states.aval.shape[:-1], dtype == UINT64
    rows = reshape_p.bind(states, new_sizes=(product(lead), WORDS), dimensions=None)
    if is_philox(algorithm):
        state, drawn = philox(rows, product(shape) * (2 if wide else 1))
    elif wide:
        state, *pair = _ciphers(rows, product(shape))
        flat = [reshape_p.bind(x, new_sizes=(*x.aval.shape, 1), dimensions=None) for x in pair]
        drawn = concatenate_p.bind(*flat, dimension=2)
    else:
        state, drawn = _threefry(rows, shape)
    if wide:
        drawn = reshape_p.bind(drawn, new_sizes=(product(lead), product(shape), 2), dimensions=None)
        drawn = bitcast_convert_type_p.bind(drawn, new_dtype=UINT64)
    elif dtype != UINT32:
        drawn = convert_element_type_p.bind(drawn, new_dtype=dtype, weak_type=False)
    return (
        reshape_p.bind(state, new_sizes=(*lead, WORDS), dimensions=None),
        reshape_p.bind(drawn, new_sizes=(*lead, *shape), dimensions=None),
    )


@random.primitive(name="rng_bit_generator", multiple_results=True, weak_type="never", decompose=draw)
def rng_bit_generator_p(
    states: ShapedArray, *, shape: tuple[int, ...], dtype: DType, algorithm: RandomAlgorithm
) -> tuple[ShapedArray, ShapedArray]:
    """The state after drawing, and random bits of a shape; for each of several states its own."""
    if states.dtype != UINT32 or states.shape[-1:] != (WORDS,):
        raise TypeError(f"rng_bit_generator takes a key of {WORDS} words of uint32, got {states.str_short()}")
    if not dtypes.issubdtype(dtype, np.unsignedinteger) or dtypes.bit_width(dtype) not in (8, 16, 32, 64):
        raise TypeError(f"rng_bit_generator draws uint8, uint16, uint32 or uint64, not {dtypes.dtype_name(dtype)}")
    return states, ShapedArray((*states.shape[:-1], *shape), dtype)


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: DTypeLike = np.uint32,
    algorithm: Any = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: ShardingLike = None,
) -> tuple[Array, Array]:
    """Random bits as XLA's own generators draw them; `tangrad.random` is what programs should use.

    Args:
        key: the state: uint32 (4,), or uint64 (2,), a key and a counter.
        shape: of the bits.
        dtype: uint8, uint16, uint32 or uint64.
        algorithm: a `lax.RandomAlgorithm`.
        out_sharding: how the bits are sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        The state to go on with, and the bits.

    Raises:
        TypeError: for another key or dtype. ValueError: for what is no algorithm.

    >>> import numpy as np
    >>> import tangrad
    >>> state, bits = tangrad.lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (2,))
    >>> bits.shape
    (2,)
    """
    name = "rng_bit_generator"
    state = as_operand(key)
    kind = dtypes.check_user_dtype_supported(dtype, name)
    wide = state.aval.dtype == UINT64
    if state.aval.shape != ((2,) if wide else (WORDS,)) or not (wide or state.aval.dtype == UINT32):
        raise TypeError(f"{name} takes a key of uint32 (4,) or uint64 (2,), got {state.aval.str_short()}")
    if wide:
        pairs = bitcast_convert_type_p.bind(state, new_dtype=UINT32)
        state = reshape_p.bind(pairs, new_sizes=(WORDS,), dimensions=None)
    params = {"shape": canonicalize_shape(shape), "dtype": kind, "algorithm": RandomAlgorithm(algorithm)}
    state, bits = rng_bit_generator_p.bind(state, **params)
    if wide:
        pairs = reshape_p.bind(state, new_sizes=(2, 2), dimensions=None)
        state = bitcast_convert_type_p.bind(pairs, new_dtype=UINT64)
    return state, constrained(bits, out_sharding)


# --- Keys of the generators `rbg` and `unsafe_rbg`: states of XLA's generators, four words each ---
# `rbg` makes its keys by Threefry, of both halves of a key by itself, and draws bits by `rng_bit_generator`;
# `unsafe_rbg` makes keys of drawn bits, too, which are not known to be independent.

SPARE = 10  # `unsafe_rbg` draws so many keys for each that it gives


def _bits(words: Value, shape: tuple[int, ...], dtype: DType) -> Value:
    return rng_bit_generator_p.bind(words, shape=shape, dtype=dtype, algorithm=RandomAlgorithm.RNG_DEFAULT)[1]


def bits(keys: Value, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> Value:
    """Bits for every element."""
    return _bits(random_unwrap_p.bind(keys), shape, BIT_WIDTHS[bit_width])


def _seed_words(seeds: Value) -> Array:
    half = random_unwrap_p.bind(ciphers.seed(seeds, impl=THREEFRY))
    return concatenate_p.bind(half, half, dimension=len(seeds.aval.shape))


def seed(seeds: Value, *, impl: DType) -> Array:
    """The words that a Threefry key has, twice."""
    return random_wrap_p.bind(_seed_words(seeds), impl=impl)


def _halves(keys: Value) -> Array:
    """Both halves of each key as Threefry keys, along a last dimension."""
    words = reshape_p.bind(random_unwrap_p.bind(keys), new_sizes=(*keys.aval.shape, 2, 2), dimensions=None)
    return random_wrap_p.bind(words, impl=THREEFRY)


def split(keys: Value, *, shape: tuple[int, ...], partitionable: bool) -> Array:
    """New keys: each half of them from a half of the key."""
    lead = keys.aval.shape
    halves = random_unwrap_p.bind(ciphers.split(_halves(keys), shape=shape, partitionable=partitionable))
    rank, last = len(lead), len(lead) + len(shape) + 1
    side_by_side = transpose_p.bind(halves, permutation=(*range(rank), *range(rank + 1, last), rank, last))
    words = reshape_p.bind(side_by_side, new_sizes=(*lead, *shape, WORDS), dimensions=None)
    return random_wrap_p.bind(words, impl=keys.aval.dtype)


def fold_in(keys: Value, data: Value) -> Array:
    """A new key: each half of it from a half of the key and the number."""
    halves = _halves(keys)
    shape = data.aval.shape
    if shape:
        data = broadcast_in_dim_p.bind(data, shape=(*shape, 2), broadcast_dimensions=tuple(range(len(shape))))
        if not keys.aval.shape:
            halves = broadcast_in_dim_p.bind(halves, shape=(*shape, 2), broadcast_dimensions=(len(shape),))
    words = random_unwrap_p.bind(ciphers.fold_in(halves, data))
    flat = reshape_p.bind(words, new_sizes=(*words.aval.shape[:-2], WORDS), dimensions=None)
    return random_wrap_p.bind(flat, impl=keys.aval.dtype)


def unsafe_split(keys: Value, *, shape: tuple[int, ...], partitionable: bool) -> Array:
    """New keys: bits that the key draws, of which one in ten is used."""
    lead, count = keys.aval.shape, product(shape)
    drawn = _bits(random_unwrap_p.bind(keys), (SPARE * count, WORDS), UINT32)
    starts, strides = (0,) * len(drawn.aval.shape), (*[1] * len(lead), SPARE, 1)
    used = slice_p.bind(drawn, start_indices=starts, limit_indices=drawn.aval.shape, strides=strides)
    words = reshape_p.bind(used, new_sizes=(*lead, *shape, WORDS), dimensions=None)
    return random_wrap_p.bind(words, impl=keys.aval.dtype)


def unsafe_fold_in(keys: Value, data: Value) -> Array:
    """A new key: the key, changed by bits that are drawn from the number."""
    number = ciphers.convert(data, UINT32)
    drawn = _bits(_seed_words(number), (SPARE, WORDS), UINT32)
    shape = drawn.aval.shape
    rank = len(shape) - 2
    starts, limits = (*[0] * rank, SPARE - 1, 0), shape
    row = squeeze_p.bind(
        slice_p.bind(drawn, start_indices=starts, limit_indices=limits, strides=None), dimensions=(rank,)
    )
    words = random_unwrap_p.bind(keys)
    whole = max(row.aval.shape, words.aval.shape, key=len)
    row, words = [
        x if x.aval.shape == whole else broadcast_in_dim_p.bind(x, shape=whole, broadcast_dimensions=(len(whole) - 1,))
        for x in (row, words)
    ]
    return random_wrap_p.bind(xor_p.bind(words, row), impl=keys.aval.dtype)
