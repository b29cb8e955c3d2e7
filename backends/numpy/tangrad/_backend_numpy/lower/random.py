"""How the random primitives become NumPy: keys are their words, the cipher is in `threefry.py`.

Bits, splits and folds of a single key, which is what programs do all day, are one call each; whatever else (arrays of
keys, the older stream) follows the primitives' decompositions.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.functions import ELEMENTWISE, FRESH
from tangrad._backend_numpy.fused import fused_multiply_add
from tangrad._backend_numpy.kernels import composed, kernel
from tangrad._backend_numpy.special.error_functions import erf_inv_block
from tangrad._backend_numpy.threefry import FEW, UINT32, WORD, draw_few, draw_many, draw_pairs, encipher, encipher_one
from tangrad.core import Primitive, RuleSet, decomposition_jaxpr
from tangrad.extend import random
from tangrad.extend.random import THREEFRY

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions, DType


lower = RuleSet("lower.numpy", api=1)

Array = np.ndarray


@kernel(lower, random.threefry2x32_p, nature=FRESH)
def _threefry(ctx: Lowering) -> Callable[..., Any]:
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


# --- a single key --------------------------------------------------------------------------------------------------


def _decomposed(ctx: Lowering, *values: Value, **params: Any) -> Value:
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
def _fold_in(ctx: Lowering, keys: Value, data: Any) -> Value:
    if ctx.in_avals[0].dtype is not THREEFRY or any([aval.shape for aval in ctx.in_avals]):
        return _decomposed(ctx, keys, data)

    def fold(words: Array, data: Array) -> Array:
        return encipher_one(int(words[0]), int(words[1]), 0, int(data) & WORD)

    return ctx.call(fold, keys, data, nature=FRESH)


# --- floats --------------------------------------------------------------------------------------------------------

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
def _between(ctx: Lowering, unit: Any, low: Any, high: Any) -> Value:
    span = ctx.subtract(high, low)
    if unit.dtype not in (SINGLE, np.float64) or _is_power_of_2(span.constant):
        moved = ctx.add(ctx.multiply(unit, span), low)  # a product with a power of 2 is exact
    else:
        moved = ctx.call(fused_multiply_add, unit, span, low, nature=ELEMENTWISE)
    return ctx.maximum(low, moved)


def _is_power_of_2(number: np.ndarray | None) -> bool:
    return number is not None and bool(np.all(np.frexp(number)[0] == 0.5))
