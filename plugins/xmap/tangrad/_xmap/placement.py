"""A mapped program as what it comes down to: dimensions in place of axes, loops, and sharding constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tangrad._xmap.indices import with_given_indices
from tangrad._xmap.levels import Axis, Mapping, placed
from tangrad._xmap.lowering import REPLICATED, SPMD
from tangrad._xmap.parts import run_on_parts
from tangrad._xmap.resources import Assigned
from tangrad._xmap.specs import Positions
from tangrad.core import ClosedJaxpr, as_operand
from tangrad.extend.sharding import NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad.typing import Value


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
