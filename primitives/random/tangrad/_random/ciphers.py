"""The Threefry cipher, the keys as words and back, and what is made of it: seeds, splits, folds and bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad._random.keys import UINT32, KeyType, is_key
from tangrad.core import Array, PrimitiveSet, ShapedArray, literal
from tangrad.core.arguments import is_symbolic, product
from tangrad.extend import lax as p
from tangrad.extend.lax import broadcast_in_dim_p, concatenate_p, iota_p, reshape_p, slice_p, squeeze_p
from tangrad.typing import DType, Value

random: PrimitiveSet = PrimitiveSet("random", api=1)


def check_keys(name: str, keys: ShapedArray) -> None:
    if not is_key(keys):
        raise TypeError(f"{name} takes random keys (tangrad.random.key), got {keys.str_short()}")


@random.primitive(name="threefry2x32", multiple_results=True, weak_type="never")
def threefry2x32_p(key1: ShapedArray, key2: ShapedArray, x1: ShapedArray, x2: ShapedArray) -> tuple[ShapedArray, ...]:
    """The Threefry-2x32 cipher with 20 rounds, element by element.

    Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011, doi:10.1145/2063384.2063405.
    """
    avals = (key1, key2, x1, x2)
    shapes = {aval.shape for aval in avals if aval.shape}
    if any(aval.dtype != UINT32 for aval in avals):
        raise TypeError(f"threefry2x32 takes uint32 operands, got {', '.join([a.str_short() for a in avals])}")
    if len(shapes) > 1:
        raise ValueError(f"threefry2x32 takes operands of one shape, or scalars, got {[a.shape for a in avals]}")
    out = ShapedArray(shapes.pop() if shapes else (), UINT32)
    return out, out


@random.primitive(name="random_wrap", weak_type="never")
def random_wrap_p(words: ShapedArray, *, impl: KeyType) -> ShapedArray:
    """Words as keys."""
    rank = len(impl.key_shape)
    if words.dtype != UINT32 or words.shape[len(words.shape) - rank :] != impl.key_shape:
        raise TypeError(f"key data must be uint32 with last dimensions {impl.key_shape}, got {words.str_short()}")
    return ShapedArray(words.shape[: len(words.shape) - rank], impl)


def _of_physical(self: object, contents: Value) -> Array:
    return random_wrap_p.bind(contents, impl=self)


KeyType.of_physical = _of_physical  # type: ignore[method-assign]  # `keys`, imported here, knows no primitives


@random.primitive(name="random_unwrap", weak_type="never")
def random_unwrap_p(keys: ShapedArray) -> ShapedArray:
    """Keys as words."""
    check_keys("random_unwrap", keys)
    dtype: Any = keys.dtype
    return dtype.physical_aval(keys)


BIT_WIDTHS: dict[int, np.dtype] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
# --- What is made of the Threefry cipher, as programs of primitives: seeds, splits, folds and bits ---
# Two streams: with `partitionable`, element i of an array is the cipher of i, so that parts can be drawn apart; the
# older stream ciphers halves of a range, and depends on the size of the whole.

UINT64 = BIT_WIDTHS[64]


def _number(value: int, dtype: DType = UINT32) -> Value:
    return literal(value, dtype)


def convert(x: Value, dtype: DType) -> Array:
    return p.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _words(keys: Value) -> tuple[Array, Array]:
    """The two words of each key."""
    words = random_unwrap_p.bind(keys)
    shape = words.aval.shape
    parts = []
    for i in range(2):
        starts, limits = (*[0] * (len(shape) - 1), i), (*shape[:-1], i + 1)
        part = slice_p.bind(words, start_indices=starts, limit_indices=limits, strides=None)
        parts.append(squeeze_p.bind(part, dimensions=(len(shape) - 1,)))
    return parts[0], parts[1]


def _stack(first: Value, second: Value) -> Array:
    """Two arrays side by side along a new last dimension."""
    columns = [reshape_p.bind(x, new_sizes=(*x.aval.shape, 1), dimensions=None) for x in (first, second)]
    return concatenate_p.bind(*columns, dimension=len(first.aval.shape))


def _spread(x: Value, shape: tuple[int, ...]) -> Value:
    """A value for each key, repeated along new last dimensions."""
    lead = x.aval.shape
    if not shape or not lead:
        return x
    return broadcast_in_dim_p.bind(x, shape=(*lead, *shape), broadcast_dimensions=tuple(range(len(lead))))


def _counts(lead: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Array, Array]:
    """The number of each element of an array of the given shape, as the high and low words of 64 bits."""
    size = product(shape)
    if is_symbolic(size) or size < 1 << 32:
        low = iota_p.bind(dtype=UINT32, shape=(size,), dimension=0)
        low = reshape_p.bind(low, new_sizes=shape, dimensions=None)
        high: Any = _number(0)
        if shape:
            high = broadcast_in_dim_p.bind(high, shape=shape, broadcast_dimensions=())
    else:
        numbers = iota_p.bind(dtype=UINT64, shape=(size,), dimension=0)
        numbers = reshape_p.bind(numbers, new_sizes=shape, dimensions=None)
        low = convert(numbers, UINT32)
        high = convert(p.shift_right_logical_p.bind(numbers, _number(32, UINT64)), UINT32)
    if lead and shape:
        positions = tuple(range(len(lead), len(lead) + len(shape)))
        high = broadcast_in_dim_p.bind(high, shape=(*lead, *shape), broadcast_dimensions=positions)
        low = broadcast_in_dim_p.bind(low, shape=(*lead, *shape), broadcast_dimensions=positions)
    return high, low


def _halves(keys: Value, count: int) -> Array:
    """The older stream: `count` words for each key, the cipher of the halves of a range."""
    key1, key2 = _words(keys)
    lead = key1.aval.shape
    half = (count + 1) // 2
    first = iota_p.bind(dtype=UINT32, shape=(half,), dimension=0)
    second = p.add_p.bind(first, _number(half))
    if count % 2:  # the range is filled up with a zero at its end
        kept = slice_p.bind(second, start_indices=(0,), limit_indices=(half - 1,), strides=None)
        zero = broadcast_in_dim_p.bind(_number(0), shape=(1,), broadcast_dimensions=())
        second = concatenate_p.bind(kept, zero, dimension=0)
    if lead:
        position = (len(lead),)
        first = broadcast_in_dim_p.bind(first, shape=(*lead, half), broadcast_dimensions=position)
        second = broadcast_in_dim_p.bind(second, shape=(*lead, half), broadcast_dimensions=position)
    outs = threefry2x32_p.bind(_spread(key1, (half,)), _spread(key2, (half,)), first, second)
    both = concatenate_p.bind(*outs, dimension=len(lead))
    if not count % 2:
        return both
    starts, limits = (0,) * (len(lead) + 1), (*lead, count)
    return slice_p.bind(both, start_indices=starts, limit_indices=limits, strides=None)


def seed(seeds: Value, *, impl: DType) -> Array:
    """A key holds the high and the low word of its seed."""
    return random_wrap_p.bind(_seed_words(seeds), impl=impl)


def _seed_words(seeds: Value) -> Array:
    width = seeds.aval.dtype.itemsize * 8
    if width > 32:
        upper = convert(p.shift_right_logical_p.bind(seeds, _number(32, seeds.aval.dtype)), UINT32)
        lower = p.and_p.bind(seeds, _number(0xFFFFFFFF, seeds.aval.dtype))
        return _stack(upper, convert(lower, UINT32))
    low, shape = convert(seeds, UINT32), seeds.aval.shape
    high = broadcast_in_dim_p.bind(_number(0), shape=shape, broadcast_dimensions=()) if shape else _number(0)
    return _stack(high, low)


def split(keys: Value, *, shape: tuple[int, ...], partitionable: bool) -> Array:
    """New keys: the cipher of their numbers."""
    impl = keys.aval.dtype
    if partitionable:
        key1, key2 = _words(keys)
        high, low = _counts(key1.aval.shape, shape)
        return random_wrap_p.bind(
            _stack(*threefry2x32_p.bind(_spread(key1, shape), _spread(key2, shape), high, low)), impl=impl
        )
    words = _halves(keys, 2 * product(shape))
    return random_wrap_p.bind(
        reshape_p.bind(words, new_sizes=(*keys.aval.shape, *shape, 2), dimensions=None), impl=impl
    )


def fold_in(keys: Value, data: Value) -> Array:
    """A new key: the cipher of the number's own key."""
    key1, key2 = _words(keys)
    words = _seed_words(convert(data, UINT32))
    count1, count2 = _words(random_wrap_p.bind(words, impl=keys.aval.dtype))
    return random_wrap_p.bind(_stack(*threefry2x32_p.bind(key1, key2, count1, count2)), impl=keys.aval.dtype)


def bits(keys: Value, *, bit_width: int, shape: tuple[int, ...], partitionable: bool) -> Array:
    """Bits for every element."""
    return _bits_by_number(keys, bit_width, shape) if partitionable else _bits_of_range(keys, bit_width, shape)


def _bits_by_number(keys: Value, bit_width: int, shape: tuple[int, ...]) -> Array:
    key1, key2 = _words(keys)
    high, low = _counts(key1.aval.shape, shape)
    first, second = threefry2x32_p.bind(_spread(key1, shape), _spread(key2, shape), high, low)
    if bit_width == 64:
        return _join(first, second)
    both = p.xor_p.bind(first, second)
    return both if bit_width == 32 else convert(both, BIT_WIDTHS[bit_width])


def _join(high: Value, low: Value) -> Array:
    """Two words as one of 64 bits."""
    shifted = p.shift_left_p.bind(convert(high, UINT64), _number(32, UINT64))
    return p.or_p.bind(shifted, convert(low, UINT64))


def _bits_of_range(keys: Value, bit_width: int, shape: tuple[int, ...]) -> Array:
    lead = keys.aval.shape
    size = product(shape)
    count = -(-bit_width * size // 32)
    words = _halves(keys, count)
    axis = len(lead)
    if bit_width == 64:
        starts, limits = (0,) * axis, lead
        parts = [
            slice_p.bind(
                words, start_indices=(*starts, i * size), limit_indices=(*limits, (i + 1) * size), strides=None
            )
            for i in range(2)
        ]
        drawn = _join(*parts)
    elif bit_width == 32:
        drawn = words
    else:
        per_word = 32 // bit_width
        wide = (*lead, count, per_word)
        shifts = iota_p.bind(dtype=UINT32, shape=wide, dimension=axis + 1)
        shifts = p.shift_left_p.bind(shifts, _number(bit_width.bit_length() - 1))
        spread = broadcast_in_dim_p.bind(words, shape=wide, broadcast_dimensions=tuple(range(axis + 1)))
        parts_ = p.and_p.bind(p.shift_right_logical_p.bind(spread, shifts), _number((1 << bit_width) - 1))
        drawn = reshape_p.bind(parts_, new_sizes=(*lead, count * per_word), dimensions=None)
        drawn = convert(drawn, BIT_WIDTHS[bit_width])
        drawn = slice_p.bind(drawn, start_indices=(0,) * (axis + 1), limit_indices=(*lead, size), strides=None)
    return reshape_p.bind(drawn, new_sizes=(*lead, *shape), dimensions=None)
