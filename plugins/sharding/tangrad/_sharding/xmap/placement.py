"""A mapped program as what it comes down to: dimensions, loops and constraints, or what each device of a mesh runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._sharding.xmap.indices import with_given_indices
from tangrad._sharding.xmap.levels import Axis, Mapping, Places, placed
from tangrad._sharding.xmap.resources import REPLICATED, SPMD, Assigned
from tangrad._sharding.xmap.specs import Positions
from tangrad.core import ClosedJaxpr, ShapedArray, as_operand
from tangrad.extend.collectives import Substitution, all_gather, axis_index, psum, subst_axis_names
from tangrad.extend.lax import dynamic_slice_in_dim
from tangrad.extend.sharding import NamedSharding, PartitionSpec, shard_map

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


def _spec(positions: object, aval: ShapedArray, axes: dict[Any, Axis]) -> PartitionSpec:
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


def evaluate_mapped(
    args: Sequence[Value],
    *,
    jaxpr: ClosedJaxpr,
    name: str,
    in_axes: tuple[Positions, ...],
    out_axes: tuple[Positions, ...],
    sums: tuple[tuple[Any, ...], ...],
    sizes: tuple[tuple[Any, Any], ...],
    resources: tuple[tuple[Any, Assigned], ...],
    sharding: Any,
    lowering: str,
) -> list[Value]:
    """The results of a mapped program: by operations on whole arrays, those of `vmap` for each axis, or on parts."""
    known, assigned = dict(sizes), dict(resources)
    mesh = None if sharding is None else sharding.mesh
    looped = tuple([axis for axis, one in resources if one.loop > 1])
    program, indices = with_given_indices(jaxpr, looped, known)
    axes = [_axis(axis, size, assigned.get(axis, Assigned()), mesh) for axis, size in sizes]
    axes.sort(key=lambda axis: axis.loop == 1)  # loops outside: a chunk of one is all that the others see
    mapping = Mapping(program, axes, sums)
    values = [*[as_operand(arg) for arg in args], *[value for _, value in indices]]
    places = [*[dict(positions) for positions in in_axes], *[{axis: 0} for axis, _ in indices]]
    if mesh is not None and lowering != SPMD:
        return run_on_parts(mapping, values, places, out_axes, mesh, lowering == REPLICATED)
    sharded = [_constrained(value, place.items(), assigned, mesh) for value, place in zip(values, places, strict=True)]
    outs, found = mapping.run(sharded, places)
    return [
        _constrained(placed(out, place, wanted, known), wanted, assigned, mesh)
        for out, place, wanted in zip(outs, found, out_axes, strict=True)
    ]


def _axis(name: str, size: Any, assigned: Assigned, mesh: Any) -> Axis:
    parts = 1
    for axis in assigned.mesh_axes:
        parts *= mesh.shape[axis]
    return Axis(name, size, assigned.mesh_axes, parts, assigned.loop)


def partition_of(positions: Any, ndim: int, assigned: dict[Any, Assigned]) -> PartitionSpec:
    """Over which mesh axes the dimensions of an array with these named axes are cut."""
    entries: list[Any] = [None] * ndim
    for name, position in positions:
        entries[position] = assigned.get(name, Assigned()).mesh_axes
    return PartitionSpec(*entries)


def _constrained(value: Value, positions: Any, assigned: dict[Any, Assigned], mesh: Any) -> Value:
    """A value whose named axes are constrained to devices; other dimensions are its choice."""
    if mesh is None or not any([assigned.get(name, Assigned()).mesh_axes for name, _ in positions]):
        return value
    spec = partition_of(positions, len(value.aval.shape), assigned)
    named = {position for _, position in positions}
    entries = [entry if position in named else PartitionSpec.UNCONSTRAINED for position, entry in enumerate(spec)]
    return NamedSharding(mesh, PartitionSpec(*entries)).constrain(value)
