"""How collectives are mapped.

Along an axis that a collective does not name it acts on each example by itself: dimensions are counted around the
mapped one. Along the one axis that it names it becomes arithmetic on the mapped dimension (`mapped.py`); where that
axis is one of several, the collective becomes steps with one axis each (`several.py`), and these are mapped. Groups
of indices along an axis are a mapped axis of groups, with a mapped axis of members in it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._collectives import mapped, several
from tangrad._collectives import primitives as p
from tangrad._collectives.axes import names_among, positions_among
from tangrad.batching import AxisInfo, batch_flat, place_axis
from tangrad.core import Primitive, RuleSet
from tangrad.extend.lax import concatenate_p, iota
from tangrad.typing import Dims, Params, Value, Values

if TYPE_CHECKING:
    from tangrad._collectives.axes import Axes
    from tangrad._collectives.mapped import Mapped

batch = RuleSet("batch", api=1)

Rule = Callable[..., Any]


def _in_steps(function: Rule, args: Values, dims: Dims, axis_info: AxisInfo) -> Mapped:
    """The result of a function of unmapped examples, mapped."""
    (out,), (dim,) = batch_flat(lambda *values: [function(*values)], args, dims, axis_info)
    return out, dim


def _by_groups(primitive: Primitive, x: Value, dim: int | None, axis_info: AxisInfo, params: Params) -> Mapped:
    """A collective within groups: those of one size are examples of a collective over their members."""
    groups, params = params["axis_index_groups"], {**params, "axis_index_groups": None}
    rows, order, parts = place_axis(x, dim, 0, axis_info.size), [], []
    for size in sorted({len(group) for group in groups}):
        members = [group for group in groups if len(group) == size]
        indices = [index for group in members for index in group]
        chosen = mapped.take_rows(rows, indices, 0)
        block = mapped.reshaped(chosen, (len(members), size, *rows.aval.shape[1:]))
        parts.append(_of_each(primitive, block, AxisInfo(axis_info.name, size), params))
        order += indices
    joined = parts[0] if len(parts) == 1 else concatenate_p.bind(*parts, dimension=0)
    return mapped.take_rows(joined, np.argsort(order).tolist(), 0), 0


def _of_each(primitive: Primitive, block: Value, axis: AxisInfo, params: Params) -> Value:
    """For an array of groups of members: the collective's results, one for each member, in one row."""

    def of_one(group: Value) -> Value:
        found = _in_steps(lambda member: primitive.bind(member, **params), (group,), (0,), axis)
        return place_axis(*found, 0, axis.size)

    count = block.aval.shape[0]
    return mapped.merged(place_axis(*_in_steps(of_one, (block,), (0,), AxisInfo(None, count)), 0, count), 0)


def _check_size(primitive: Primitive, params: Params, axis_info: AxisInfo) -> None:
    """A program that was traced for an axis of one size may be mapped along one of another."""
    groups = params.get("axis_index_groups")
    expected = params.get("axis_size", axis_info.size) if groups is None else sum([len(group) for group in groups])
    if expected != axis_info.size:
        raise ValueError(
            f"{primitive.name} was traced for an axis {axis_info.name!r} of size {expected}, but is mapped along one "
            f"of size {axis_info.size}"
        )


# --- reductions ---


def _reduction(primitive: Primitive) -> Rule:
    def rule(
        args: Values,
        dims: tuple[int, ...],
        *,
        axis_info: AxisInfo,
        axes: Axes,
        axis_index_groups: tuple[tuple[int, ...], ...] | None,
    ) -> Mapped:
        (x,), (dim,) = args, dims
        if axis_info.name not in names_among(axes):
            shifted = tuple([axis + (axis >= dim) if isinstance(axis, int) else axis for axis in axes])
            out = primitive.bind(x, axes=shifted, axis_index_groups=axis_index_groups)
            return out, dim - sum([axis < dim for axis in positions_among(shifted)])
        if axis_index_groups is not None:
            params: Params = {"axes": axes, "axis_index_groups": axis_index_groups}
            if len(axes) > 1:
                return _in_steps(lambda v: several.reduce_groups(primitive, v, **params), args, dims, axis_info)
            _check_size(primitive, params, axis_info)
            return _by_groups(primitive, x, dim, axis_info, params)
        if dim is None:
            others = tuple([axis for axis in axes if axis != axis_info.name or isinstance(axis, int)])
            out = _reduced(primitive, x, others)
            return (mapped.times(out, axis_info.size) if primitive is p.psum_p else out), None
        fused = tuple(
            [
                axis + (axis >= dim) if isinstance(axis, int) else dim if axis == axis_info.name else axis
                for axis in axes
            ]
        )
        return _reduced(primitive, x, fused), None

    return rule


def _reduced(primitive: Primitive, x: Value, axes: Axes) -> Value:
    """A reduction over dimensions, and over mapped axes if some are left."""
    if names_among(axes):
        return primitive.bind(x, axes=axes, axis_index_groups=None)
    return mapped.REDUCERS[primitive].bind(x, axes=tuple(sorted(positions_among(axes)))) if axes else x


batch.table({primitive: _reduction(primitive) for primitive in (p.psum_p, p.pmax_p, p.pmin_p)})


# --- the others: `over` one mapped axis, or `past` another one ---


def _exchange(primitive: Primitive, over: Rule, in_steps: Rule, past: Rule) -> None:
    def rule(
        args: Values, dims: tuple[int, ...], *, axis_info: AxisInfo, axis_name: tuple[Hashable, ...], **params: object
    ) -> Mapped:
        (x,), (dim,) = args, dims
        if axis_info.name not in axis_name:
            changed, out_dim = past(dim, **params)
            return primitive.bind(x, axis_name=axis_name, **{**params, **changed}), out_dim
        if len(axis_name) > 1:
            return _in_steps(lambda v: in_steps(v, axis_name=axis_name, **params), args, dims, axis_info)
        _check_size(primitive, params, axis_info)
        if params.get("axis_index_groups") is not None:
            return _by_groups(primitive, x, dim, axis_info, {"axis_name": axis_name, **params})
        return over(x, dim, axis_info.size, **params)

    batch.add(primitive, rule)


def _past_all_gather(dim: int, *, all_gather_dimension: int, tiled: bool, **_: object) -> tuple[dict[str, int], int]:
    if dim <= all_gather_dimension:
        return {"all_gather_dimension": all_gather_dimension + 1}, dim
    return {}, dim if tiled else dim + 1


def _past_reduce_scatter(dim: int, *, scatter_dimension: int, tiled: bool, **_: object) -> tuple[dict[str, int], int]:
    if dim <= scatter_dimension:
        return {"scatter_dimension": scatter_dimension + 1}, dim
    return {}, dim if tiled else dim - 1


def _past_all_to_all(dim: int, *, split_axis: int, concat_axis: int, **_: object) -> tuple[dict[str, int], int]:
    return {"split_axis": split_axis + (dim <= split_axis), "concat_axis": concat_axis + (dim <= concat_axis)}, dim


def _past_anything(dim: int, **_: object) -> tuple[dict[str, int], int]:
    return {}, dim


_exchange(p.all_gather_p, mapped.all_gather, several.all_gather, _past_all_gather)
_exchange(p.reduce_scatter_p, mapped.reduce_scatter, several.reduce_scatter, _past_reduce_scatter)
_exchange(p.all_to_all_p, mapped.all_to_all, several.all_to_all, _past_all_to_all)
_exchange(p.ppermute_p, mapped.ppermute, several.ppermute, _past_anything)
_exchange(p.pbroadcast_p, mapped.pbroadcast, several.pbroadcast, _past_anything)


@batch.rule(p.pvary_p)
def _pvary(args: Values, dims: Dims, *, axis_info: AxisInfo, axes: Sequence[tuple[Hashable, int]]) -> Mapped:
    """The axis that is a dimension now is not recorded in types."""
    others = tuple([pair for pair in axes if pair[0] != axis_info.name])
    return (p.pvary_p.bind(args[0], axes=others) if others else args[0]), dims[0]


@batch.rule(p.pinvary_p)
def _pinvary(args: Values, dims: Dims, *, axis_info: AxisInfo, axes: Axes) -> Mapped:
    """As for `pvary`."""
    others = tuple([name for name in axes if name != axis_info.name])
    return (p.pinvary_p.bind(args[0], axes=others) if others else args[0]), dims[0]


@batch.rule(p.axis_index_p)
def _axis_index(args: Values, dims: Dims, *, axis_info: AxisInfo, axis_name: Hashable) -> Mapped:
    if isinstance(axis_name, tuple) and len(axis_name) > 1:
        return _in_steps(lambda: several.axis_index(axis_name=axis_name), args, dims, axis_info)
    return iota(np.dtype(np.int32), axis_info.size), 0


@batch.rule(p.psum_to_p)
def _psum_to(args: Values, dims: Dims, *, axis_info: AxisInfo, axes: Axes) -> Mapped:
    (x, source, like), (dim, source_dim, like_dim) = args, dims
    others = tuple([name for name in axes if name != axis_info.name])
    if len(others) < len(axes):
        x, dim = mapped.sum_to(x, dim, source_dim, like_dim, axis_info.size)
    return (p.psum_to_p.bind(x, source, like, axes=others) if others else x), dim


@batch.rule(p.psum_back_p)
def _psum_back(args: Values, dims: Dims, *, axis_info: AxisInfo, axes: Axes) -> Mapped:
    """What is the same along an axis that is a dimension now has a cotangent that is summed over that anyway."""
    (x, like), (dim, _) = args, dims
    others = tuple([name for name in axes if name != axis_info.name])
    return (p.psum_back_p.bind(x, like, axes=others) if others else x), dim
