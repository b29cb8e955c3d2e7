"""Sharded maps with other names for the axes that their programs use of those around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._sharding.shard_map.primitives import shard_map_p
from tangrad.core import RuleSet
from tangrad.extend.collectives import subst_under_binder
from tangrad.sharding import Mesh, NamedSharding, PartitionSpec

if TYPE_CHECKING:
    from tangrad.typing import Params

axis_subst = RuleSet("axis_subst", api=1)


@axis_subst.rule(shard_map_p)
def _(params: Params, subst: Any) -> Any:
    bound = params["manual_axes"]
    program, names = subst_under_binder(params["jaxpr"], subst, bound)
    if names == bound:
        return {**params, "jaxpr": program}
    renamed = dict(zip(bound, names, strict=True))
    mesh = params["mesh"]
    other = Mesh(mesh.devices, tuple([renamed.get(name, name) for name in mesh.axis_names]))

    def of(shardings: Any) -> tuple[Any, ...]:
        return tuple([NamedSharding(other, PartitionSpec(*[_entry(e, renamed) for e in s.spec])) for s in shardings])

    return {
        "jaxpr": program,
        "mesh": other,
        "in_shardings": of(params["in_shardings"]),
        "out_shardings": of(params["out_shardings"]),
        "manual_axes": names,
        "checked": params["checked"],
    }


def _entry(entry: Any, renamed: Any) -> Any:
    if isinstance(entry, tuple):
        return tuple([renamed.get(axis, axis) for axis in entry])
    return renamed.get(entry, entry)
