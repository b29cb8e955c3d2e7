"""How the arithmetic of batching becomes StableHLO."""

from __future__ import annotations

from typing import Any

from tangrad import batching as p
from tangrad._backend_xla.helpers import broadcast, reduce_by, transpose
from tangrad.core import RuleSet

lower = RuleSet("lower.xla", api=1)


@lower.rule(p.move_axis_p)
def _move_axis(ctx: Any, x: Any, *, source: int, destination: int) -> Any:
    permutation = list(range(ctx.out_aval.ndim))
    permutation.insert(destination, permutation.pop(source))
    return transpose(ctx, x, ctx.out_aval, permutation)


@lower.rule(p.broadcast_axis_p)
def _broadcast_axis(ctx: Any, x: Any, *, shape: tuple[Any, ...], positions: tuple[int, ...]) -> Any:
    return broadcast(ctx, x, ctx.out_aval, positions)


@lower.rule(p.sum_axes_p)
def _sum_axes(ctx: Any, x: Any, *, axes: tuple[int, ...]) -> Any:
    return reduce_by(ctx, "stablehlo.add", x, 0, axes, ctx.out_aval)
