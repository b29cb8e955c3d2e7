"""Sharding constraints: they say how results are sharded, and there is nothing to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet
from tangrad.extend.sharding import auto_axes_p, sharding_constraint_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@composed(lower, sharding_constraint_p, auto_axes_p, any_sizes=True)
def _(ctx: Lowering, x: Value, **params: Any) -> Value:
    return x
