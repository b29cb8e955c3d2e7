"""Sharding constraints: they say how results are sharded, and there is nothing to compute; and what shows shardings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet, get_backend
from tangrad.extend.sharding import SingleDeviceSharding, auto_axes_p, inspect_sharding_p, sharding_constraint_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@composed(lower, sharding_constraint_p, auto_axes_p, any_sizes=True)
def _(ctx: Lowering, x: Value, **params: object) -> Value:
    return x


@composed(lower, inspect_sharding_p, any_sizes=True)
def _shown(ctx: Lowering, x: Value, *, callback: Any) -> tuple[Value, ...]:
    """While it is compiled: within a program values are whole, on one device, whatever becomes of the results."""
    aval: Any = ctx.in_avals[0]
    callback(SingleDeviceSharding(get_backend("numpy").devices()[0]) if aval.infer_types is None else aval.placed)
    return ()
