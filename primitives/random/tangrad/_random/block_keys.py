"""Keys of the generators `rbg` and `unsafe_rbg`: states of XLA's generators, four words each.

`rbg` makes its keys by Threefry, of both halves of a key by itself, and draws bits by `rng_bit_generator`; `unsafe_rbg`
makes keys of drawn bits, too, which are not known to be independent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._random import threefry
from tangrad._random.cipher import random_unwrap_p, random_wrap_p
from tangrad._random.generators import WORDS, RandomAlgorithm, rng_bit_generator_p
from tangrad._random.keys import THREEFRY
from tangrad._random.threefry import BIT_WIDTHS, UINT32
from tangrad.core.arguments import product
from tangrad.extend.lax import broadcast_in_dim_p, concatenate_p, reshape_p, slice_p, squeeze_p, transpose_p, xor_p
from tangrad.typing import DType, Value

if TYPE_CHECKING:
    from tangrad.core import Array

SPARE = 10  # `unsafe_rbg` draws so many keys for each that it gives


def _bits(words: Value, shape: tuple[int, ...], dtype: DType) -> Value:
    return rng_bit_generator_p.bind(words, shape=shape, dtype=dtype, algorithm=RandomAlgorithm.RNG_DEFAULT)[1]


def bits(keys: Value, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> Value:
    """Bits for every element."""
    return _bits(random_unwrap_p.bind(keys), shape, BIT_WIDTHS[bit_width])


def _seed_words(seeds: Value) -> Array:
    half = random_unwrap_p.bind(threefry.seed(seeds, impl=THREEFRY))
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
    halves = random_unwrap_p.bind(threefry.split(_halves(keys), shape=shape, partitionable=partitionable))
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
    words = random_unwrap_p.bind(threefry.fold_in(halves, data))
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
    number = threefry.convert(data, UINT32)
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
