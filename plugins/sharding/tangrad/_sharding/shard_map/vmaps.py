"""A sharded map as nested `vmap`s over the axes of its mesh: how backends without devices of their own run it.

Each dimension that is cut becomes several, one for each axis and one for the part; the axes of the mesh go to the
front, and the program is mapped over one after the other. Collectives then are what they are under `vmap`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad.batching import AxisInfo, batch_jaxpr
from tangrad.core import Array, ClosedJaxpr, Sharding, as_operand, eval_jaxpr
from tangrad.extend.lax import index_in_dim, reshape_p, transpose_p

if TYPE_CHECKING:
    from tangrad.typing import Value


def as_vmaps(
    *args: Value,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_shardings: tuple[Sharding, ...],
    out_shardings: tuple[Sharding, ...],
    manual_axes: tuple[Any, ...],
    checked: bool,
) -> list[Array]:
    """The results of a sharded map of whole arrays."""
    sizes = mesh.shape
    inputs = [_axes_of(sharding, len(aval.shape)) for sharding, aval in zip(in_shardings, jaxpr.in_avals, strict=True)]
    outputs = [_axes_of(sharding, len(a.shape)) for sharding, a in zip(out_shardings, jaxpr.out_avals, strict=True)]
    program = jaxpr
    differs: list[list[Any]] = [[] for _ in outputs]
    with axes_in_scope(mesh, manual_axes):  # a collective over several axes is taken apart, with all of them at hand
        for axis in reversed(manual_axes):
            mapped = [_mentions(per_dimension, axis) for per_dimension in inputs]
            wanted = [_mentions(per_dimension, axis) for per_dimension in outputs]
            program, out_mapped = batch_jaxpr(program, mapped, AxisInfo(axis, sizes[axis]), wanted)
            for found, is_mapped in zip(differs, out_mapped, strict=True):
                if is_mapped:
                    found.insert(0, axis)
    values = [_axes_to_front(as_operand(x), cut, sizes, manual_axes) for x, cut in zip(args, inputs, strict=True)]
    outs = eval_jaxpr(program.jaxpr, program.consts, *values)
    return [
        _axes_into_dimensions(as_operand(out), cut, leading)
        for out, cut, leading in zip(outs, outputs, differs, strict=True)
    ]


def _axes_of(sharding: Sharding, ndim: int) -> tuple[tuple[Any, ...], ...]:
    return sharding.dimension_axes(ndim)


def _mentions(per_dimension: Any, axis: Any) -> bool:
    return any([axis in axes for axes in per_dimension])


def _axes_to_front(x: Value, cut: Any, sizes: Any, order: Any) -> Value:
    """A whole array with a dimension for each axis that cuts it, in the order of the axes, and then those of a part."""
    split: list[int] = []
    names: list[Any] = []
    for size, axes in zip(x.aval.shape, cut, strict=True):
        for axis in axes:
            split.append(sizes[axis])
            names.append(axis)
            size //= sizes[axis]
        split.append(size)
        names.append(None)
    leading = [names.index(axis) for axis in order if axis in names]
    rest = [position for position, name in enumerate(names) if name is None]
    return _transposed(_reshaped(x, tuple(split)), (*leading, *rest))


def _axes_into_dimensions(x: Value, cut: Any, leading: list[Any]) -> Any:
    """The opposite, of a result whose first dimensions are axes. Of one that is the same along an axis the first."""
    for axis in list(leading):
        if not _mentions(cut, axis):
            x = as_operand(index_in_dim(x, 0, leading.index(axis), keepdims=False))
            leading = [other for other in leading if other != axis]
    permutation, shape = [], []
    for number, axes in enumerate(cut):
        dimension = len(leading) + number
        size = x.aval.shape[dimension]
        for axis in axes:
            position = leading.index(axis)
            permutation.append(position)
            size *= x.aval.shape[position]
        permutation.append(dimension)
        shape.append(size)
    return _reshaped(_transposed(x, tuple(permutation)), tuple(shape))


def _reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return x if x.aval.shape == shape else reshape_p.bind(x, new_sizes=shape, dimensions=None)


def _transposed(x: Value, permutation: tuple[int, ...]) -> Value:
    return x if permutation == tuple(range(len(permutation))) else transpose_p.bind(x, permutation=permutation)
