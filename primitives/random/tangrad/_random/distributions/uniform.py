"""Uniform floats, and what is decided by comparing them: `uniform`, `bernoulli`, `rademacher`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._random.cipher import random
from tangrad._random.distributions.arguments import (
    fitted,
    float_dtype,
    parameter,
)
from tangrad._random.distributions.stream import Stream, random_uniform_p, sampler
from tangrad._random.functions import one_key, stated_shape
from tangrad._random.named_shapes import takes_named_shapes
from tangrad._random.settings import threefry_partitionable
from tangrad.core import Array, as_operand, dtypes, transfers
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import FLOATING, index_in_dim, nary, takes_out_sharding
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Key, Value

# Of what transfer guards ask: the bounds, given or not.
COPIES_FROM_HOST = {
    "uniform": lambda given: transfers.is_from_host([given.get("minval", 0.0), given.get("maxval", 1.0)])
}

# --- between two bounds --------------------------------------------------------------------------------------------


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
    out_sharding: Any = None,
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


def _is_number(value: Any, number: int) -> bool:
    return type(value) in (int, float) and value == number


# --- yes or no -----------------------------------------------------------------------------------------------------


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
    key: Key, p: ArrayLike = 0.5, shape: Sequence[int] | None = None, mode: str = "low", *, out_sharding: Any = None
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
    key: Key, shape: Sequence[int] = (), dtype: DTypeLike | None = None, *, out_sharding: Any = None
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
