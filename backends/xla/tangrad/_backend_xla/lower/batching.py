"""How the arithmetic of batching becomes StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad import batching as p
from tangrad._backend_xla.helpers import broadcast, reduce_by, transpose
from tangrad.core import RuleSet

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions


lower = RuleSet("lower.xla", api=1)


@lower.rule(p.move_axis_p)
def _move_axis(ctx: FunctionContext, x: IrValue, *, source: int, destination: int) -> IrValue:
    permutation = list(range(ctx.out_aval.ndim))
    permutation.insert(destination, permutation.pop(source))
    return transpose(ctx, x, ctx.out_aval, permutation)


@lower.rule(p.broadcast_axis_p)
def _broadcast_axis(ctx: FunctionContext, x: IrValue, *, shape: Dimensions, positions: tuple[int, ...]) -> IrValue:
    return broadcast(ctx, x, ctx.out_aval, positions)


@lower.rule(p.sum_axes_p)
def _sum_axes(ctx: FunctionContext, x: IrValue, *, axes: tuple[int, ...]) -> IrValue:
    return reduce_by(ctx, "stablehlo.add", x, 0, axes, ctx.out_aval)
