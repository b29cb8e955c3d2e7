"""The axes of meshes that are in scope while functions are traced, and the specs of arguments over them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from tangrad import tree
from tangrad._sharding.manual_types import NOTHING, Combining, UnreducedKind, of_type, varying
from tangrad._sharding.mesh import AxisType
from tangrad._sharding.mesh import mesh_in_use as in_use
from tangrad._sharding.primitives import combined_axes
from tangrad._sharding.shard_map.replication import fitted
from tangrad.batching import AxisInfo
from tangrad.core import Array, Literal, Primitive, RuleTrace, as_operand, axes_of_effects, holding, thread
from tangrad.extend.collectives import differing, psum_p
from tangrad.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec, get_mesh

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr, ShapedArray
    from tangrad.typing import Params, Value


class _Around(threading.local):
    """The sharded maps that a thread is tracing in: (mesh, axes)."""

    maps: tuple[tuple[Mesh, tuple[Hashable, ...]], ...] = ()


_around = _Around()
_SUMS = (None, UnreducedKind.sum)


class _TypedAxes:
    """The axes that types record while a function is traced for maps that check replication."""

    __slots__ = ("names",)

    def __init__(self, names: tuple[Hashable, ...]) -> None:
        self.names = names

    def without(self, names: Sequence[object]) -> _TypedAxes:
        """The same for the others of these axes."""
        return _TypedAxes(tuple([name for name in self.names if name not in names])) if names else self

    def total(self, value: Value, names: tuple[Hashable, ...]) -> Array:
        """The sum of a value over axes along which it differs."""
        return psum_p.bind(value, axes=names, axis_index_groups=None)

    def marked(self, value: Value, names: tuple[Hashable, ...]) -> Value:
        """A value as one that differs along axes."""
        return differing(value, names)

    def relations(self, aval: ShapedArray, names: Sequence[Hashable]) -> list[str]:
        """How values of a type are related along each of some axes that types record."""
        how, differing = of_type(aval), varying(aval)
        kinds = (("varying", differing), ("unreduced", how.unreduced), ("reduced", how.reduced))
        known = [[kind for kind, axes in kinds if name in axes] for name in names if name in self.names]
        return [found[0] if found else "invarying" for found in known]

    def recast(self, value: Value, names: Sequence[Hashable], to: str) -> Value:
        """A value whose parts are to be combined along axes, or were: `to` is "varying", "unreduced" or "reduced"."""
        mesh, own, operand = _around.maps[-1][0], frozenset(names), as_operand(value)
        how = of_type(operand.aval)
        unreduced = how.unreduced - own | (own if to == "unreduced" else frozenset())
        reduced = how.reduced - own | (own if to == "reduced" else frozenset())
        found = Combining(unreduced, reduced, UnreducedKind.sum if unreduced else None)
        if found == how:
            return operand
        mapped = {axis for _, axes in _around.maps for axis in axes}
        if len(_around.maps) > 1 or mapped != set(mesh.axis_names):
            raise NotImplementedError(
                f"pcast to {to!r}: values are unreduced, or reduced, within a shard_map over all axes of the mesh, and "
                f"of {mesh.axis_names} {tuple(mapped)} are mapped"
            )
        return of_parts(mesh, found).constrain(operand)

    def fitted(
        self, primitive: Primitive, recorded: Sequence[ShapedArray], args: Sequence[Value], params: Params
    ) -> tuple[Sequence[Value], Params]:
        """An equation's operands and parameters, with programs for operands of types as they are, not as recorded."""
        if "manual_axes" not in params:
            return fitted(primitive, recorded, args, params, self.names)
        with axes_in_scope(params["mesh"], params["manual_axes"], params["checked"]):  # a map within this one
            programs = fitted(primitive, recorded, args, params, self.names)[1]
        return args, programs


@contextmanager
def axes_in_scope(mesh: Mesh, manual: Sequence[Hashable], checked: bool = False) -> Iterator[None]:
    """Have collectives find the axes of a mesh that a sharded map is over.

    `checked`: whether a user's function is traced for a map that checks replication. Then types record along which of
    these axes values differ, for derivatives that are taken in the function.
    """
    before, names = _around.maps, tuple(manual)
    fields: Params = {"axis_environment": (*thread.axis_environment, *[(name, mesh.shape[name]) for name in names])}
    if checked:
        typed = (*(thread.typed_axes.names if thread.typed_axes is not None else ()), *names)
        fields["typed_axes"] = _TypedAxes(typed)
        fields["overrides"] = (*thread.overrides, ("typed axes", typed))  # programs are remembered by it
    _around.maps = (*before, (mesh, names))
    try:
        with holding(**fields), in_use(_as_mapped(mesh)):
            yield
    finally:
        _around.maps = before


def out_of_scope() -> Callable[[], AbstractContextManager[None]]:
    """What puts the axes, programs and mesh that are in scope now back in, for a time."""
    maps, mesh = _around.maps, get_mesh()
    fields: Params = {name: getattr(thread, name) for name in ("axis_environment", "typed_axes", "overrides", "trace")}

    @contextmanager
    def back() -> Iterator[None]:
        before, _around.maps = _around.maps, maps
        try:
            with holding(**fields), in_use(mesh):
                yield
        finally:
            _around.maps = before

    return back


def _as_mapped(mesh: Mesh) -> Mesh:
    """A mesh as programs of parts have it: the axes that the maps around map over are `Manual`."""
    mapped = {axis for _, axes in _around.maps for axis in axes}
    return mesh.update_axis_types({axis: AxisType.Manual for axis in mesh.axis_names if axis in mapped})


def is_within_map() -> bool:
    """Whether a function is being traced for the devices of a mesh: they are taken by the map around it."""
    return bool(_around.maps)


def mesh_in_use() -> Mesh:
    """The mesh of the sharded map that is being traced, or of a `with mesh:` around the call."""
    return _around.maps[-1][0] if _around.maps else get_mesh()


def mesh_of_arguments(shape: AbstractMesh, args: object) -> Mesh | None:
    """Where no mesh is in use, the mesh of that shape over which an argument is sharded, if there is one."""
    if not get_mesh().empty:
        return None
    meshes = [getattr(getattr(leaf, "user_sharding", None), "mesh", None) for leaf in tree.leaves(args)]
    return next((mesh for mesh in meshes if isinstance(mesh, Mesh) and mesh.shape_tuple == shape.shape_tuple), None)


def axes_left(mesh: Mesh | AbstractMesh) -> tuple[Hashable, ...]:
    """The axes that the maps around do not map over; all of them where none is left."""
    mapped = {axis for _, axes in _around.maps for axis in axes}
    return tuple([axis for axis in mesh.axis_names if axis not in mapped]) or mesh.axis_names


def nested(mesh: Mesh, manual: Sequence[object]) -> Mesh:
    """The mesh of a sharded map: within another one that of it, as programs of parts have it.

    Raises ValueError for a map within one over another mesh, or over an axis that is mapped already.
    """
    for other, axes in _around.maps:
        if other != mesh and (other.shape_tuple, other.device_order) != (mesh.shape_tuple, mesh.device_order):
            raise ValueError(f"shard_map over {mesh} was called within one over {other}: nested maps need one mesh")
        again = [axis for axis in manual if axis in axes]
        if again:
            raise ValueError(
                f"shard_map over the axes {tuple(manual)} was called within one over {axes}: {again[0]!r} is mapped "
                f"already; name the axes of each map: axis_names={{...}}"
            )
    return _as_mapped(_around.maps[-1][0]) if _around.maps else mesh


def as_named(mesh: Mesh, spec: PartitionSpec, what: str, manual: tuple[Hashable, ...]) -> NamedSharding:
    """A spec as a sharding. Raises TypeError for what is no spec, ValueError for axes that are not mapped here."""
    if not isinstance(spec, PartitionSpec):
        raise TypeError(f"shard_map: {what} must be partition specs, or trees of them, got {spec!r}")
    sharding = NamedSharding(mesh, spec)
    if sharding.combining != NOTHING and (len(manual) < len(mesh.axis_names) or spec.unreduced_kind not in _SUMS):
        raise NotImplementedError(
            f"shard_map: {what} has {spec}: values are unreduced, or reduced, where all axes of the mesh are mapped, "
            f"and by their sum; axis_names are {manual}"
        )
    for axis in mentioned(sharding):
        if axis not in manual:
            raise ValueError(f"shard_map: {what} refers to {axis!r}, by {spec}, and axis_names are {manual}")
    return sharding


def as_types_say(
    mesh: Mesh, manual: tuple[Hashable, ...], operands: Sequence[Array | Literal], argument: str
) -> list[PartitionSpec]:
    """For each operand the spec that its type records; `argument`: where specs could be, for messages.

    Raises TypeError where types do not record every axis that is mapped over: along axes that are not Explicit.
    """
    others = [axis for axis in manual if axis not in mesh.explicit_axes]
    if others:
        raise TypeError(
            f"{'smap' if argument == 'in_axes' else 'shard_map'}: {argument} was not specified, so that arguments are "
            f"cut as their types have it, and types record Explicit axes only, not {others[0]!r} of {mesh}"
        )
    found = []
    for operand in operands:
        sharding = operand.aval.sharding
        cuts = () if sharding.is_unspecified else sharding.dimension_axes(operand.aval.ndim)
        how = of_type(operand.aval) if len(manual) == len(mesh.axis_names) else NOTHING
        own = [tuple([axis for axis in axes if axis in manual]) for axes in cuts]
        found.append(PartitionSpec(*own, unreduced=how.unreduced, reduced=how.reduced, unreduced_kind=how.kind))
    return found


def as_combined(operand: Array | Literal, sharding: NamedSharding) -> Array | Literal:
    """An argument as its spec has it, where that has it unreduced, or reduced."""
    how = sharding.combining
    return operand if how in (NOTHING, of_type(operand.aval)) else sharding.constrain(operand)


def mentioned(sharding: NamedSharding) -> tuple[Hashable, ...]:
    """The axes along which parts are not the same: those that cut dimensions, and along which values are combined.

    Of a value that is reduced devices have the same, and each has its share of the cotangent: as of what differs.
    """
    cuts = [axis for axes in sharding.dimension_axes(max(len(sharding.spec), 1)) for axis in axes]
    combined = combined_axes(sharding)
    return (*cuts, *[axis for axis in sharding.mesh.axis_names if axis in combined])


def part_aval(aval: Any, sharding: NamedSharding, manual: Sequence[Hashable] | None = None) -> Any:
    """The type of a part; with `manual`, the axes that are mapped over, it records how others cut it."""
    part = aval.plain.update(shape=sharding.shard_shape(aval.shape))
    if manual is None or aval.infer_types is None or aval.placed.mesh.axis_names != sharding.mesh.axis_names:
        return part
    others = [axis for axis in sharding.mesh.explicit_axes if axis not in manual]
    axes = [tuple([axis for axis in cut if axis in others]) for cut in aval.axes]
    if not any(axes):
        return part
    types = dict.fromkeys([axis for axis in sharding.mesh.axis_names if axis in manual], AxisType.Manual)
    return NamedSharding(sharding.mesh.update_axis_types(types), PartitionSpec(*axes)).type_of(part)


def with_cuts_of(sharding: NamedSharding, part: Any) -> NamedSharding:
    """The sharding of arrays whose parts have a type, which may record that other axes cut them."""
    if part.infer_types is None:
        return sharding
    pairs = zip(sharding.dimension_axes(part.ndim), part.axes, strict=True)
    return sharding.update(spec=sharding.spec.update([(*cut, *inner) for cut, inner in pairs]))


def differing_part(aval: ShapedArray, sharding: NamedSharding, manual: Sequence[Hashable] | None = None) -> ShapedArray:
    """The type of a part that records along which axes parts differ."""
    sizes = sharding.mesh.shape
    part = part_aval(aval, sharding, manual)
    part = part.update(named_shape={**dict(part.named_shape), **{axis: sizes[axis] for axis in mentioned(sharding)}})
    return part if sharding.combining == NOTHING else of_parts(sharding.mesh, sharding.combining).type_of(part)


def of_parts(mesh: Mesh, how: Combining) -> NamedSharding:
    """The sharding of types of parts, within a map over all axes of a mesh, that record how they are combined."""
    types = dict.fromkeys(mesh.axis_names, AxisType.Manual)
    return NamedSharding(mesh.update_axis_types(types), PartitionSpec()).with_axes((), how)


def whole_aval(aval: ShapedArray, sharding: NamedSharding, manual: Sequence[Hashable]) -> ShapedArray:
    """The type of the array of which `aval` is a part; it records nothing of the axes that are mapped here."""
    counts = sharding.tiles(len(aval.shape))
    whole = aval.plain.update(
        shape=tuple([size * count for size, count in zip(aval.shape, counts, strict=True)]),
        named_shape=tuple([pair for pair in aval.named_shape if pair[0] not in manual]),
    )
    return with_cuts_of(sharding, aval).type_of(whole)


def size_along(mesh: Mesh, axes: Sequence[object]) -> int:
    """The product of the sizes of axes."""
    return math.prod([mesh.shape[axis] for axis in axes])


def dual(sharding: NamedSharding) -> NamedSharding:
    """That of cotangents: what is unreduced has such that are reduced, and the other way round."""
    how = sharding.combining.dual
    if how == NOTHING:
        return sharding
    spec = PartitionSpec(*sharding.spec, unreduced=how.unreduced, reduced=how.reduced, unreduced_kind=how.kind)
    return sharding.update(spec=spec)


def with_leading(sharding: NamedSharding, entry: object) -> NamedSharding:
    """The sharding of arrays with one more dimension in front, cut along the axes of `entry`."""
    return sharding.update(spec=sharding.spec.update([entry, *sharding.spec]))


def uncut(mesh: Mesh) -> NamedSharding:
    """The sharding of arrays that every device has whole."""
    return NamedSharding(mesh, PartitionSpec())


def over_all(mesh: Mesh, axes: Sequence[Hashable]) -> NamedSharding:
    """The sharding of stacked values, one for each place along the axes."""
    return NamedSharding(mesh, PartitionSpec(tuple(axes)))


def axes_used(jaxpr: ClosedJaxpr, shardings: Sequence[NamedSharding]) -> set[Hashable]:
    """The axes that a map's program has collectives over, or that its arguments and results are cut along.

    Examples of a `vmap` are not cut along them: a collective would combine different ones.
    """
    return set(axes_of_effects(jaxpr.effects)).union(*[mentioned(sharding) for sharding in shardings])


def axes_of_outer_maps(jaxpr: ClosedJaxpr, shardings: Sequence[NamedSharding]) -> set[Hashable]:
    """The mesh axes that `vmap`s around a map that is being computed cut its examples along (`spmd_axis_name`)."""
    found: set[Hashable] = set()
    trace = thread.trace
    while isinstance(trace, RuleTrace):
        axis_info = getattr(trace, "axis", None)
        if isinstance(axis_info, AxisInfo):
            found.update(spmd_axes(axis_info.spmd_name))
        trace = trace.parent
    return found - axes_used(jaxpr, shardings) if found else found


def spmd_axes(spmd_name: object) -> tuple[Hashable, ...]:
    """The axes that `spmd_axis_name` of a `vmap` is: one, several, or none."""
    return tuple(spmd_name) if isinstance(spmd_name, (tuple, list)) else () if spmd_name is None else (spmd_name,)
