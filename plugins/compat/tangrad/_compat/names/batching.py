"""`jax.interpreters.batching`: primitives along mapped axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._compat.primitives import Primitive
from tangrad._compat.primitives import axis_primitive_batchers as axis_primitive_batchers
from tangrad._compat.primitives import fancy_primitive_batchers as fancy_primitive_batchers
from tangrad._compat.primitives import primitive_batchers as primitive_batchers
from tangrad.batching import BatchTracer as BatchTracer
from tangrad.batching import broadcast_axis, match_axes, move_axis
from tangrad.batching import register_vmappable as register_vmappable
from tangrad.batching import vmappables as vmappables
from tangrad.typing import Value

if TYPE_CHECKING:
    from tangrad.typing import Dims, Values


not_mapped = None
NotMapped = type(None)


def moveaxis(x: Value, source: int, destination: int) -> Value:
    """`x` with its mapped axis elsewhere."""
    return move_axis(x, source, destination)


def bdim_at_front(x: Value, dim: int | None, size: int) -> Value:
    """`x` with the mapped axis first, repeated where it has none."""
    return broadcast_axis(x, size, 0) if dim is None else move_axis(x, dim, 0)


def broadcast(x: object, size: int, axis: int, mesh_axis: object = None) -> Value:
    """`x`, which is not mapped, repeated along a new axis."""
    return broadcast_axis(x, size, axis)


def defbroadcasting(primitive: Primitive) -> None:
    """Say that a primitive acts element by element on operands that broadcast to one shape."""

    def rule(args: Values, dims: Dims, **params: object) -> tuple[Value | Values, Dims | int | None]:
        size = next(arg.shape[dim] for arg, dim in zip(args, dims, strict=True) if dim is not None)
        operands, dim = match_axes(args, dims, size)
        out = primitive.bind(*operands, **params)
        return (out, (dim,) * len(out)) if primitive.multiple_results else (out, dim)

    primitive_batchers[primitive] = rule


defvectorized = defbroadcasting


def is_vmappable(value: object) -> bool:
    """Whether `vmap` takes values of this class, as registered by `register_vmappable`."""
    return type(value) in vmappables


def unregister_vmappable(data_type: type) -> None:
    """Do nothing, as in jax."""


def defreducer(primitive: Primitive, identity: object = None) -> None:
    """Say that a primitive reduces along `axes`, its parameter, which are counted anew where its operand is mapped."""

    def rule(
        args: Values, dims: Dims, *, axes: Sequence[int], **params: object
    ) -> tuple[Value | Values, Dims | int | None]:
        (x,), (dim,) = args, dims
        others = [axis for axis in range(x.ndim) if axis != dim]
        reduced = tuple([others[axis] for axis in axes])
        out = primitive.bind(x, axes=reduced, **params)
        place = sum([axis < dim for axis in others if axis not in reduced]) if dim is not None else None
        return (out, (place,) * len(out)) if primitive.multiple_results else (out, place)

    primitive_batchers[primitive] = rule
