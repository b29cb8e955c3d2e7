"""Uniform integers: `randint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.distributions.arguments import converted, fitted, int_dtype
from tangrad._random.distributions.stream import Stream, draw, sampler
from tangrad._random.functions import stated_shape
from tangrad._random.named_shapes import takes_named_shapes
from tangrad._random.threefry import BIT_WIDTHS
from tangrad.core import Array, as_operand, dtypes, literal
from tangrad.extend import lax
from tangrad.extend.lax import INTEGER, full_like, takes_out_sharding
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, Value


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
    out_sharding: Any = None,
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
