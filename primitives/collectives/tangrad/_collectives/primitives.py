"""The collectives, and the types of their results.

`axes` and `axis_name` are tuples of names; in the `axes` of the reductions an integer is a dimension of the operand,
which is reduced as well. The names are those of axes that are mapped around the operation; of several axes the first
one varies slowest. The types in here are those of one example.

What still names an axis can only run where that axis is mapped: batch rules put dimensions in place of names. So the
decompositions, of which backends make lowerings, serve collectives whose names are all gone.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from tangrad._collectives.axes import Axes, axis_effects, names_among, positions_among, refuse_names
from tangrad.core import Primitive, PrimitiveSet, ShapedArray, literal
from tangrad.extend.lax import (
    ANY,
    NUMERIC,
    check_axes,
    check_dtype,
    full_like,
    reduce_max_p,
    reduce_min_p,
    reduce_sum_p,
    reshape_p,
)
from tangrad.typing import Dimensions, Value

collectives = PrimitiveSet("collectives", api=1)


def _without_names(aval: ShapedArray, axes: object) -> tuple[tuple[Hashable, int], ...]:
    """The named axes of a type less some: along these the result is the same everywhere."""
    names = names_among(axes)
    return tuple([pair for pair in aval.named_shape if pair[0] not in names])


def _resized(shape: Dimensions, dimension: int, size: int) -> tuple[int, ...]:
    return (*shape[:dimension], size, *shape[dimension + 1 :])


def _reshaped(x: Value, shape: Dimensions) -> Value:
    return x if x.aval.shape == shape else reshape_p.bind(x, new_sizes=shape, dimensions=None)


# --- reductions ---


def _reduction(name: str, reduce: Primitive, accepted: tuple[str, ...], documentation: str) -> Primitive:
    def abstract_eval(
        x: ShapedArray, *, axes: Axes, axis_index_groups: tuple[tuple[int, ...], ...] | None
    ) -> ShapedArray:
        check_dtype(name, x, accepted, "x")
        positions = positions_among(axes)
        check_axes(name, positions, x.ndim, "axes")
        if axis_index_groups is not None and positions:
            raise ValueError(f"{name}: axis_index_groups go with named axes only, got axes {axes}")
        shape = tuple([size for axis, size in enumerate(x.shape) if axis not in positions])
        named = x.named_shape if axis_index_groups is not None else _without_names(x, axes)
        return ShapedArray(shape, x.dtype, False, named)

    def alone(x: Value, *, axes: Axes, axis_index_groups: tuple[tuple[int, ...], ...] | None) -> Value:
        refuse_names(name, axes)
        return reduce.bind(x, axes=tuple(sorted(axes))) if axes else x

    abstract_eval.__doc__ = documentation
    return collectives.primitive(
        abstract_eval,
        name=name,
        weak_type="never",
        own_named_shape=True,
        effects=axis_effects("axes"),
        decompose=alone,
    )


psum_p = _reduction("psum", reduce_sum_p, NUMERIC, "The sum along mapped axes and dimensions, within each group.")
pmax_p = _reduction("pmax", reduce_max_p, ANY, "The greatest along mapped axes and dimensions, within each group.")
pmin_p = _reduction("pmin", reduce_min_p, ANY, "The least along mapped axes and dimensions, within each group.")


# --- gathering and scattering ---


def _alone_all_gather(x: Value, *, axis_name: Axes, all_gather_dimension: int, tiled: bool, **_: object) -> Value:
    refuse_names("all_gather", axis_name)
    shape, dimension = x.aval.shape, all_gather_dimension
    return x if tiled else _reshaped(x, (*shape[:dimension], 1, *shape[dimension:]))


@collectives.primitive(name="all_gather", effects=axis_effects("axis_name"), decompose=_alone_all_gather)
def all_gather_p(
    x: ShapedArray,
    *,
    axis_name: Axes,
    all_gather_dimension: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
    tiled: bool,
) -> ShapedArray:
    """The values of all examples, along a new dimension or, tiled, one after the other along one that is there."""
    limit = x.ndim if tiled else x.ndim + 1
    check_axes("all_gather", (all_gather_dimension,), limit, "all_gather_dimension")
    dimension, shape = all_gather_dimension, x.shape
    if tiled:
        shape = _resized(shape, dimension, shape[dimension] * axis_size)
    else:
        shape = (*shape[:dimension], axis_size, *shape[dimension:])
    return ShapedArray(shape, x.dtype, x.weak_type)


def _alone_reduce_scatter(x: Value, *, axis_name: Axes, scatter_dimension: int, tiled: bool, **_: object) -> Value:
    refuse_names("reduce_scatter", axis_name)
    shape, dimension = x.aval.shape, scatter_dimension
    return x if tiled else _reshaped(x, (*shape[:dimension], *shape[dimension + 1 :]))


@collectives.primitive(name="reduce_scatter", effects=axis_effects("axis_name"), decompose=_alone_reduce_scatter)
def reduce_scatter_p(
    x: ShapedArray,
    *,
    axis_name: Axes,
    scatter_dimension: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
    tiled: bool,
) -> ShapedArray:
    """The sum over all examples, of which each gets its part along a dimension: an element of it or, tiled, a slice."""
    check_dtype("reduce_scatter", x, NUMERIC, "x")
    check_axes("reduce_scatter", (scatter_dimension,), x.ndim, "scatter_dimension")
    dimension, shape = scatter_dimension, x.shape
    if not tiled:
        if shape[dimension] != axis_size:
            raise ValueError(
                f"psum_scatter: dimension {dimension} of x must have the size of the axes {axis_name}, {axis_size}, "
                f"got {x.str_short()}; with tiled=True it may be a multiple of it"
            )
        return ShapedArray((*shape[:dimension], *shape[dimension + 1 :]), x.dtype)
    _check_divisible("psum_scatter", x, dimension, axis_name, axis_size)
    return ShapedArray(_resized(shape, dimension, shape[dimension] // axis_size), x.dtype)


def _check_divisible(function: str, x: ShapedArray, dimension: int, axis_name: Axes, axis_size: int) -> None:
    if x.shape[dimension] % axis_size != 0:
        raise ValueError(
            f"{function}: dimension {dimension} of x must be divisible by the size of the axes {axis_name}, "
            f"{axis_size}, got {x.str_short()}"
        )


def _alone_all_to_all(x: object, *, axis_name: Axes, **_: object) -> object:
    refuse_names("all_to_all", axis_name)
    return x


@collectives.primitive(
    name="all_to_all", weak_type="never", effects=axis_effects("axis_name"), decompose=_alone_all_to_all
)
def all_to_all_p(
    x: ShapedArray,
    *,
    axis_name: Axes,
    split_axis: int,
    concat_axis: int,
    axis_index_groups: tuple[tuple[int, ...], ...] | None,
    axis_size: int,
) -> ShapedArray:
    """Each example's slices along `split_axis` go to one example each, which joins them along `concat_axis`."""
    check_axes("all_to_all", (split_axis,), x.ndim, "split_axis")
    check_axes("all_to_all", (concat_axis,), x.ndim, "concat_axis")
    _check_divisible("all_to_all", x, split_axis, axis_name, axis_size)
    shape = _resized(x.shape, split_axis, x.shape[split_axis] // axis_size)
    return ShapedArray(_resized(shape, concat_axis, shape[concat_axis] * axis_size), x.dtype)


# --- exchanges ---


def _alone_ppermute(x: object, *, axis_name: Axes, perm: tuple[tuple[int, int], ...]) -> object:
    refuse_names("ppermute", axis_name)
    return x if perm else full_like(x, 0)


@collectives.primitive(name="ppermute", effects=axis_effects("axis_name"), decompose=_alone_ppermute)
def ppermute_p(x: ShapedArray, *, axis_name: Axes, perm: tuple[tuple[int, int], ...]) -> ShapedArray:
    """The value of the example that `perm`, pairs of a source and a destination, sends here; zeros where none does."""
    return x


def _alone_pbroadcast(x: object, *, axis_name: Axes, source: int) -> object:
    refuse_names("pbroadcast", axis_name)
    return x


@collectives.primitive(
    name="pbroadcast", own_named_shape=True, effects=axis_effects("axis_name"), decompose=_alone_pbroadcast
)
def pbroadcast_p(x: ShapedArray, *, axis_name: Axes, source: int) -> ShapedArray:
    """The value of the example with index `source`, everywhere."""
    return x.update(named_shape=_without_names(x, axis_name))


def _alone_axis_index(*, axis_name: Hashable) -> Value:
    refuse_names("axis_index", axis_name)
    return literal(0, np.dtype(np.int32), False)


@collectives.primitive(name="axis_index", effects=axis_effects("axis_name"), decompose=_alone_axis_index)
def axis_index_p(*, axis_name: Hashable) -> ShapedArray:
    """The index of the example along a mapped axis, or along several, the first one varying slowest."""
    return ShapedArray((), np.dtype(np.int32))


@collectives.primitive(name="pvary", own_named_shape=True, decompose=lambda x, axes: x)
def pvary_p(x: ShapedArray, *, axes: tuple[tuple[object, int], ...]) -> ShapedArray:
    """`x` itself, of a type that records that it differs along `axes`, pairs of a name and a size."""
    return x.update(named_shape={**dict(x.named_shape), **dict(axes)})


@collectives.primitive(name="pinvary", own_named_shape=True, decompose=lambda x, axes: x)
def pinvary_p(x: ShapedArray, *, axes: Axes) -> ShapedArray:
    """`x` itself, which is the same along `axes`, of a type that does not record that it differs along them."""
    return x.update(named_shape=_without_names(x, axes))


# --- sums for gradients, of what is the same along an axis ---


def _alone_psum_to(x: object, source: object, like: object, *, axes: Axes) -> object:
    refuse_names("psum_to", axes)
    return x


@collectives.primitive(
    name="psum_to", weak_type="own", own_named_shape=True, effects=axis_effects("axes"), decompose=_alone_psum_to
)
def psum_to_p(x: ShapedArray, source: ShapedArray, like: ShapedArray, *, axes: Axes) -> ShapedArray:
    """The sum of `x` over those of the axes along which `source` differs and `like` is the same.

    Where `like` differs the result counts as one that differs. Only who maps an axis knows what differs along it: so it
    depends on how the operation is mapped, not on values. Of `source` and `like` nothing else counts.
    """
    check_dtype("psum_to", x, NUMERIC, "x")
    return x


def _alone_psum_back(x: object, like: object, *, axes: Axes) -> object:
    refuse_names("psum_back", axes)
    return x


@collectives.primitive(
    name="psum_back", weak_type="own", own_named_shape=True, effects=axis_effects("axes"), decompose=_alone_psum_back
)
def psum_back_p(x: ShapedArray, like: ShapedArray, *, axes: Axes) -> ShapedArray:
    """`x`, the tangent of `like`; its cotangents are summed over the axes along which they differ and `like` does not.

    So are derivatives taken with `reduce_axes`.
    """
    check_dtype("psum_back", x, NUMERIC, "x")
    return x
