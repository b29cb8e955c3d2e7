"""Groups of equations over rows on NumPy. The family of composites may not be installed: its rules have a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._kernels.jobs import Job
from tangrad._kernels.library import replacing
from tangrad._kernels.on_numpy import KIND, caller
from tangrad._kernels.row_programs import NAME
from tangrad.core import RuleSet
from tangrad.extend.backend_numpy import FRESH, Kernel, Opaque
from tangrad.extend.custom_rules import composite_p

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr
    from tangrad.extend.backend_numpy import Lowering


def _emit(ctx: Lowering, *values: Any, jaxpr: ClosedJaxpr, name: str, attributes: Any, **_: object) -> Any:
    if name != NAME:
        return ctx.inline(jaxpr, *values)
    run = caller(Job("rows", attributes.values["plan"]), ctx.out_avals)
    run.__name__ = "rows"
    return ctx.call(Opaque(run, FRESH), *values)


def rule_set() -> RuleSet:
    """The rule of composites."""
    return replacing(KIND, {composite_p: Kernel(_emit)})


composites = rule_set()
