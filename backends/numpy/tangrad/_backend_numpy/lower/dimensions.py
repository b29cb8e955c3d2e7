"""The values of symbolic dimensions in NumPy: numbers that are computed when the program begins."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import composed
from tangrad._backend_numpy.sizes import SizeValue
from tangrad.core import RuleSet
from tangrad.core.arguments import is_symbolic
from tangrad.extend.symbolic import dimension_as_value_p

lower = RuleSet("lower.numpy", api=1)


@composed(lower, dimension_as_value_p, any_sizes=True)
def _(ctx: Any, *, dimension: Any, dtype: Any) -> Any:
    return ctx.call(SizeValue(dimension, dtype)) if is_symbolic(dimension) else ctx.constant(dimension, dtype)
