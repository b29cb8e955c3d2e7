"""Collectives over one mapped axis, once the axis is a dimension of the operand: what their batch rules compute.

Each function takes the operand, its mapped dimension (None: it is the same for all examples) and the axis's size, and
returns the result and its mapped dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tangrad._collectives.primitives import pmax_p, pmin_p, psum_p
from tangrad.batching import move_axis, place_axis
from tangrad.core import Array, as_operand, literal
from tangrad.extend.lax import (
    broadcast_in_dim_p,
    concatenate_p,
    full_like,
    index_in_dim,
    index_take,
    mul_p,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
    reshape_p,
    select_n_p,
    slice_in_dim,
    transpose_p,
)
from tangrad.typing import Value

Mapped = tuple[Value, int | None]
REDUCERS = {psum_p: reduce_sum_p, pmax_p: reduce_max_p, pmin_p: reduce_min_p}


def reshaped(x: Value, shape: Sequence[object]) -> Value:
    """`x` in another shape."""
    shape = tuple(shape)
    return x if x.aval.shape == shape else reshape_p.bind(x, new_sizes=shape, dimensions=None)


def merged(x: Value, dimension: int) -> Value:
    """`x` with a dimension and the next one as one."""
    shape = x.aval.shape
    return reshaped(x, (*shape[:dimension], shape[dimension] * shape[dimension + 1], *shape[dimension + 2 :]))


def divided(x: Value, dimension: int, count: int) -> Value:
    """`x` with a dimension as two, the first of size `count`."""
    shape = x.aval.shape
    return reshaped(x, (*shape[:dimension], count, shape[dimension] // count, *shape[dimension + 1 :]))


def times(x: Value, count: int) -> Array:
    """The sum of `count` values that are all `x`."""
    operand = as_operand(x)
    return mul_p.bind(operand, literal(count, operand.aval.dtype, True))


def take_rows(x: Value, rows: Sequence[int], dimension: int) -> Value:
    """The elements along a dimension with these indices, in this order.

    Two runs of successive indices, as in a rotation, are two slices: much faster than a gather.
    """
    starts = [i for i, row in enumerate(rows) if i == 0 or row != rows[i - 1] + 1]
    if len(starts) <= 1 and len(rows) == x.aval.shape[dimension]:
        return x
    if len(starts) <= 2:
        ends = [*starts[1:], len(rows)]
        parts = [slice_in_dim(x, rows[a], rows[b - 1] + 1, axis=dimension) for a, b in zip(starts, ends)]
        return parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=dimension)
    found = index_take(x, (np.asarray(rows, np.int32),), (dimension,))
    return move_axis(found, 0, dimension)


def all_gather(
    x: Value, dim: int | None, size: int, *, all_gather_dimension: int, tiled: bool, axis_size: int, **_: object
) -> Mapped:
    """The mapped dimension becomes a dimension of the example."""
    gathered = place_axis(x, dim, all_gather_dimension, size)
    return (merged(gathered, all_gather_dimension) if tiled else gathered), None


def reduce_scatter(
    x: Value, dim: int | None, size: int, *, scatter_dimension: int, tiled: bool, axis_size: int, **_: object
) -> Mapped:
    """A dimension of the example becomes the mapped one."""
    total = times(x, size) if dim is None else reduce_sum_p.bind(x, axes=(dim,))
    return (divided(total, scatter_dimension, size) if tiled else total), scatter_dimension


def all_to_all(
    x: Value, dim: int | None, size: int, *, split_axis: int, concat_axis: int, axis_size: int, **_: object
) -> Mapped:
    """The mapped dimension joins a dimension of the example, of another one a part becomes the mapped dimension."""
    parts = divided(place_axis(x, dim, 0, size), split_axis + 1, size)
    # The dimensions of `parts`: the sources, those of the example, and before `split_axis` the destinations.
    rank = len(parts.aval.shape) - 2
    example = [axis + 1 if axis < split_axis else axis + 2 for axis in range(rank)]
    order = [split_axis + 1, *example[:concat_axis], 0, *example[concat_axis:]]
    return merged(transpose_p.bind(parts, permutation=tuple(order)), concat_axis + 1), 0


def ppermute(x: Value, dim: int | None, size: int, *, perm: tuple[tuple[int, int], ...]) -> Mapped:
    """The examples in another order, with zeros where nothing is sent."""
    if dim is None and len(perm) == size:
        return x, None
    rows = place_axis(x, dim, 0, size) if dim is None else x
    dim = 0 if dim is None else dim
    sources = {destination: source for source, destination in perm}
    found = take_rows(rows, [sources.get(index, index) for index in range(size)], dim)
    if len(perm) == size:
        return found, dim
    sent = as_operand(np.array([index in sources for index in range(size)]))
    mask = broadcast_in_dim_p.bind(sent, shape=found.aval.shape, broadcast_dimensions=(dim,))
    return select_n_p.bind(mask, full_like(found, 0), found), dim


def pbroadcast(x: Value, dim: int | None, size: object, *, source: int) -> Mapped:
    """One example, which is then the same for all."""
    return (x if dim is None else index_in_dim(x, source, axis=dim, keepdims=False)), None


def sum_to(x: Value, dim: int | None, source_dim: int | None, like_dim: int | None, size: int) -> Mapped:
    """The sum of what differs for a value that does not; for one that does, what is the same becomes one each."""
    if like_dim is not None:
        return (place_axis(x, None, 0, size), 0) if dim is None else (x, dim)
    if source_dim is None:
        return x, dim
    return (times(x, size) if dim is None else reduce_sum_p.bind(x, axes=(dim,))), None
