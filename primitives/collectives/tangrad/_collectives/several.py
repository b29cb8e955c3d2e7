"""Collectives over several mapped axes by collectives over one each; groups of several axes by gathering.

A batch rule sees one axis at a time. What it cannot do at once for an axis among several it does by these functions:
each step is a collective that names one axis, or the others.
"""

from __future__ import annotations

import numpy as np

from tangrad._collectives import primitives as p
from tangrad._collectives.axes import Axes, Groups, member_mask, member_table, ranks, size_of_axes, size_of_axis
from tangrad._collectives.mapped import REDUCERS, merged, reshaped
from tangrad._collectives.positions import joint_index
from tangrad.core import Array, Primitive
from tangrad.extend.lax import (
    broadcast_in_dim_p,
    dynamic_index_in_dim,
    dynamic_slice_in_dim,
    full_like,
    greatest,
    index_take,
    least,
    reduce_sum_p,
    select_n_p,
    transpose_p,
)
from tangrad.typing import Value

_NEUTRAL = {p.psum_p: lambda dtype: 0, p.pmax_p: least, p.pmin_p: greatest}


def gather_all(x: Value, names: Axes) -> Value:
    """The values of all examples along a new first dimension."""
    return all_gather(
        x,
        axis_name=names,
        all_gather_dimension=0,
        axis_index_groups=None,
        axis_size=size_of_axes("all_gather", names),
        tiled=False,
    )


def _members(x: Value, names: Axes, groups: tuple[tuple[int, ...], ...]) -> Value:
    """The values of the example's own group along a new first dimension; groups have one size."""
    row = dynamic_index_in_dim(member_table(groups), joint_index(names), keepdims=False)
    return index_take(gather_all(x, names), (row,), (0,))


def _slice_by_rank(x: Value, names: Axes, groups: tuple[tuple[int, ...], ...], dimension: int, size: int) -> Array:
    """The slice along a dimension that goes to the example: in its group each has a slice of this size."""
    rank = dynamic_index_in_dim(ranks(groups) * size, joint_index(names), keepdims=False)
    return dynamic_slice_in_dim(x, rank, size, dimension)


def reduce_groups(
    primitive: Primitive, x: Value, *, axes: Axes, axis_index_groups: tuple[tuple[int, ...], ...]
) -> Array:
    """A reduction within groups over several axes: of all values, with those of other groups left out."""
    values = gather_all(x, axes)
    row = dynamic_index_in_dim(member_mask(axis_index_groups), joint_index(axes), keepdims=False)
    mask = broadcast_in_dim_p.bind(row, shape=values.aval.shape, broadcast_dimensions=(0,))
    others = full_like(values, _NEUTRAL[primitive](values.aval.dtype))
    return REDUCERS[primitive].bind(select_n_p.bind(mask, others, values), axes=(0,))


def all_gather(
    x: Value, *, axis_name: Axes, all_gather_dimension: int, axis_index_groups: Groups, axis_size: object, tiled: bool
) -> Value:
    """The last axis is gathered first, so that it varies fastest."""
    dimension = all_gather_dimension
    if axis_index_groups is not None:
        found = _members(x, axis_name, axis_index_groups)
        found = _moved(found, 0, dimension)
        return merged(found, dimension) if tiled else found
    shape = x.aval.shape
    for name in reversed(axis_name):
        size = size_of_axis("all_gather", name)
        x = p.all_gather_p.bind(
            x,
            axis_name=(name,),
            all_gather_dimension=dimension,
            axis_index_groups=None,
            axis_size=size,
            tiled=tiled,
        )
    return x if tiled else reshaped(x, (*shape[:dimension], axis_size, *shape[dimension:]))


def reduce_scatter(
    x: Value, *, axis_name: Axes, scatter_dimension: int, axis_index_groups: Groups, axis_size: int, tiled: bool
) -> Value:
    """The first axis, which varies slowest, scatters first."""
    dimension, shape = scatter_dimension, x.aval.shape
    if axis_index_groups is not None:
        total = reduce_sum_p.bind(_members(x, axis_name, axis_index_groups), axes=(0,))
        found = _slice_by_rank(total, axis_name, axis_index_groups, dimension, shape[dimension] // axis_size)
        return found if tiled else reshaped(found, (*shape[:dimension], *shape[dimension + 1 :]))
    sizes = [size_of_axis("psum_scatter", name) for name in axis_name]
    if not tiled:
        x = reshaped(x, (*shape[:dimension], *sizes, *shape[dimension + 1 :]))
    for name, size in zip(axis_name, sizes):
        x = p.reduce_scatter_p.bind(
            x,
            axis_name=(name,),
            scatter_dimension=dimension,
            axis_index_groups=None,
            axis_size=size,
            tiled=tiled,
        )
    return x


def all_to_all(
    x: Value, *, axis_name: Axes, split_axis: int, concat_axis: int, axis_index_groups: Groups, axis_size: int
) -> Value:
    """The dimension that is cut, seen as one for each axis and the rest of it: each axis swaps its own."""
    shape = x.aval.shape
    if axis_index_groups is not None:
        values = _members(x, axis_name, axis_index_groups)
        size = shape[split_axis] // axis_size
        mine = _slice_by_rank(values, axis_name, axis_index_groups, split_axis + 1, size)
        return merged(_moved(mine, 0, concat_axis), concat_axis)
    sizes = [size_of_axis("all_to_all", name) for name in axis_name]
    x = reshaped(x, (*shape[:split_axis], *sizes, shape[split_axis] // axis_size, *shape[split_axis + 1 :]))
    for place, (name, size) in enumerate(zip(axis_name, sizes)):
        dimension = split_axis + place
        x = p.all_to_all_p.bind(
            x,
            axis_name=(name,),
            split_axis=dimension,
            concat_axis=dimension,
            axis_index_groups=None,
            axis_size=size,
        )
    rest = reshaped(x, (*shape[:split_axis], axis_size, shape[split_axis] // axis_size, *shape[split_axis + 1 :]))
    return merged(_moved(rest, split_axis, concat_axis), concat_axis)


def ppermute(x: Value, *, axis_name: Axes, perm: tuple[tuple[int, int], ...]) -> Value:
    """A permutation of the joint indices need not be one of each axis: all values are gathered, and one is taken."""
    values = gather_all(x, axis_name)
    count = values.aval.shape[0]
    sources = {destination: source for source, destination in perm}
    table = np.array([sources.get(index, 0) for index in range(count)], np.int32)
    index = joint_index(axis_name)
    found = dynamic_index_in_dim(values, dynamic_index_in_dim(table, index, keepdims=False), keepdims=False)
    if len(perm) == count:
        return found
    sent = dynamic_index_in_dim(np.array([i in sources for i in range(count)]), index, keepdims=False)
    return select_n_p.bind(sent, full_like(found, 0), found)


def pbroadcast(x: Value, *, axis_name: Axes, source: int) -> Value:
    """From the source's index along each axis."""
    for name in reversed(axis_name):
        size = size_of_axis("pbroadcast", name)
        x = p.pbroadcast_p.bind(x, axis_name=(name,), source=source % size)
        source //= size
    return x


def axis_index(*, axis_name: Axes) -> Value:
    """The joint index of the indices along each axis."""
    return joint_index(axis_name)


def _moved(x: Value, source: int, destination: int) -> Value:
    if source == destination:
        return x
    order = list(range(len(x.aval.shape)))
    order.insert(destination, order.pop(source))
    return transpose_p.bind(x, permutation=tuple(order))
