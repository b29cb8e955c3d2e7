"""A mapped program as what it comes down to: dimensions in place of axes, loops, and constraints where values lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.batching import place_axis
from tangrad.core import as_operand
from tangrad.lax.structure.primitives import transpose_p
from tangrad.shardings.named import NamedSharding, PartitionSpec
from tangrad.xmapping.indices import with_given_indices
from tangrad.xmapping.levels import Axis, Mapping
from tangrad.xmapping.resources import Assigned
from tangrad.xmapping.specs import Positions


def evaluate_mapped(
    args: Sequence[Any],
    *,
    jaxpr: Any,
    name: str,
    in_axes: tuple[Positions, ...],
    out_axes: tuple[Positions, ...],
    sums: tuple[tuple[Any, ...], ...],
    sizes: tuple[tuple[Any, Any], ...],
    resources: tuple[tuple[Any, Assigned], ...],
    mesh: Any,
) -> list[Any]:
    """The results of a mapped program, by operations on whole arrays: those of `vmap`, one for each axis.

    Raises RuntimeError for a result that varies along an axis which it does not have.
    """
    known, assigned = dict(sizes), dict(resources)
    values = [_laid(as_operand(arg), positions, assigned, mesh) for arg, positions in zip(args, in_axes, strict=True)]
    places = [dict(positions) for positions in in_axes]
    looped = tuple([axis for axis, one in resources if one.loop > 1])
    program, indices = with_given_indices(jaxpr, looped, known)
    axes = [_axis(axis, size, assigned.get(axis, Assigned()), mesh) for axis, size in sizes]
    axes.sort(key=lambda axis: axis.loop == 1)  # loops outside: a chunk of one is all that the others see
    mapping = Mapping(program, axes, sums)
    outs, found = mapping.run([*values, *[value for _, value in indices]], [*places, *[{axis: 0} for axis, _ in indices]])
    return [
        _laid(_placed(out, place, wanted, known, name), wanted, assigned, mesh)
        for out, place, wanted in zip(outs, found, out_axes, strict=True)
    ]


def _axis(name: Any, size: Any, assigned: Assigned, mesh: Any) -> Axis:
    parts = 1
    for axis in assigned.mesh_axes:
        parts *= mesh.shape[axis]
    return Axis(name, size, assigned.mesh_axes, parts, assigned.loop)


def _placed(out: Any, place: dict[Any, int], wanted: Positions, sizes: dict[Any, Any], name: str) -> Any:
    """A result with its named axes where they are to be."""
    missing = place.keys() - {axis for axis, _ in wanted}
    if missing:
        raise RuntimeError(f"xmap: a result of {name!r} varies along axes that it has no dimensions for: {missing}")
    value, place = as_operand(out), dict(place)
    for axis, _ in wanted:
        if axis not in place:
            value = place_axis(value, None, 0, sizes[axis])
            place = {axis: 0, **{other: at + 1 for other, at in place.items()}}
    ndim, target = len(value.aval.shape), dict([(position, axis) for axis, position in wanted])
    others = iter([at for at in range(ndim) if at not in place.values()])
    order = tuple([place[target[position]] if position in target else next(others) for position in range(ndim)])
    return value if order == tuple(range(ndim)) else transpose_p.bind(value, permutation=order)


def partition_of(positions: Positions, ndim: int, assigned: dict[Any, Assigned]) -> PartitionSpec:
    """Over which mesh axes the dimensions of an array with these named axes are cut."""
    entries: list[Any] = [None] * ndim
    for name, position in positions:
        entries[position] = assigned.get(name, Assigned()).mesh_axes
    return PartitionSpec(*entries)


def _laid(value: Any, positions: Positions, assigned: dict[Any, Assigned], mesh: Any) -> Any:
    """A value of which the compiler is told on which devices its named axes are. The other dimensions are its choice."""
    if mesh is None or not any([assigned.get(name, Assigned()).mesh_axes for name, _ in positions]):
        return value
    spec = partition_of(positions, len(value.aval.shape), assigned)
    named = {position for _, position in positions}
    entries = [entry if position in named else PartitionSpec.UNCONSTRAINED for position, entry in enumerate(spec)]
    return NamedSharding(mesh, PartitionSpec(*entries)).constrain(value)
