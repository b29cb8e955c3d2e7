"""A call of a region: one generated function for all calls."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet
from tangrad.extend.jit import region_p

lower = RuleSet("lower.numpy", api=1)


@composed(lower, region_p)
def _(ctx: Any, *values: Any, jaxpr: Any, name: str) -> Any:
    return ctx.call(ctx.compile(jaxpr), *values)
