"""How factorisations and solutions become NumPy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tangrad._backend_numpy import linear_algebra
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet, dtypes
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


def _call(ctx: Lowering, function: Any, *values: Value) -> Value:
    """A function of arrays, which takes narrow floats as float32."""
    out = ctx.out_aval
    if dtypes.bit_width(out.dtype) >= 32:
        return ctx.call(function, *values, nature=FRESH)
    wide = dtypes.as_dtype("float32")
    found = ctx.call(
        function, *[ctx.cast(value, wide) for value in values], nature=FRESH, like=ctx.full(out.shape, 0, wide)
    )
    return ctx.cast(found, out.dtype)


@composed(lower, p.cholesky_p)
def _cholesky(ctx: Lowering, x: Value) -> Value:
    return _call(ctx, linear_algebra.cholesky, x)


@composed(lower, p.cholesky_update_p)
def _cholesky_update(ctx: Lowering, matrix: Value, vector: Value) -> Value:
    return _call(ctx, linear_algebra.cholesky_update, matrix, vector)


@composed(lower, p.triangular_solve_p)
def _triangular_solve(ctx: Lowering, a: Value, b: Value, **params: Any) -> Value:
    return _call(ctx, partial(linear_algebra.triangular_solve, **params), a, b)
