"""Collectives along an axis of which a part is a dimension of the operand, and another part has a name of its own.

Reductions and gatherings do what they can within the part first. The others take the names of both parts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._collectives import mapped
from tangrad._collectives import primitives as p
from tangrad._collectives.axes import as_tuple, names_among
from tangrad.batching import SplitAxis, move_axis, place_axis, split_by_names
from tangrad.core import Primitive, RuleSet, literal
from tangrad.extend.lax import add_p, broadcast_in_dim_p, iota, mul_p

if TYPE_CHECKING:
    from tangrad._collectives.axes import Axes, Groups
    from tangrad._collectives.mapped import Mapped
    from tangrad.typing import Dims, Values

split_axis = RuleSet("split_axis", api=1)
_INT32 = np.dtype(np.int32)


def _renamed(axes: Axes, axis: SplitAxis) -> Axes:
    return tuple([axis.outer if name == axis.name and not isinstance(name, int) else name for name in axes])


def _reduction(primitive: Primitive) -> Callable[..., object]:
    by_names = split_by_names(primitive)

    def rule(
        args: Values, dims: Dims, *, axis_info: SplitAxis, axes: Axes, axis_index_groups: Groups
    ) -> tuple[object, object]:
        if axis_index_groups is not None or axis_info.name not in names_among(axes):
            return by_names(args, dims, axis_info=axis_info, axes=axes, axis_index_groups=axis_index_groups)
        (x,), (dim,) = args, dims
        if dim is not None:
            x = mapped.REDUCERS[primitive].bind(x, axes=(dim,))
        elif primitive is p.psum_p:
            x = mapped.times(x, axis_info.size)
        return primitive.bind(x, axes=_renamed(axes, axis_info), axis_index_groups=None), None

    return rule


split_axis.table({primitive: _reduction(primitive) for primitive in (p.psum_p, p.pmax_p, p.pmin_p)})


@split_axis.rule(p.all_gather_p)
def _all_gather(args: Values, dims: Dims, *, axis_info: SplitAxis, **params: Any) -> tuple[object, object]:
    """The parts one after the other are the whole axis."""
    if params["axis_name"] != (axis_info.name,) or params["axis_index_groups"] is not None:
        return split_by_names(p.all_gather_p)(args, dims, axis_info=axis_info, **params)
    (x,), (dim,), dimension = args, dims, params["all_gather_dimension"]
    rows = p.all_gather_p.bind(
        place_axis(x, dim, 0, axis_info.size),
        axis_name=(axis_info.outer,),
        all_gather_dimension=0,
        axis_index_groups=None,
        axis_size=axis_info.count,
        tiled=True,
    )
    found = move_axis(rows, 0, dimension)
    return (mapped.merged(found, dimension) if params["tiled"] else found), None


@split_axis.rule(p.axis_index_p)
def _axis_index(args: Values, dims: Dims, *, axis_info: SplitAxis, axis_name: Hashable) -> tuple[object, object]:
    if as_tuple(axis_name) != (axis_info.name,):
        return split_by_names(p.axis_index_p)(args, dims, axis_info=axis_info, axis_name=axis_name)
    outer = p.axis_index_p.bind(axis_name=axis_info.outer)
    first = mul_p.bind(outer, literal(axis_info.size, _INT32, False))
    inside = iota(_INT32, axis_info.size)
    return add_p.bind(broadcast_in_dim_p.bind(first, shape=inside.aval.shape, broadcast_dimensions=()), inside), 0


@split_axis.rule(p.psum_to_p)
def _psum_to(args: Values, dims: Dims, *, axis_info: SplitAxis, axes: Axes) -> Mapped:
    """What differs within a part differs along the whole axis, and what is the same within it is the same."""
    (x, source, like), (dim, source_dim, like_dim) = args, dims
    others = tuple([name for name in axes if name != axis_info.name])
    if len(others) < len(axes):
        x, dim = mapped.sum_to(x, dim, source_dim, like_dim, axis_info.size)
        if source_dim is not None and like_dim is None:
            x = p.psum_p.bind(x, axes=(axis_info.outer,), axis_index_groups=None)
    return (p.psum_to_p.bind(x, source, like, axes=others) if others else x), dim


@split_axis.rule(p.psum_back_p)
def _psum_back(args: Values, dims: Dims, *, axis_info: SplitAxis, axes: Axes) -> Mapped:
    (x, like), (dim, like_dim) = args, dims
    kept = tuple([name for name in axes if name != axis_info.name or like_dim is None])
    return (p.psum_back_p.bind(x, like, axes=_renamed(kept, axis_info)) if kept else x), dim
