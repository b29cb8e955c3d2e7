"""What else is linear, in batching, collectives, Fourier transforms and sharding; and sharded maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.batching import broadcast_axis_p, move_axis_p, sum_axes_p
from tangrad.core import RuleSet
from tangrad.extend import collectives as p
from tangrad.extend.fft import fft_p
from tangrad.extend.lax import device_put_p
from tangrad.extend.sharding import auto_axes_p, axes_in_scope, shard_map_p, sharding_constraint_p
from tangrad_taylor.linear import linear_rules, piecewise_linear
from tangrad_taylor.programs import flat, pattern, taylor_jaxpr, unflat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tangrad.core import ClosedJaxpr, Sharding
    from tangrad.extend.sharding import Mesh
    from tangrad_taylor.arithmetic import Series

batching = linear_rules(broadcast_axis_p, move_axis_p, sum_axes_p)
collectives = linear_rules(
    p.psum_p, p.all_gather_p, p.reduce_scatter_p, p.all_to_all_p, p.ppermute_p, p.pbroadcast_p, p.pvary_p, p.pinvary_p
)
collectives.table({primitive: piecewise_linear(primitive) for primitive in (p.pmax_p, p.pmin_p)})
fft = linear_rules(fft_p)
placement = linear_rules(device_put_p)
sharding = linear_rules(sharding_constraint_p, auto_axes_p)

shard_map = RuleSet("taylor", api=1)


@shard_map.rule(shard_map_p)
def _shard_map(
    series: Sequence[Series],
    *,
    jaxpr: ClosedJaxpr,
    mesh: Mesh,
    in_shardings: tuple[Sharding, ...],
    out_shardings: tuple[Sharding, ...],
    manual_axes: tuple[object, ...],
    checked: bool,
) -> list[Series]:
    """Coefficients are sharded as their values are."""
    with axes_in_scope(mesh, manual_axes, checked):
        program, found = taylor_jaxpr(jaxpr, pattern(series))
    outs = shard_map_p.bind(
        *flat(series),
        jaxpr=program,
        mesh=mesh,
        in_shardings=tuple([one for one, terms in zip(in_shardings, series) for _ in flat([terms])]),
        out_shardings=tuple([one for one, flags in zip(out_shardings, found) for has in (True, *flags) if has]),
        manual_axes=manual_axes,
        checked=checked,
    )
    return unflat(outs, found)
