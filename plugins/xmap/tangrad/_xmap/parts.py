"""Mapped programs as what each device of a mesh runs: the program of its parts, with explicit collectives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._xmap.levels import Axis, Mapping, Places, placed
from tangrad._xmap.specs import Positions
from tangrad.core import ShapedArray, as_operand
from tangrad.extend.collectives import Substitution, all_gather, axis_index, psum, subst_axis_names
from tangrad.extend.lax import dynamic_slice_in_dim
from tangrad.extend.sharding import PartitionSpec, shard_map

if TYPE_CHECKING:
    from tangrad.typing import Value


class Local:
    """The name of a device's own part of an axis."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Local) and self.name == other.name

    def __hash__(self) -> int:
        return hash((Local, self.name))

    def __repr__(self) -> str:
        return f"part of {self.name!r}"


def run_on_parts(
    mapping: Mapping,
    values: Sequence[Value],
    places: Sequence[Places],
    out_axes: Sequence[Positions],
    mesh: Any,
    replicated: bool,
) -> list[Value]:
    """The results of a mapped program, by a map over the mesh axes that its axes are sharded over.

    Args:
        replicated: whether the devices get whole arguments and gather the results, or are given parts.
    """
    axes = {axis.name: axis for axis in mapping.axes}
    local = _local_mapping(mapping)
    ins = [_spec(place.items(), as_operand(value).aval, axes) for value, place in zip(values, places, strict=True)]

    def on_device(*given: Value) -> list[Value]:
        parts = given
        if replicated:
            parts = tuple([_own_part(value, place, axes) for value, place in zip(given, places, strict=True)])
        outs, found = local.run(
            [as_operand(part) for part in parts], [{Local(name): at for name, at in place.items()} for place in places]
        )
        results = []
        for out, place, wanted, sums in zip(outs, found, out_axes, mapping.sums, strict=True):
            total = [mesh_axis for name in sums for mesh_axis in axes[name].mesh_axes]
            out = psum(out, tuple(total)) if total else out
            sizes = {axis.name: axis.size for axis in local.axes}
            result = placed(out, place, tuple([(Local(name), at) for name, at in wanted]), sizes)
            results.append(_gathered(result, wanted, axes) if replicated else result)
        return results

    ranks = [len(aval.shape) + len(wanted) for aval, wanted in zip(mapping.program.out_avals, out_axes, strict=True)]
    outs = [PartitionSpec(*_entries(wanted, rank, axes)) for wanted, rank in zip(out_axes, ranks, strict=True)]
    whole = PartitionSpec()
    mapped = shard_map(
        on_device,
        mesh=mesh,
        in_specs=tuple([whole if replicated else spec for spec in ins]),
        out_specs=[whole if replicated else spec for spec in outs],
        axis_names={mesh_axis for axis in mapping.axes for mesh_axis in axis.mesh_axes},
        check_vma=False,
    )
    return [as_operand(out) for out in mapped(*values)]


def _local_mapping(mapping: Mapping) -> Mapping:
    """The program over the parts of one device: each axis is the mesh axes that cut it, and what is left of it."""
    names = {axis.name: (*axis.mesh_axes, Local(axis.name)) for axis in mapping.axes}
    axes = [Axis(Local(axis.name), axis.size // axis.parts, loop=axis.loop) for axis in mapping.axes]
    sums = tuple([tuple([Local(name) for name in one]) for one in mapping.sums])
    sizes = {axis.name: axis.size for axis in axes}
    return Mapping(subst_axis_names(mapping.program, Substitution(names, sizes)), axes, sums)


def _entries(positions: Any, ndim: int, axes: dict[Any, Axis]) -> list[Any]:
    entries: list[Any] = [None] * ndim
    for name, position in positions:
        entries[position] = axes[name].mesh_axes
    return entries


def _spec(positions: Any, aval: ShapedArray, axes: dict[Any, Axis]) -> PartitionSpec:
    return PartitionSpec(*_entries(positions, len(aval.shape), axes))


def _own_part(value: Value, place: Places, axes: dict[Any, Axis]) -> Value:
    """This device's part of a whole array."""
    for name, position in place.items():
        axis = axes[name]
        if axis.mesh_axes:
            share = axis.size // axis.parts
            value = dynamic_slice_in_dim(value, axis_index(axis.mesh_axes) * share, share, position)
    return value


def _gathered(value: Value, wanted: Positions, axes: dict[Any, Axis]) -> Value:
    """The whole array of which each device has a part."""
    for name, position in wanted:
        if axes[name].parts > 1:
            value = all_gather(value, axes[name].mesh_axes, axis=position, tiled=True)
    return value
