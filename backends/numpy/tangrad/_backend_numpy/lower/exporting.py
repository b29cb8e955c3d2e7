"""A call of an exported program: the steps of the one that it carries for NumPy, at the sizes of the operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy.kernels import inlined
from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.export import call_exported_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)


@inlined(lower, call_exported_p)
def _(ctx: Lowering, *, exported: Any) -> ClosedJaxpr:
    return exported.program_for(ctx.in_avals)
