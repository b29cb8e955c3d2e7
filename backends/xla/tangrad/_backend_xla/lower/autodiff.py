"""How the arithmetic of differentiation becomes StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad import autodiff as p
from tangrad._backend_xla.helpers import broadcast, elementwise, full, reduce_by
from tangrad.core import RuleSet
from tangrad.dtypes import float0

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import Dimensions


lower = RuleSet("lower.xla", api=1)

_add = elementwise("stablehlo.add")


@lower.rule(p.add_any_p)
def _add_any(ctx: FunctionContext, x: IrValue, y: IrValue) -> IrValue:
    # In float0 there is one value only; its buffer is boolean, which `add` would take for an or.
    return x if ctx.out_aval.dtype is float0 else _add(ctx, x, y)


@lower.rule(p.zeros_p)
def _zeros(ctx: FunctionContext, **_: object) -> IrValue:
    return full(ctx, 0, ctx.out_aval)


@lower.rule(p.append_dims_p)
def _append_dims(ctx: FunctionContext, x: IrValue, *, sizes: Dimensions) -> IrValue:
    return broadcast(ctx, x, ctx.out_aval, range(ctx.in_avals[0].ndim))


@lower.rule(p.sum_trailing_p)
def _sum_trailing(ctx: FunctionContext, x: IrValue, *, count: int) -> IrValue:
    (aval,) = ctx.in_avals
    return reduce_by(ctx, "stablehlo.add", x, 0, tuple(range(aval.ndim - count, aval.ndim)), ctx.out_aval)
