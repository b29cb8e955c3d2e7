"""The values of symbolic dimensions in NumPy: numbers that are computed when the program begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.kernels import composed
from tangrad._backend_numpy.sizes import SizeValue
from tangrad.core import RuleSet
from tangrad.core.arguments import is_symbolic
from tangrad.extend.symbolic import dimension_as_value_p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.core.arguments import SymbolicDimension


lower = RuleSet("lower.numpy", api=1)


@composed(lower, dimension_as_value_p, any_sizes=True)
def _(ctx: Lowering, *, dimension: SymbolicDimension, dtype: np.dtype) -> Value:
    return ctx.call(SizeValue(dimension, dtype)) if is_symbolic(dimension) else ctx.constant(dimension, dtype)
