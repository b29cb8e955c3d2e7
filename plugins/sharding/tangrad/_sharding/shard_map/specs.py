"""Specs of arguments and results: read, checked, and what they make of the shapes of whole arrays and of parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad.core import ShapedArray


def as_named(mesh: Mesh, spec: Any, what: str, manual: Sequence[Any]) -> NamedSharding:
    """A spec as a sharding. Raises TypeError for what is no spec, ValueError for axes that are not mapped here."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(f"shard_map: {what} must be partition specs, or trees of them, got {spec!r}")
    sharding = NamedSharding(mesh, spec)
    for axis in mentioned(sharding):
        if axis not in manual:
            raise ValueError(
                f"shard_map: {what} has {spec}, which names the axis {axis!r}, and axis_names are {manual}"
            )
    return sharding


def as_types_say(mesh: Mesh, manual: Sequence[Any], operands: Sequence[Any], within: bool) -> list[PartitionSpec]:
    """For each operand the spec that its type records.

    Raises TypeError where types do not record every axis that is mapped over: along axes that are not Explicit, and
    `within` another map.
    """
    others = manual if within else [axis for axis in manual if axis not in mesh.explicit_axes]
    if others:
        where = "within another map types do not record" if within else "types record Explicit axes only, not"
        raise TypeError(
            "shard_map needs in_specs, partition specs or trees of them: without them arguments are cut as their types "
            f"say, and {where} {others[0]!r} of {mesh}"
        )
    found = []
    for operand in operands:
        sharding = operand.aval.sharding
        cuts = () if sharding.is_unspecified else sharding.dimension_axes(operand.aval.ndim)
        found.append(PartitionSpec(*[tuple([axis for axis in axes if axis in manual]) for axes in cuts]))
    return found


def mentioned(sharding: NamedSharding) -> tuple[Any, ...]:
    """The axes that a sharding cuts dimensions along."""
    return tuple([axis for axes in sharding.dimension_axes(max(len(sharding.spec), 1)) for axis in axes])


def part_aval(aval: Any, sharding: NamedSharding) -> ShapedArray:
    """The type of a part."""
    return aval.plain.update(shape=sharding.shard_shape(aval.shape))


def differing_part(aval: ShapedArray, sharding: NamedSharding) -> ShapedArray:
    """The type of a part that records along which axes parts differ."""
    sizes = sharding.mesh.shape
    part = part_aval(aval, sharding)
    return part.update(named_shape={**dict(part.named_shape), **{axis: sizes[axis] for axis in mentioned(sharding)}})


def whole_aval(aval: ShapedArray, sharding: NamedSharding, manual: Sequence[Any]) -> ShapedArray:
    """The type of the array of which `aval` is a part; it records nothing of the axes that are mapped here."""
    counts = sharding.tiles(len(aval.shape))
    whole = aval.plain.update(
        shape=tuple([size * count for size, count in zip(aval.shape, counts, strict=True)]),
        named_shape=tuple([pair for pair in aval.named_shape if pair[0] not in manual]),
    )
    return sharding.type_of(whole)


def size_along(mesh: Mesh, axes: Sequence[Any]) -> int:
    """The product of the sizes of axes."""
    return math.prod([mesh.shape[axis] for axis in axes])


def with_leading(sharding: NamedSharding, entry: Any) -> NamedSharding:
    """The sharding of arrays with one more dimension in front, cut along the axes of `entry`."""
    return NamedSharding(sharding.mesh, PartitionSpec(entry, *sharding.spec))


def uncut(mesh: Mesh) -> NamedSharding:
    """The sharding of arrays that every device has whole."""
    return NamedSharding(mesh, PartitionSpec())


def over_all(mesh: Mesh, axes: Sequence[Any]) -> NamedSharding:
    """The sharding of stacked values, one for each place along the axes."""
    return NamedSharding(mesh, PartitionSpec(tuple(axes)))
