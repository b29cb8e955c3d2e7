"""The little arithmetic that batching itself needs: moving, adding and summing axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Dimensions

batching = PrimitiveSet("batching", api=1)


@batching.primitive(name="move_axis")
def move_axis_p(x: ShapedArray, *, source: int, destination: int) -> ShapedArray:
    """`x` with one axis moved to another position."""
    if not (0 <= source < x.ndim and 0 <= destination < x.ndim):
        raise ValueError(f"move_axis: no axes {source} and {destination} in {x.str_short()}")
    shape = list(x.shape)
    shape.insert(destination, shape.pop(source))
    return ShapedArray(tuple(shape), x.dtype)


@batching.primitive(name="broadcast_axis")
def broadcast_axis_p(x: ShapedArray, *, shape: Dimensions, positions: tuple[int, ...]) -> ShapedArray:
    """`x` repeated along new axes: its own axes stand at `positions` of the new shape."""
    if len(positions) != x.ndim or tuple([shape[position] for position in positions]) != x.shape:
        raise ValueError(f"broadcast_axis: {x.str_short()} does not have the sizes of {shape} at positions {positions}")
    return ShapedArray(shape, x.dtype)


@batching.primitive(name="sum_axes")
def sum_axes_p(x: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
    """The sum over some axes."""
    if any(not 0 <= axis < x.ndim for axis in axes):
        raise ValueError(f"sum_axes: no axes {axes} in {x.str_short()}")
    return ShapedArray(tuple([size for axis, size in enumerate(x.shape) if axis not in axes]), x.dtype)
