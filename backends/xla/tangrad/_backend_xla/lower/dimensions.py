"""How the values of symbolic dimensions become StableHLO."""

from __future__ import annotations

from typing import Any

from tangrad._backend_xla.dimension_values import SIZE
from tangrad._backend_xla.helpers import convert
from tangrad.core import RuleSet
from tangrad.extend.symbolic import dimension_as_value_p

lower = RuleSet("lower.xla", api=1)


@lower.rule(dimension_as_value_p)
def _dimension_as_value(ctx: Any, *, dimension: Any, dtype: Any) -> Any:
    value = ctx.size(dimension)
    return value if ctx.out_aval.dtype == SIZE.dtype else convert(ctx, value, SIZE, ctx.out_aval)
