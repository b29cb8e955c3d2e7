"""How the arithmetic of differentiation becomes StableHLO."""

from __future__ import annotations

from typing import Any

from tangrad import autodiff as p
from tangrad._backend_xla.helpers import broadcast, elementwise, full, reduce_by
from tangrad.core import RuleSet
from tangrad.dtypes import float0

lower = RuleSet("lower.xla", api=1)

_add = elementwise("stablehlo.add")


@lower.rule(p.add_any_p)
def _add_any(ctx: Any, x: Any, y: Any) -> Any:
    # In float0 there is one value only; its buffer is boolean, which `add` would take for an or.
    return x if ctx.out_aval.dtype is float0 else _add(ctx, x, y)


@lower.rule(p.zeros_p)
def _zeros(ctx: Any, **_: Any) -> Any:
    return full(ctx, 0, ctx.out_aval)


@lower.rule(p.append_dims_p)
def _append_dims(ctx: Any, x: Any, *, sizes: tuple[Any, ...]) -> Any:
    return broadcast(ctx, x, ctx.out_aval, range(ctx.in_avals[0].ndim))


@lower.rule(p.sum_trailing_p)
def _sum_trailing(ctx: Any, x: Any, *, count: int) -> Any:
    (aval,) = ctx.in_avals
    return reduce_by(ctx, "stablehlo.add", x, 0, tuple(range(aval.ndim - count, aval.ndim)), ctx.out_aval)
