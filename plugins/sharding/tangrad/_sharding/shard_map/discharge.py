"""A sharded map with references: each device has its part of the array behind one, and the parts are put together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad._sharding.shard_map.replication import varying_of_program
from tangrad._sharding.shard_map.scope import axes_in_scope, mentioned
from tangrad.core import Array, ClosedJaxpr, RuleSet
from tangrad.extend.references import check_distinct, discharged, rearranged, values_of, written_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tangrad._sharding.mesh import Mesh
    from tangrad._sharding.named import NamedSharding
    from tangrad.typing import Values

discharge = RuleSet("discharge", api=1)


@discharge.rule(shard_map_p)
def _(
    args: Sequence[Any],
    own: tuple[bool, ...],
    *,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: tuple[NamedSharding, ...],
    manual_axes: tuple[Hashable, ...],
    checked: bool,
) -> Values:
    """What is written is a result, put together as the reference is cut."""
    check_distinct("shard_map", args, own)
    with axes_in_scope(mesh, manual_axes, checked):
        program = discharged(jaxpr, args, own)
    count, written = len(out_shardings), written_places(program, own)
    if checked:
        _check_written(program, args, written, in_shardings, manual_axes)
    outs = shard_map_p.bind(
        *values_of(args, own),
        jaxpr=rearranged(program, range(len(own)), [*range(count), *written.values()]),
        mesh=mesh,
        in_shardings=in_shardings,
        out_shardings=(*out_shardings, *[in_shardings[place] for place in written]),
        manual_axes=manual_axes,
        checked=checked,
    )
    for place, out in zip(written, outs[count:], strict=True):
        args[place].value = _of_type(out, args[place].aval.inner_aval)
    return tuple(outs[:count])


def _check_written(
    program: ClosedJaxpr,
    args: Sequence[Any],
    written: Mapping[int, int],
    shardings: Sequence[NamedSharding],
    manual_axes: Sequence[Hashable],
) -> None:
    """Raise ValueError where devices write what differs to a reference of which they have the same part."""
    varying = varying_of_program(program, [frozenset(mentioned(sharding)) for sharding in shardings])
    for place, position in written.items():
        beyond = varying[position].difference(mentioned(shardings[place]))
        axes = tuple([axis for axis in manual_axes if axis in beyond])
        if axes:
            raise ValueError(
                f"shard_map of {program.jaxpr.debug_name}: what is written to a reference of type "
                f"{args[place].aval.str_short()} may differ along the mesh axes {axes}, along which every device has "
                f"the same part of it ({shardings[place].spec}; what a function closes over is not cut): pass the "
                "reference as an argument whose in_specs name them, write what is the same everywhere (lax.psum, "
                "lax.pmean, …), or switch the check off: check_vma=False"
            )


def _of_type(value: Array, aval: Any) -> Array:
    """What was written, sharded along Explicit axes as the type of the reference has it."""
    given: Any = value.aval
    if given.infer_types is None or given is aval:
        return value
    return aval.constrain(value) if aval.infer_types is not None else given.as_plain(value)
