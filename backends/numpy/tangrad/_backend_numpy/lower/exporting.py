"""A call of an exported program: the steps of the one that it carries for NumPy, at the sizes of the operands."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import inlined
from tangrad.core import RuleSet
from tangrad.extend.export import call_exported_p

lower = RuleSet("lower.numpy", api=1)


@inlined(lower, call_exported_p)
def _(ctx: Any, *, exported: Any) -> Any:
    return exported.program_for(ctx.in_avals)
