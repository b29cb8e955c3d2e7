"""Mapped axes: the arithmetic on them, what is known of one, and how values get one where a rule wants it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.core import PrimitiveSet, ShapedArray, as_operand, rule_table

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, Value


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


BATCH = rule_table("batch")


class AxisInfo:
    """The axis that a `vmap` maps over.

    Attributes:
        name: its name for collectives, or None.
        size: its size.
        spmd_name: the mesh axis (or axes) that it is sharded over, or None.
        rules: primitive -> who maps it along the axis.
    """

    __slots__ = ("name", "size", "spmd_name")
    rules: Any = BATCH

    def __init__(self, name: Any, size: Any, spmd_name: Any = None) -> None:
        self.name = name
        self.size = size
        self.spmd_name = spmd_name

    @property
    def in_scope(self) -> tuple[Any, Any]:
        """The name, and the size that a function of one example sees."""
        return self.name, self.size

    def place(self, value: object, dim: int | None, destination: int) -> Any:
        """`value` with its mapped axis at `destination`; repeated along one there if it has none."""
        return place_axis(value, dim, destination, self.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AxisInfo) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.size, self.spmd_name

    def __repr__(self) -> str:
        return f"vmap over an axis of size {self.size}" + (f" named {self.name!r}" if self.name is not None else "")


def move_axis(value: Any, source: int, destination: int) -> Value:
    """`value` with one axis moved."""
    return value if source == destination else move_axis_p.bind(value, source=source, destination=destination)


def broadcast_axis(value: object, size: object, position: int) -> Value:
    """`value` repeated along a new axis at `position`."""
    operand = as_operand(value)
    shape = operand.aval.shape
    positions = tuple([axis if axis < position else axis + 1 for axis in range(len(shape))])
    return broadcast_axis_p.bind(operand, shape=(*shape[:position], size, *shape[position:]), positions=positions)


def place_axis(value: Any, dim: int | None, destination: int, size: Any) -> Value:
    """`value` with its mapped axis at `destination`; repeated along one there if it has none."""
    if dim is None:
        return broadcast_axis(value, size, destination)
    return move_axis(value, dim, destination)


def to_front(value: Value, dim: int | None) -> Value:
    """`value` with its mapped axis, if it has one, in front."""
    return value if dim is None else move_axis(value, dim, 0)
