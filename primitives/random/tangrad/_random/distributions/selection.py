"""Order and choice: `permutation`, `choice`, `categorical`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import tangrad.numpy
from tangrad._random.ciphers import check_keys, random
from tangrad._random.distributions.inversion import gumbel
from tangrad._random.distributions.stream import Stream, check_fits, converted, draw
from tangrad._random.distributions.uniform import randint, uniform
from tangrad.core import Array, ShapedArray, Tracer, as_array, as_operand, dtypes, transfers
from tangrad.core.arguments import canonicalize_shape
from tangrad.extend import lax
from tangrad.extend.lax import (
    GatherDimensionNumbers,
    argmax,
    canonical_axis,
    cumsum,
    expand_dims,
    full,
    gather,
    index_in_dim,
    iota,
    reshape,
    slice_in_dim,
    sort_key_val,
    takes_out_sharding,
    top_k,
)
from tangrad.typing import ArrayLike, Key, ShardingLike, Value

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = {
    "choice": True,
    "permutation": lambda given: type(given["x"]) is not int and transfers.is_from_host(given["x"]),
}

# --- permutation ---

_ROUNDS = 3  # sorts by keys of 32 bits until keys that are equal in all of them are as rare as size ** -_ROUNDS


def _shuffle(keys: Value, x: Value, *, axis: int, partitionable: bool) -> Value:
    """Sorts by random keys, again and again: faster on parallel machines than exchanging elements."""
    stream = Stream(keys, partitionable)
    size = math.prod(x.aval.shape)
    for _ in range(math.ceil(_ROUNDS * math.log(max(1, size)) / math.log(0xFFFFFFFF))):
        stream, drawn = stream.split()
        _, x = sort_key_val(drawn.bits(x.aval.shape), x, axis)
    return x


@random.primitive(name="random_shuffle", weak_type="own", decompose=_shuffle)
def random_shuffle_p(keys: ShapedArray, x: ShapedArray, *, axis: int, partitionable: bool) -> ShapedArray:
    """The elements along an axis in random order, each row apart."""
    check_keys("random_shuffle", keys)
    if keys.shape:
        raise ValueError(f"random_shuffle takes one key, got keys of shape {keys.shape}")
    return x


@takes_out_sharding
def permutation(
    key: Key, x: ArrayLike, axis: int = 0, independent: bool = False, *, out_sharding: ShardingLike = None
) -> Array:
    """The elements of an array, or the integers below `x`, in random order.

    Args:
        key: a key.
        x: an array, or an integer.
        axis: along which axis.
        independent: whether each row along the axis has an order of its own; else slices are moved as a whole.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of the shape and dtype of `x`, for an integer one of `x` integers.

    Raises:
        TypeError: `x` is neither an array nor an integer.
        ValueError: there is no such axis.

    >>> import tangrad
    >>> tangrad.random.permutation(tangrad.random.key(0), 5)
    Array([0, 1, 4, 3, 2], dtype=int32)
    """
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        operand = None
    else:
        operand = as_operand(x)
    rank = 0 if operand is None else operand.aval.ndim
    axis = canonical_axis("random.permutation", axis, rank or 1)
    if operand is None or not rank:
        return _shuffled(key, _range("random.permutation", x), axis)
    if independent or rank == 1:
        return _shuffled(key, as_array(operand), axis)
    order = _shuffled(key, iota(dtypes.default_int_dtype(), operand.aval.shape[axis]), 0)
    return _take(operand, order, axis)


def _shuffled(key: Value, x: Value, axis: int) -> Array:
    return draw("random.permutation", random_shuffle_p, key, x, axis=axis)


def _range(name: str, count: Any) -> Array:
    """The integers below a number that must be known now."""
    if isinstance(count, Tracer) and count.concrete() is None:
        operator.index(count)  # raises the error that explains what to do
    try:
        number = operator.index(count)
    except TypeError:
        raise TypeError(f"{name} takes an array, or an integer, got {count!r}") from None
    return iota(dtypes.default_int_dtype(), max(number, 0))


def _take(x: Value, indices: Value, axis: int) -> Array:
    """Slices of `x` along an axis, at indices of any shape that are within it."""
    rank, inner = x.aval.ndim, len(indices.aval.shape)
    if not x.aval.shape[axis]:  # nothing, in another order
        return reshape(x, (*x.aval.shape[:axis], *indices.aval.shape, *x.aval.shape[axis + 1 :]))
    numbers = GatherDimensionNumbers(
        offset_dims=(*range(axis), *range(axis + inner, rank - 1 + inner)),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
    )
    sizes = tuple([1 if d == axis else size for d, size in enumerate(x.aval.shape)])
    return gather(x, expand_dims(indices, (inner,)), numbers, sizes, mode="clip")


# --- choice ---


def choice(
    key: Key,
    a: ArrayLike,
    shape: Sequence[int] = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Elements chosen from an array, or from the integers below `a`.

    Args:
        key: a key.
        a: an array, or an integer.
        shape: how many, as a shape.
        replace: whether an element can be chosen more than once.
        p: the probability of each element along `axis`, a vector; None: all are equally likely.
        axis: along which axis slices are chosen.
        mode: "low" or "high", as of `gumbel`, which draws without replacement with `p`.

    Returns:
        An array of the dtype of `a`, with `shape` in place of the axis.

    Raises:
        TypeError: `shape` is no sequence.
        ValueError: there is nothing to choose from, not enough of it, or `p` has another length.

    >>> import tangrad
    >>> tangrad.random.choice(tangrad.random.key(0), 5, (3,), replace=False)
    Array([0, 1, 4], dtype=int32)
    """
    if not isinstance(shape, Sequence):
        raise TypeError(f"random.choice: shape must be a sequence, got {shape!r}")
    sizes = canonicalize_shape(shape)
    array = as_operand(a)
    rank = array.aval.ndim
    if rank:
        axis = canonical_axis("random.choice", axis, rank)
        population = array.aval.shape[axis]
    else:
        canonical_axis("random.choice", axis, 1)
        population = _population(a)
    draws = math.prod(sizes)
    if not draws:
        return full(sizes, 0, array.aval.dtype)
    if population <= 0:
        raise ValueError("random.choice: there is nothing to choose from: a must be greater than 0")
    if not replace and draws > population:
        raise ValueError(f"random.choice: {draws} of {population} elements cannot be chosen without replacement")
    if p is None and not replace:
        whole = permutation(key, as_array(array) if rank else population, axis if rank else 0)
        chosen = slice_in_dim(whole, 0, draws, axis=axis if rank else 0)
    else:
        indices = _indices(key, sizes, population, p, replace, mode)
        chosen = _take(array, indices, axis) if rank else indices
    if not rank:
        return reshape(chosen, sizes)
    return reshape(chosen, (*array.aval.shape[:axis], *sizes, *array.aval.shape[axis + 1 :]))


def _population(a: Any) -> int:
    if isinstance(a, Tracer) and a.concrete() is None:
        operator.index(a)
    try:
        return operator.index(a)
    except TypeError:
        raise TypeError(f"random.choice takes an array, or an integer, got {a!r}") from None


def _indices(key: Array, shape: tuple[int, ...], population: int, p: object, replace: bool, mode: str | None) -> Any:
    if p is None:
        return randint(key, shape, 0, population)
    weights = as_operand(p)
    weights = converted(weights, dtypes.to_inexact_dtype(weights.aval.dtype))
    if weights.aval.shape != (population,):
        raise ValueError(
            f"random.choice: p must be a vector with a probability for each of {population} elements, "
            f"got shape {weights.aval.shape}"
        )
    if replace:
        sums = cumsum(weights)
        total = index_in_dim(sums, population - 1, keepdims=False)
        points = lax.mul(total, lax.sub(1, uniform(key, shape, sums.aval.dtype)))
        return converted(tangrad.numpy.searchsorted(sums, points), dtypes.default_int_dtype())
    # Gumbel's trick: the greatest of log p + noise are drawn with the right probabilities.
    noise = gumbel(key, (population,), weights.aval.dtype, mode=mode)
    _, indices = top_k(lax.add(noise, lax.log(weights)), math.prod(shape))
    return converted(indices, dtypes.default_int_dtype())


# --- categorical ---


@takes_out_sharding
def categorical(
    key: Key,
    logits: ArrayLike,
    axis: int = -1,
    shape: Sequence[int] | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Indices drawn with the probabilities softmax(logits, axis).

    Args:
        key: a key.
        logits: logarithms of probabilities, up to a constant: an array.
        axis: along which axis they belong together.
        shape: of the result; the shape of `logits` without the axis broadcasts to it. None: that shape.
        replace: whether, among the leading dimensions that `shape` has more, an index can come twice.
        mode: "low" or "high", as of `gumbel`.
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of integers.

    Raises:
        ValueError: for a shape that does not fit, or more draws without replacement than there are indices.

    >>> import tangrad
    >>> tangrad.random.categorical(tangrad.random.key(0), tangrad.numpy.array([0.0, 1.0, 2.0]), shape=(4,))
    Array([1, 1, 2, 1], dtype=int32)
    """
    array = as_operand(logits)
    rank = array.aval.ndim
    axis = canonical_axis("random.categorical", axis, rank)
    batch = (*array.aval.shape[:axis], *array.aval.shape[axis + 1 :])
    sizes = batch if shape is None else canonicalize_shape(shape)
    check_fits("random.categorical", sizes, batch)
    lead = sizes[: len(sizes) - len(batch)]
    if not replace:
        return _without_replacement(key, array, axis, sizes, lead, mode)
    drawn = list(sizes[len(lead) :])
    drawn.insert(axis, array.aval.shape[axis])
    noise = gumbel(key, (*lead, *drawn), array.aval.dtype, mode)
    wide = expand_dims(array, tuple(range(len(lead)))) if lead else array
    return argmax(lax.add(noise, wide), len(lead) + axis, dtypes.default_int_dtype())


def _without_replacement(
    key: Array, array: Value, axis: int, shape: tuple[int, ...], lead: tuple[int, ...], mode: str | None
) -> Array:
    count, categories = math.prod(lead), array.aval.shape[axis]
    if count > categories:
        raise ValueError(f"random.categorical: {count} of {categories} cannot be drawn without replacement")
    noisy = lax.add(array, gumbel(key, array.aval.shape, array.aval.dtype, mode))
    _, indices = top_k(tangrad.numpy.moveaxis(noisy, axis, -1), count)
    rank = len(indices.aval.shape)
    return reshape(indices, shape, (rank - 1, *range(rank - 1)))
