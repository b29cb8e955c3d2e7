"""Factorisations and solutions on NVIDIA GPUs: the functions of cuSOLVER that JAX's plugin wraps."""

from __future__ import annotations

from typing import Any

from tangrad.backends.xla.helpers import custom_call
from tangrad.backends.xla.matrices import cholesky_update, factor_or_nan
from tangrad.core import RuleSet
from tangrad.lax.linalg import primitives as p

lower = RuleSet("lower.xla.cuda", api=1)


@lower.rule(p.cholesky_p)
def _cholesky(ctx: Any, x: Any) -> Any:
    return factor_or_nan(ctx, "cusolver_potrf_ffi", x, lower=True)


@lower.rule(p.cholesky_update_p)
def _cholesky_update(ctx: Any, matrix: Any, vector: Any) -> Any:
    if ctx.out_aval.ndim > 2:  # it takes a single matrix
        return cholesky_update(ctx, matrix, vector)
    outs = custom_call(ctx, "cu_cholesky_update_ffi", ctx.in_avals, [matrix, vector], aliases={0: 0, 1: 1})
    return outs[0]
