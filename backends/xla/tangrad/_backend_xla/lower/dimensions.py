"""How the values of symbolic dimensions become StableHLO."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.dimension_values import SIZE
from tangrad._backend_xla.helpers import convert
from tangrad.core import RuleSet
from tangrad.extend.symbolic import dimension_as_value_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.typing import DType


lower = RuleSet("lower.xla", api=1)


@lower.rule(dimension_as_value_p)
def _dimension_as_value(ctx: FunctionContext, *, dimension: object, dtype: DType) -> IrValue:
    value = ctx.size(dimension)
    return value if ctx.out_aval.dtype == SIZE.dtype else convert(ctx, value, SIZE, ctx.out_aval)
