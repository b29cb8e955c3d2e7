"""Groups of equations over rows on XLA. The family of composites may not be installed: its rules have a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._kernels.jobs import Job
from tangrad._kernels.library import replaced, replacing
from tangrad._kernels.on_xla_cpu import KIND, call, is_here
from tangrad._kernels.row_programs import NAME
from tangrad.core import RuleSet
from tangrad.extend.custom_rules import composite_p

if TYPE_CHECKING:
    from tangrad.core import ClosedJaxpr


def _lower(ctx: Any, *operands: Any, jaxpr: ClosedJaxpr, name: str, attributes: Any, **params: object) -> Any:
    if name != NAME:
        params |= {"jaxpr": jaxpr, "name": name, "attributes": attributes}
        return replaced(KIND, composite_p)(ctx, *operands, **params)
    if not is_here(ctx):
        return tuple(ctx.inline(jaxpr, operands))
    return call(ctx, Job("rows", attributes.values["plan"]), *operands)


def rule_set() -> RuleSet:
    """The rule of composites."""
    return replacing(KIND, {composite_p: _lower})


composites = rule_set()
