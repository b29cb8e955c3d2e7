"""The rules of sharded maps but for derivatives: how results are sharded, dead code, mapping, other names for axes."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import compress
from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.replication import along
from tangrad._sharding.shard_map.scope import axes_in_scope, axes_used, size_along, spmd_axes, with_leading
from tangrad.batching import AxisInfo, batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, RuleSet, dce_jaxpr, keeps_alive
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.extend.collectives import subst_under_binder
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import Array, JaxprEqn
    from tangrad.typing import Dims, Params, Values


sharding = RuleSet("sharding", api=1)


@sharding.rule(shard_map_p)
def _(operands: object, results: tuple[Any, ...], params: Params) -> tuple[Any, ...]:
    """As `out_specs` say."""
    return results


dce = RuleSet("dce", api=1)
_thinned = JaxprCache()
register_cache(_thinned.clear)


@dce.rule(shard_map_p)
def _(used_outputs: Sequence[bool], equation: JaxprEqn) -> tuple[list[bool], JaxprEqn | None]:
    if not any(used_outputs) and not keeps_alive(equation.effects):
        return [False] * len(equation.invars), None
    params, used = equation.params, tuple(used_outputs)
    closed = params["jaxpr"]
    program, used_inputs = _thinned.get(closed, used, lambda: _thin(closed, used))
    new = equation.replace(
        invars=[atom for atom, is_used in zip(equation.invars, used_inputs, strict=True) if is_used],
        outvars=[var for var, is_used in zip(equation.outvars, used, strict=True) if is_used],
        params={
            **params,
            "jaxpr": program,
            "in_shardings": tuple(compress(params["in_shardings"], used_inputs)),
            "out_shardings": tuple(compress(params["out_shardings"], used)),
        },
    )
    return used_inputs, new


def _thin(closed: ClosedJaxpr, used: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    jaxpr, used_inputs = dce_jaxpr(closed.jaxpr, used)
    if all(used) and all(used_inputs) and len(jaxpr.eqns) == len(closed.eqns):
        return closed, used_inputs  # the same object: what was compiled of it stays good
    return ClosedJaxpr(jaxpr, closed.consts), used_inputs


batch = RuleSet("batch", api=1)


@batch.rule(shard_map_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: tuple[NamedSharding, ...],
    manual_axes: Sequence[object],
    checked: bool,
) -> tuple[tuple[Array, ...], tuple[int | None, ...]]:
    mapped = tuple([dim is not None for dim in dims])
    entry = _axes_of_the_mesh(axis_info, manual_axes, axes_used(jaxpr, (*in_shardings, *out_shardings)))
    inner = axis_info
    is_cut = axis_info.cut is not None and any([axis in manual_axes for axis in axis_info.cut.axes[0]])
    if entry or is_cut or axis_info.name in manual_axes:  # inside, the name is that of the mesh's axis
        name = None if axis_info.name in manual_axes else axis_info.name
        inner = AxisInfo(name, axis_info.size // size_along(mesh, entry), axis_info.spmd_name)
    with axes_in_scope(mesh, manual_axes, checked):
        program, out_mapped = batch_jaxpr(jaxpr, mapped, inner)
        if checked and entry:  # what is mapped differs along these axes now, and derivatives go by types
            differing = tuple([(name, mesh.shape[name]) for name in entry])
            program = along(program, [differing if is_mapped else () for is_mapped in mapped])
    outs = shard_map_p.bind(
        *[to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)],
        jaxpr=program,
        mesh=mesh,
        in_shardings=_widened(in_shardings, mapped, entry),
        out_shardings=_widened(out_shardings, out_mapped, entry),
        manual_axes=manual_axes,
        checked=checked,
    )
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])


def _widened(
    shardings: Sequence[NamedSharding], mapped: tuple[bool, ...], entry: tuple[object, ...]
) -> tuple[NamedSharding, ...]:
    return tuple(
        [
            with_leading(sharding, entry) if is_mapped else sharding
            for sharding, is_mapped in zip(shardings, mapped, strict=True)
        ]
    )


def _axes_of_the_mesh(
    axis_info: AxisInfo, manual_axes: Sequence[Hashable], used: set[Hashable]
) -> tuple[Hashable, ...]:
    """The axes of the mesh that cut the mapped dimension: as was asked for, or as types say it is cut.

    An axis that the map itself uses is not one: every device along it has all examples.
    """
    axes = spmd_axes(axis_info.spmd_name)
    if not axes and axis_info.cut is not None and axis_info.name is None:
        axes = axis_info.cut.axes[0]
    found = tuple([axis for axis in axes if axis in manual_axes and axis not in used])
    if found and axis_info.name is not None:
        raise ValueError(
            f"vmap of a shard_map: an axis named {axis_info.name!r} cannot be cut along the mesh axes {found} "
            f"(spmd_axis_name), since collectives over it would see a part; leave one of the two out"
        )
    return found


axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(shard_map_p)
def _(params: Params, subst: object) -> Params:
    bound = params["manual_axes"]
    program, names = subst_under_binder(params["jaxpr"], subst, bound)
    if names == bound:
        return {**params, "jaxpr": program}
    renamed = dict(zip(bound, names, strict=True))
    mesh = params["mesh"]
    other = Mesh(mesh.devices, tuple([renamed.get(name, name) for name in mesh.axis_names]))

    def of(shardings: Sequence[NamedSharding]) -> tuple[NamedSharding, ...]:
        return tuple([NamedSharding(other, _spec(s.spec, renamed)) for s in shardings])

    return {
        "jaxpr": program,
        "mesh": other,
        "in_shardings": of(params["in_shardings"]),
        "out_shardings": of(params["out_shardings"]),
        "manual_axes": names,
        "checked": params["checked"],
    }


def _spec(spec: PartitionSpec, renamed: dict[Hashable, Hashable]) -> PartitionSpec:
    unreduced, reduced = [
        frozenset([renamed.get(axis, axis) for axis in axes]) for axes in (spec.unreduced, spec.reduced)
    ]
    return spec.update([_entry(entry, renamed) for entry in spec], unreduced=unreduced, reduced=reduced)


def _entry(entry: object, renamed: dict[Hashable, Hashable]) -> object:
    if isinstance(entry, tuple):
        return tuple([renamed.get(axis, axis) for axis in entry])
    return renamed.get(entry, entry)
