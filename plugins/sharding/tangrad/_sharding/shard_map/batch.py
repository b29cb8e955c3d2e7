"""How a sharded map is mapped: its program is. With `spmd_axis_name` the mapped dimension is cut along these axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.fitting import along
from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.scope import axes_in_scope
from tangrad._sharding.shard_map.specs import size_along, with_leading
from tangrad.batching import AxisInfo, batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, RuleSet, Sharding

if TYPE_CHECKING:
    from tangrad.typing import Dims, Values

batch = RuleSet("batch", api=1)


@batch.rule(shard_map_p)
def _(
    args: Values,
    dims: Dims,
    *,
    axis_info: AxisInfo,
    jaxpr: ClosedJaxpr,
    mesh: Any,
    in_shardings: tuple[Sharding, ...],
    out_shardings: tuple[Sharding, ...],
    manual_axes: Any,
    checked: bool,
) -> Any:
    mapped = tuple([dim is not None for dim in dims])
    entry = _axes_of_the_mesh(axis_info, manual_axes)
    inner = axis_info
    if entry or axis_info.name in manual_axes:  # inside, the name is that of the mesh's axis
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


def _widened(shardings: Any, mapped: Any, entry: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        [
            with_leading(sharding, entry) if is_mapped else sharding
            for sharding, is_mapped in zip(shardings, mapped, strict=True)
        ]
    )


def _axes_of_the_mesh(axis_info: AxisInfo, manual_axes: Any) -> tuple[Any, ...]:
    """The axes of the mesh that cut the mapped dimension."""
    spmd = axis_info.spmd_name
    axes = tuple(spmd) if isinstance(spmd, (tuple, list)) else () if spmd is None else (spmd,)
    found = tuple([axis for axis in axes if axis in manual_axes])
    if found and axis_info.name is not None:
        raise ValueError(
            f"vmap of a shard_map: an axis named {axis_info.name!r} cannot be cut along the mesh axes {found} "
            f"(spmd_axis_name), since collectives over it would see a part; leave one of the two out"
        )
    return found
