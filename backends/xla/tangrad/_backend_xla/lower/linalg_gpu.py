"""Factorisations and solutions on GPUs: the functions of cuSOLVER, or hipSOLVER, that JAX's plugins wrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.gpu_libraries import library_name, rules_for_gpus
from tangrad._backend_xla.helpers import custom_call
from tangrad._backend_xla.matrices import cholesky_update, column_major, factor_or_nan
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


def _cholesky(ctx: FunctionContext, x: IrValue) -> IrValue:
    return factor_or_nan(ctx, library_name(ctx, "solver_potrf_ffi"), x, lower=True)


def _cholesky_update(ctx: FunctionContext, matrix: IrValue, vector: IrValue) -> IrValue:
    if ctx.out_aval.ndim > 2:  # it takes a single matrix
        return cholesky_update(ctx, matrix, vector)
    avals = ctx.in_avals
    layouts = column_major(avals, None)
    outs = custom_call(
        ctx,
        "cu_cholesky_update_ffi",
        avals,
        [matrix, vector],
        aliases={0: 0, 1: 1},
        operand_layouts=layouts,
        result_layouts=layouts,
    )
    return outs[0]


cuda, rocm = rules_for_gpus({p.cholesky_p: _cholesky})
cuda.add(p.cholesky_update_p, _cholesky_update)
