"""Reductions of the elements that bear the same number: `tangrad.ops.segment_sum` and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.at import updated
from tangrad._numpy.creation import full
from tangrad._numpy.operands import array_operand, broadcast_to_shape, index_argument, is_kind
from tangrad._numpy.ranges import arange
from tangrad._numpy.reductions import amax, amin, prod, sum
from tangrad.core import Array, dtypes
from tangrad.extend.lax import sharded_call
from tangrad.typing import ArrayLike, DType, ShardingLike, Value

if TYPE_CHECKING:
    from tangrad.lax import GatherScatterMode

# Of what transfer guards ask: these bring numbers of their own.
COPIES_FROM_HOST = dict.fromkeys(["segment_max", "segment_min", "segment_prod", "segment_sum"], True)

Reduction = Callable[..., Array]


def _reduced(
    name: str,
    operation: str,
    identity: Callable[[DType], float],
    reduction: Reduction,
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: object,
    bucket_size: object,
    out_sharding: object,
    **options: Any,
) -> Array:
    if out_sharding is not None:
        how = (name, operation, identity, reduction)
        return sharded_call(out_sharding, _reduced, *how, data, segment_ids, num_segments, bucket_size, None, **options)
    values, ids = array_operand(name, data, 0), array_operand(name, segment_ids, 1)
    if not values.aval.shape:  # one number for all
        values = broadcast_to_shape(values, ids.aval.shape)
    _check(name, values, ids)
    count = _count(name, ids, num_segments)
    shape, dtype = (count, *values.aval.shape[1:]), values.aval.dtype
    options["wrap_negative_indices"] = False
    if bucket_size is None:
        start = full(shape, identity(dtype), dtype)
        return updated(operation, start, ids, values, **options)
    size = index_argument(name, bucket_size, "bucket_size")
    if size < 1:
        raise ValueError(f"{name}: bucket_size must be positive, got {bucket_size!r}")
    length = ids.aval.size
    start = full(((length + size - 1) // size or 1, *shape), identity(dtype), dtype)
    index = (arange(length) // size).reshape(ids.aval.shape), ids
    return reduction(updated(operation, start, index, values, **options), axis=0).astype(dtype)


def _check(name: str, values: Value, ids: Value) -> None:
    """What is numbered must be there, and be numbered by whole numbers."""
    if not is_kind(ids, np.integer):
        found = dtypes.dtype_name(ids.aval.dtype)
        raise TypeError(f"{name}: segment_ids must be integers, got an array of dtype {found}")
    if ids.aval.ndim != min(values.aval.ndim, 1) or values.aval.shape[: ids.aval.ndim] != ids.aval.shape:
        raise ValueError(
            f"{name}: segment_ids must have one dimension, as long as the first one of data, got shapes "
            f"{ids.aval.shape} and {values.aval.shape}"
        )


def _count(name: str, ids: Value, num_segments: object) -> int:
    if num_segments is None:
        if not ids.aval.size:
            raise ValueError(f"{name}: of no elements, num_segments must be given")
        return max(index_argument(name, amax(ids), "num_segments, which is counted from segment_ids,") + 1, 0)
    count = index_argument(name, num_segments, "num_segments")
    if count < 0:
        raise ValueError(f"{name}: num_segments must not be negative, got {num_segments!r}")
    return count


def _least(dtype: DType) -> float:
    """What no element of the dtype is less than."""
    if dtypes.issubdtype(dtype, np.bool_):
        return False
    return dtypes.iinfo(dtype).min if dtypes.issubdtype(dtype, np.integer) else -np.inf


def _greatest(dtype: DType) -> float:
    """What no element of the dtype is greater than."""
    if dtypes.issubdtype(dtype, np.bool_):
        return True
    return dtypes.iinfo(dtype).max if dtypes.issubdtype(dtype, np.integer) else np.inf


def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The sums of the elements that bear the same number.

    Args:
        data: an array of shape (n, ...).
        segment_ids: n integers, in any order: the segment to which each element belongs. Those below 0 and beyond the
            last segment are left out, unless `mode` keeps them.
        num_segments: how many segments there are; None: as many as `segment_ids` needs, which it must then be known
            for: it is no traced array.
        indices_are_sorted: a promise that `segment_ids` is in ascending order.
        unique_indices: a promise that no segment has two elements.
        bucket_size: of how many elements at a time the sums are taken, and then those of all: rounding errors of
            sums of many elements grow less. None: of all at once.
        mode: what happens to numbers of no segment, as in `x.at[...]`: "drop", "clip", "promise_in_bounds".
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape (num_segments, ...) and the dtype of `data`. A segment without elements is 0.

    Raises:
        TypeError: `data` or `segment_ids` is no array, or `segment_ids` or `num_segments` are no integers.
        ValueError: the shapes do not fit, `num_segments` is negative, or `bucket_size` less than 1.

    >>> import tangrad.numpy as np
    >>> from tangrad.ops import segment_sum
    >>> segment_sum(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 2, 2]), 3)
    Array([3., 0., 7.], dtype=float32)
    """
    return _reduced(
        "segment_sum",
        "add",
        lambda dtype: 0,
        sum,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        out_sharding,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The products of the elements that bear the same number.

    Args:
        data: an array of shape (n, ...).
        segment_ids: n integers, in any order: the segment to which each element belongs. Those below 0 and beyond the
            last segment are left out, unless `mode` keeps them.
        num_segments: how many segments there are; None: as many as `segment_ids` needs, which it must then be known
            for: it is no traced array.
        indices_are_sorted: a promise that `segment_ids` is in ascending order.
        unique_indices: a promise that no segment has two elements.
        bucket_size: of how many elements at a time the products are taken, and then those of all: rounding errors of
            products of many elements grow less. None: of all at once.
        mode: what happens to numbers of no segment, as in `x.at[...]`: "drop", "clip", "promise_in_bounds".
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape (num_segments, ...) and the dtype of `data`. A segment without elements is 1.

    Raises:
        TypeError: `data` or `segment_ids` is no array, or `segment_ids` or `num_segments` are no integers.
        ValueError: the shapes do not fit, `num_segments` is negative, or `bucket_size` less than 1.

    >>> import tangrad.numpy as np
    >>> from tangrad.ops import segment_prod
    >>> segment_prod(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 2, 2]), 3)
    Array([ 2.,  1., 12.], dtype=float32)
    """
    return _reduced(
        "segment_prod",
        "multiply",
        lambda dtype: 1,
        prod,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        out_sharding,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The maxima of the elements that bear the same number.

    Args:
        data: an array of shape (n, ...).
        segment_ids: n integers, in any order: the segment to which each element belongs. Those below 0 and beyond the
            last segment are left out, unless `mode` keeps them.
        num_segments: how many segments there are; None: as many as `segment_ids` needs, which it must then be known
            for: it is no traced array.
        indices_are_sorted: a promise that `segment_ids` is in ascending order.
        unique_indices: a promise that no segment has two elements.
        bucket_size: of how many elements at a time the maxima are taken, and then those of all. None: of all at once.
        mode: what happens to numbers of no segment, as in `x.at[...]`: "drop", "clip", "promise_in_bounds".
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape (num_segments, ...) and the dtype of `data`. A segment without elements is the least number
        of the dtype: -inf, or that of the integers, or False.

    Raises:
        TypeError: `data` or `segment_ids` is no array, or `segment_ids` or `num_segments` are no integers.
        ValueError: the shapes do not fit, `num_segments` is negative, or `bucket_size` less than 1.

    >>> import tangrad.numpy as np
    >>> from tangrad.ops import segment_max
    >>> segment_max(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 2, 2]), 3)
    Array([  2., -inf,   4.], dtype=float32)
    """
    return _reduced(
        "segment_max",
        "max",
        _least,
        amax,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        out_sharding,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: str | GatherScatterMode | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """The minima of the elements that bear the same number.

    Args:
        data: an array of shape (n, ...).
        segment_ids: n integers, in any order: the segment to which each element belongs. Those below 0 and beyond the
            last segment are left out, unless `mode` keeps them.
        num_segments: how many segments there are; None: as many as `segment_ids` needs, which it must then be known
            for: it is no traced array.
        indices_are_sorted: a promise that `segment_ids` is in ascending order.
        unique_indices: a promise that no segment has two elements.
        bucket_size: of how many elements at a time the minima are taken, and then those of all. None: of all at once.
        mode: what happens to numbers of no segment, as in `x.at[...]`: "drop", "clip", "promise_in_bounds".
        out_sharding: how the result is sharded: a sharding, or a partition spec of the mesh in use.

    Returns:
        An array of shape (num_segments, ...) and the dtype of `data`. A segment without elements is the greatest number
        of the dtype: inf, or that of the integers, or True.

    Raises:
        TypeError: `data` or `segment_ids` is no array, or `segment_ids` or `num_segments` are no integers.
        ValueError: the shapes do not fit, `num_segments` is negative, or `bucket_size` less than 1.

    >>> import tangrad.numpy as np
    >>> from tangrad.ops import segment_min
    >>> segment_min(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 2, 2]), 3)
    Array([ 1., inf,  3.], dtype=float32)
    """
    return _reduced(
        "segment_min",
        "min",
        _greatest,
        amin,
        data,
        segment_ids,
        num_segments,
        bucket_size,
        out_sharding,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )
