"""A sharded map with checks: each device has an error, and they come back as a stack, of which the first one counts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from tangrad._sharding.shard_map.primitives import shard_map_p, stacking
from tangrad._sharding.shard_map.scope import axes_in_scope, over_all
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.checkify import Checks, checked_program

if TYPE_CHECKING:
    from tangrad._sharding.mesh import Mesh
    from tangrad._sharding.named import NamedSharding
    from tangrad.typing import Value, Values

checkify = RuleSet("checkify", api=1)


@checkify.rule(shard_map_p)
def _(
    args: Values,
    *,
    checks: Checks,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[NamedSharding, ...],
    out_shardings: tuple[NamedSharding, ...],
    manual_axes: Sequence[Hashable],
    checked: bool,
) -> tuple[Value, ...]:
    with axes_in_scope(mesh, manual_axes, checked):
        program = checked_program(jaxpr, checks.enabled)
        stacked = stacking(program.jaxpr, len(out_shardings))
    rows = over_all(mesh, manual_axes)
    outs: Values = shard_map_p.bind(
        *args,
        jaxpr=stacked,
        mesh=mesh,
        in_shardings=in_shardings,
        out_shardings=(*out_shardings, *[rows] * program.layout.count),
        manual_axes=manual_axes,
        checked=checked,
    )
    # Which error is the first is asked of all devices: along Explicit axes types would state that each has its own.
    own, errors = outs[: len(out_shardings)], outs[len(out_shardings) :]
    whole = [rows.with_axes(()).constrain(error) if error.aval.infer_types is not None else error for error in errors]
    return checks.take(program.layout, (*own, *whole))
