"""The arithmetic of differentiation itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._backend_numpy.array import physical
from tangrad._backend_numpy.kernels import composed
from tangrad.autodiff import add_any_p, append_dims_p, sum_trailing_p, zeros_p
from tangrad.core import RuleSet, ShapedArray
from tangrad.dtypes import float0

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value
    from tangrad.typing import Dimensions


lower = RuleSet("lower.numpy", api=1)


@composed(lower, add_any_p, any_sizes=True)
def _(ctx: Lowering, x: Value, y: Value) -> Value:
    return x if x.dtype == float0 else ctx.add(x, y)  # of type float0 there is one value only


@composed(lower, zeros_p)
def _(ctx: Lowering, *, shape: Dimensions, dtype: np.dtype, weak_type: bool) -> Value:
    if dtype == float0:
        return ctx.constant(np.zeros(shape, dtype))
    held = physical(ShapedArray(shape, dtype))
    return ctx.full(held.shape, 0, held.dtype)


@composed(lower, append_dims_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, sizes: Dimensions) -> Value:
    return ctx.broadcast(x, (*x.shape, *sizes), range(x.ndim))


@composed(lower, sum_trailing_p, any_sizes=True)
def _(ctx: Lowering, x: Value, *, count: int) -> Value:
    return x if x.dtype == float0 and not count else ctx.reduce(np.add, x, range(x.ndim - count, x.ndim))
