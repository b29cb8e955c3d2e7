"""Calls of jitted functions, whose steps are put here, and of regions: one function for all calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_numpy.kernels import composed, inlined
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.jit import hinted_p, jit_p, region_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


@inlined(lower, jit_p, hinted_p)
def _(ctx: Lowering, *, jaxpr: ClosedJaxpr, **_: object) -> ClosedJaxpr:
    return jaxpr


@composed(lower, region_p)
def _(ctx: Lowering, *values: Value, jaxpr: ClosedJaxpr, name: str) -> Value:
    return ctx.call(ctx.compile(jaxpr), *values)
