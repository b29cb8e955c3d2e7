"""A call of a region: one generated function for all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_numpy.kernels import composed
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.jit import region_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@composed(lower, region_p)
def _(ctx: Lowering, *values: Value, jaxpr: ClosedJaxpr, name: str) -> Value:
    return ctx.call(ctx.compile(jaxpr), *values)
