"""Uniform bits, integers and floats, and what is decided by comparing them: `bits`, `randint`, `uniform`, …"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._random.ciphers import BIT_WIDTHS, random
from tangrad._random.distributions.stream import (
    Stream,
    converted,
    draw,
    fitted,
    float_dtype,
    int_dtype,
    parameter,
    random_uniform_p,
    sampler,
)
from tangrad._random.functions import draw_bits, one_key, stated_shape
from tangrad._random.named_shapes import takes_named_shapes
from tangrad._random.settings import threefry_partitionable
from tangrad.core import Array, as_operand, dtypes, literal, transfers
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import FLOATING, INTEGER, full_like, index_in_dim, nary, takes_out_sharding
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, ShardingLike, Value


@takes_named_shapes
@takes_out_sharding
def bits(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """Uniformly distributed unsigned integers.

    Args:
        key: a key.
        shape: of the result.
        dtype: uint8, uint16, uint32 or uint64; None: uint32, or uint64 with `enable_x64`.

    >>> import tangrad
    >>> tangrad.random.bits(tangrad.random.key(0), (2,)).dtype
    dtype('uint32')
    """
    kind = dtypes.default_uint_dtype() if dtype is None else dtypes.check_user_dtype_supported(dtype)
    if not dtypes.issubdtype(kind, np.unsignedinteger):
        raise ValueError(f"random.bits draws unsigned integers, got dtype {dtypes.dtype_name(kind)}")
    return draw_bits("random.bits", key, shape, kind.itemsize * 8)


# Of what transfer guards ask: the bounds, given or not.
COPIES_FROM_HOST = {
    "uniform": lambda given: transfers.is_from_host([given.get("minval", 0.0), given.get("maxval", 1.0)])
}

# --- between two bounds ---


def _between(unit: Value, low: Value, high: Value) -> Array:
    # XLA fuses the product and the sum into one rounding where the processor can; other backends must, too.
    return lax.max(low, lax.add(lax.mul(unit, lax.sub(high, low)), low))


random_between_p = nary(
    random,
    "random_between",
    (FLOATING,),
    "max(low, unit · (high - low) + low), product and sum rounded once: a float of [0, 1) moved to [low, high).",
    ("unit", "low", "high"),
    weak_type="never",
    decompose=_between,
)


def between(stream: Stream, shape: tuple[int, ...], dtype: DType, low: ArrayLike, high: ArrayLike) -> Array:
    """Uniform floats in [low, high): operands, or NumPy scalars of the dtype."""
    unit = stream.draw(random_uniform_p, shape=shape, dtype=dtype)
    return random_between_p.bind(unit, as_operand(low), as_operand(high))


@takes_named_shapes
@takes_out_sharding
def uniform(
    key: Key,
    shape: Sequence[int] = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Floats uniformly distributed in [minval, maxval).

    Args:
        key: a key.
        shape: of the result.
        dtype: a float dtype; None: float32, or float64 with `enable_x64`.
        minval, maxval: the bounds: numbers, or arrays that broadcast to `shape`. Differentiable.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        ValueError: for another dtype, or bounds that do not fit.

    >>> import tangrad
    >>> tangrad.random.uniform(tangrad.random.key(0), (2,), minval=-1.0)
    Array([0.895334  , 0.95715976], dtype=float32)
    """
    kind = float_dtype("random.uniform", dtype)
    sizes = stated_shape("random.uniform", shape)
    unit = random_uniform_p.bind(
        one_key("random.uniform", key), shape=sizes, dtype=kind, partitionable=threefry_partitionable.value
    )
    if _is_number(minval, 0) and _is_number(maxval, 1):
        return unit
    low = parameter("random.uniform", minval, kind, sizes, "minval")
    high = parameter("random.uniform", maxval, kind, sizes, "maxval")
    return random_between_p.bind(unit, low, high)


def _is_number(value: object, number: int) -> bool:
    return type(value) in (int, float) and value == number


# --- yes or no ---


def _fine_bernoulli(stream: Stream, p: Value, *, shape: Dimensions, dtype: DType) -> Value:
    """Compares with twice as many bits: the second sample refines the first, whose step is 2 ** -mantissa."""
    both = stream.draw(random_uniform_p, shape=(2, *shape), dtype=p.aval.dtype)
    coarse, fine = [index_in_dim(both, i, 0, keepdims=False) for i in range(2)]
    step = 2.0 ** -int(dtypes.finfo(p.aval.dtype).nmant)
    return lax.lt(lax.mul(fine, step), lax.sub(p, coarse))


def _coarse_bernoulli(stream: Stream, p: Value, *, shape: Dimensions, dtype: DType) -> Array:
    return lax.lt(stream.draw(random_uniform_p, shape=shape, dtype=p.aval.dtype), p)


_BOOL = dtypes.as_dtype(bool)
random_bernoulli_p = sampler("random_bernoulli", _coarse_bernoulli, "True with probability p.", accepts=FLOATING)
random_fine_bernoulli_p = sampler(
    "random_fine_bernoulli", _fine_bernoulli, "True with probability p, however small.", accepts=FLOATING
)


@takes_named_shapes
@takes_out_sharding
def bernoulli(
    key: Key,
    p: ArrayLike = 0.5,
    shape: Sequence[int] | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Truth values that are true with probability `p`.

    Args:
        key: a key.
        p: the probability: a float, or an array of floats.
        shape: of the result, to which `p` broadcasts; None: that of `p`.
        mode: "low", or "high" for right answers where `p` is below 1e-7, at twice the cost.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        A boolean array.

    Raises:
        TypeError: `p` is no float.
        ValueError: for another mode, or a shape that `p` does not fit.

    >>> import tangrad
    >>> tangrad.random.bernoulli(tangrad.random.key(0), 0.25, (4,))
    Array([False, False, False, False], dtype=bool)
    """
    if mode not in ("high", "low"):
        raise ValueError(f"random.bernoulli: mode must be 'high' or 'low', got {mode!r}")
    operand = as_operand(p)
    if not dtypes.issubdtype(operand.aval.dtype, np.floating):
        raise TypeError(f"random.bernoulli: p must be of a float dtype, got {operand.aval.str_short()}")
    sizes = operand.aval.shape if shape is None else canonicalize_shape(shape)
    primitive = random_bernoulli_p if mode == "low" else random_fine_bernoulli_p
    return primitive.bind(
        one_key("random.bernoulli", key),
        fitted("random.bernoulli", operand, sizes),
        shape=sizes,
        dtype=_BOOL,
        partitionable=threefry_partitionable.value,
    )


@takes_named_shapes
@takes_out_sharding
def rademacher(
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: ShardingLike = None
) -> Array:
    """-1 or 1, equally likely.

    Args:
        key: a key.
        shape: of the result.
        dtype: of the result; None: int32, or int64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    >>> import tangrad
    >>> tangrad.random.rademacher(tangrad.random.key(0), (4,))
    Array([-1, -1,  1,  1], dtype=int32)
    """
    kind = dtypes.check_user_dtype_supported(int if dtype is None else dtype)
    positive = bernoulli(key, 0.5, shape, out_sharding=out_sharding)
    chosen = lax.convert_element_type(positive, kind)
    return lax.convert_element_type(chosen * 2 - 1, kind)


def _clipped(x: Value, dtype: DType) -> Value:
    """Integers in another dtype; those beyond its range become its limits."""
    own, target = dtypes.iinfo(x.aval.dtype), dtypes.iinfo(dtype)
    low, high = max(int(own.min), int(target.min)), min(int(own.max), int(target.max))
    if (low, high) != (int(own.min), int(own.max)):
        x = lax.clamp(literal(low, x.aval.dtype), x, literal(high, x.aval.dtype))
    return converted(x, dtype)


def _integers(stream: Stream, minval: Value, maxval: Value, *, shape: Dimensions, dtype: DType) -> Array:
    """minval + (a number of twice as many bits) mod span: the bias of a remainder is least where there are many bits.

    The number is higher · 2ⁿ + lower, and (2ⁿ mod span) is computed as (2ⁿ⸍² mod span)² mod span, in n bits.
    """
    width = int(dtypes.iinfo(dtype).bits)
    unsigned = BIT_WIDTHS[width]
    greatest = _clipped(literal(int(dtypes.iinfo(dtype).max), dtype), maxval.aval.dtype)
    beyond = lax.gt(maxval, greatest)  # the bound itself does not fit, as in randint(key, shape, 0, 256, "uint8")
    minval, maxval = _clipped(minval, dtype), _clipped(maxval, dtype)
    higher, lower = stream.split_bits(shape, width)
    span = converted(lax.sub(maxval, minval), unsigned)
    span = lax.select(lax.le(maxval, minval), full_like(span, 1), span)  # an empty range gives minval
    # The full range makes the span 0, and a remainder by 0 is the number itself.
    span = lax.select(lax.bitwise_and(beyond, lax.gt(maxval, minval)), lax.add(span, literal(1, unsigned)), span)
    multiplier = lax.rem(literal(1 << (width // 2), unsigned), span)
    multiplier = lax.rem(lax.mul(multiplier, multiplier), span)
    offset = lax.add(lax.mul(lax.rem(higher, span), multiplier), lax.rem(lower, span))
    return lax.add(minval, converted(lax.rem(offset, span), dtype))


random_integers_p = sampler("random_integers", _integers, "Integers in [minval, maxval).", accepts=INTEGER)
_INT32 = np.dtype(np.int32)


@takes_named_shapes
@takes_out_sharding
def randint(
    key: Key,
    shape: Sequence[int],
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Integers in [minval, maxval), equally likely as far as 64 bits allow.

    Args:
        key: a key.
        shape: of the result.
        minval, maxval: the bounds: integers, or arrays of integers that broadcast to `shape`. Where `maxval` is not
            greater the result is `minval`.
        dtype: of the result; None: int32, or int64 with `enable_x64`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of `shape` and `dtype`.

    Raises:
        TypeError: for a dtype that is no integer's.
        ValueError: for bounds that do not fit.

    >>> import tangrad
    >>> tangrad.random.randint(tangrad.random.key(0), (3,), 0, 10)
    Array([9, 0, 2], dtype=int32)
    """
    kind = int_dtype("random.randint", dtype, TypeError)
    sizes = stated_shape("random.randint", shape)
    low, high = _bound(minval, sizes, "minval"), _bound(maxval, sizes, "maxval")
    information = dtypes.iinfo(kind)
    if information.bits >= 32:
        return draw("random.randint", random_integers_p, key, low, high, shape=sizes, dtype=kind)
    # Narrow integers are drawn with 32 bits, for their bias.
    least, greatest = int(information.min), int(information.max)
    low, high = [
        lax.clamp(literal(least, _INT32), converted(bound, _INT32), literal(greatest + more, _INT32))
        for bound, more in ((low, 0), (high, 1))
    ]
    wide = draw("random.randint", random_integers_p, key, low, high, shape=sizes, dtype=_INT32)
    return lax.convert_element_type_p.bind(wide, new_dtype=kind, weak_type=False)


def _bound(value: ArrayLike, shape: tuple[int, ...], argument: str) -> Value:
    try:
        operand = as_operand(value)
    except TypeError as error:
        raise TypeError(f"random.randint requires an integer or array as {argument}, got {value!r}") from error
    if not dtypes.issubdtype(operand.aval.dtype, np.integer):
        operand = converted(operand, dtypes.default_int_dtype())
    return fitted("random.randint", operand, shape)
