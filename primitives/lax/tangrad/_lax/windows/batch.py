"""How convolutions and reductions over windows act on mapped axes.

A mapped axis of a convolution's input joins its batch, one of the kernel its output features; where both are mapped,
each pair becomes a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad._lax.windows import primitives as p
from tangrad._lax.windows.dimensions import join_axis, split_axis
from tangrad.batching import AxisInfo, batch_flat, place_axis
from tangrad.core import Array, Literal, Primitive, RuleSet, ShapedArray, literal
from tangrad.typing import Dims, Params, Value, Values

if TYPE_CHECKING:
    from tangrad.core.protocols import BatchRule

batch = RuleSet("batch", api=1)

_NEUTRAL: dict[str, object] = {"padding": (0, 0)}  # of a dimension that is not reduced; 1 for all other parameters


# --- convolution ---


@batch.rule(p.conv_general_dilated_p)
def _conv_general_dilated(
    args: Values, dims: tuple[Any, ...], *, axis_info: AxisInfo, **params: Any
) -> tuple[Value, int | None]:
    (lhs, rhs), (lhs_dim, rhs_dim) = args, dims
    if axis_info.size == 0:
        return _without_examples(args, dims, params), 0
    out_spec = params["dimension_numbers"].out_spec
    if lhs_dim is not None and rhs_dim is not None:
        out = _pairwise(lhs, rhs, lhs_dim, rhs_dim, axis_info.size, params)
        return split_axis(out, out_spec[1], axis_info.size), out_spec[1]
    if lhs_dim is not None:
        out = p.conv_general_dilated_p.bind(_into_batch(lhs, lhs_dim, params), rhs, **params)
        return split_axis(out, out_spec[0], axis_info.size), out_spec[0]
    return _kernels(lhs, rhs, rhs_dim, axis_info.size, params)


def _without_examples(args: tuple[Array | Literal, ...], dims: Dims, params: Params) -> Array:
    """The result of mapping over nothing."""
    shapes = [
        arg.aval.shape if dim is None else (*arg.aval.shape[:dim], *arg.aval.shape[dim + 1 :])
        for arg, dim in zip(args, dims)
    ]
    avals = tuple([ShapedArray(shape, arg.aval.dtype) for shape, arg in zip(shapes, args)])
    out = p.conv_general_dilated_p.infer(avals, params)
    return broadcast_in_dim_p.bind(literal(0, out.dtype), shape=(0, *out.shape), broadcast_dimensions=())


def _pairwise(lhs: Value, rhs: Value, lhs_dim: int, rhs_dim: int, size: int, params: Params) -> Array:
    lhs_spec, rhs_spec, _ = params["dimension_numbers"]
    name, target = ("batch_group_count", 0) if params["batch_group_count"] > 1 else ("feature_group_count", 1)
    return p.conv_general_dilated_p.bind(
        join_axis(lhs, lhs_dim, lhs_spec[target]),
        join_axis(rhs, rhs_dim, rhs_spec[0]),
        **{**params, name: params[name] * size},
    )


def _into_batch(lhs: Value, dim: int, params: Params) -> Array:
    """A mapped axis joined to the batch; behind its groups, if it has any."""
    target, groups = params["dimension_numbers"].lhs_spec[0], params["batch_group_count"]
    return join_axis(lhs, dim, target) if groups == 1 else _behind_groups(lhs, dim, target, groups)


def _behind_groups(value: Value, dim: int, target: int, groups: int) -> Array:
    """A mapped axis joined to dimension `target` (counted without it) between its groups and what is in a group."""
    value = split_axis(value, target + (dim <= target), groups)
    value = join_axis(value, dim + (target < dim), target + 1)
    return join_axis(value, target, target)


def _kernels(lhs: Value, rhs: Value, dim: int, size: int, params: Params) -> tuple[Array, int]:
    _, rhs_spec, out_spec = params["dimension_numbers"]
    groups = max(params["feature_group_count"], params["batch_group_count"])
    position = out_spec[1]
    if groups == 1:
        out = p.conv_general_dilated_p.bind(lhs, join_axis(rhs, dim, rhs_spec[0]), **params)
        return split_axis(out, position, size), position
    out = p.conv_general_dilated_p.bind(lhs, _behind_groups(rhs, dim, rhs_spec[0], groups), **params)
    # The output features are (groups, mapped axis, features of a group).
    out = split_axis(split_axis(out, position, groups), position + 1, size)
    return join_axis(out, position, position + 1), position


# --- reductions over windows ---


def _with_dimension(params: Params, dim: int) -> dict[str, object]:
    """The parameters with an entry for a dimension that is not reduced."""
    return {
        name: (*value[:dim], _NEUTRAL.get(name, 1), *value[dim:]) if type(value) is tuple else value
        for name, value in params.items()
    }


def _reduction(primitive: Primitive) -> BatchRule:
    def rule(args: Values, dims: tuple[Any, ...], *, axis_info: AxisInfo, **params: object) -> tuple[object, object]:
        return primitive.bind(args[0], **_with_dimension(params, dims[0])), dims[0]

    return rule


batch.table({each: _reduction(each) for each in (p.reduce_window_sum_p, p.reduce_window_max_p, p.reduce_window_min_p)})


def _selection(primitive: Primitive) -> BatchRule:
    def rule(args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object) -> tuple[object, object]:
        operands = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args, dims)]
        return primitive.bind(*operands, **_with_dimension(params, 0)), 0

    return rule


batch.table({each: _selection(each) for each in (p.select_and_gather_add_p, p.select_and_scatter_add_p)})


@batch.rule(p.reduce_window_p)
def _reduce_window(
    args: Values, dims: Dims, *, axis_info: AxisInfo, **params: object
) -> tuple[Sequence[Value], Sequence[int | None]]:
    count = len(args) // 2
    if any([dim is not None for dim in dims[count:]]):
        # One initial value for each example: no single reduction has that, but its decomposition does.
        decompose: Any = p.reduce_window_p.decompose

        def decomposed(*values: object) -> Any:
            return decompose(*values, **params)

        outs, out_dims = batch_flat(decomposed, args, dims, axis_info)
        return tuple(outs), tuple(out_dims)
    operands = [place_axis(arg, dim, 0, axis_info.size) for arg, dim in zip(args[:count], dims)]
    return p.reduce_window_p.bind(*operands, *args[count:], **_with_dimension(params, 0)), (0,) * count
