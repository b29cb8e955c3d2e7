"""How factorisations and solutions become NumPy."""

from __future__ import annotations

from functools import partial
from typing import Any

from tangrad._backend_numpy import linear_algebra
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import composed
from tangrad.core import RuleSet, dtypes
from tangrad.extend import lax as p

lower = RuleSet("lower.numpy", api=1)


def _call(ctx: Any, function: Any, *values: Any) -> Any:
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
def _cholesky(ctx: Any, x: Any) -> Any:
    return _call(ctx, linear_algebra.cholesky, x)


@composed(lower, p.cholesky_update_p)
def _cholesky_update(ctx: Any, matrix: Any, vector: Any) -> Any:
    return _call(ctx, linear_algebra.cholesky_update, matrix, vector)


@composed(lower, p.triangular_solve_p)
def _triangular_solve(ctx: Any, a: Any, b: Any, **params: Any) -> Any:
    return _call(ctx, partial(linear_algebra.triangular_solve, **params), a, b)
