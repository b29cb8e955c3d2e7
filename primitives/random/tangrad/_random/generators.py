"""`tangrad.lax.rng_bit_generator`: random bits of a key and a counter, by the algorithms that XLA has."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.cipher import random, threefry2x32_p
from tangrad._random.philox import UINT32, add_wide, columns, philox, spread
from tangrad.core import Array, ShapedArray, as_operand, class_boundary, dtypes, literal
from tangrad.core.arguments import canonicalize_shape, product
from tangrad.core.caches import exact_equality
from tangrad.extend.lax import (
    bitcast_convert_type_p,
    broadcast_in_dim_p,
    concatenate_p,
    constrained,
    convert_element_type_p,
    iota_p,
    reshape_p,
    slice_p,
)
from tangrad.typing import ArrayLike, DType, DTypeLike, Value

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


# --- Threefry ------------------------------------------------------------------------------------------------------


def paired_dimension(shape: Sequence[int]) -> int:
    """The dimension along which the two words of a cipher stand: the first of even size, or the first largest one."""
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    return even[0] if even else int(np.argmax(shape))


def _threefry(words: Value, shape: tuple[int, ...]) -> tuple[Any, Any]:
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


def _ciphers(words: Value, size: int) -> tuple[Any, Any, Any]:
    """From states (n, 4) the new states, and both words (n, size) of the ciphers of the numbers that follow."""
    count = words.aval.shape[0]
    key1, key2, low, high = columns(words, WORDS)
    numbers = iota_p.bind(dtype=UINT32, shape=(count, size), dimension=1)
    x, y, _ = add_wide(spread(low, size), spread(high, size), numbers)
    first, second = threefry2x32_p.bind(spread(key1, size), spread(key2, size), x, y)
    step = broadcast_in_dim_p.bind(literal(size, UINT32), shape=(count, 1), broadcast_dimensions=())
    new_low, new_high, _ = add_wide(low, high, step)
    return concatenate_p.bind(key1, key2, new_low, new_high, dimension=1), first, second


# --- the primitive -------------------------------------------------------------------------------------------------


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
    out_sharding: Any = None,
) -> tuple[Any, Any]:
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
