"""Factorisations and solutions on CPUs: LAPACK and BLAS, whose functions jaxlib wraps and SciPy brings.

They work in place, on matrices in Fortran's order: XLA transposes around them where it must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_xla.lapack import character, lapack_name
from tangrad._backend_xla.matrices import call_matrices, conjugate, factor_or_nan, triangular_solve
from tangrad.core import RuleSet
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue


lower = RuleSet("lower.xla.cpu", api=1)


@lower.rule(p.cholesky_p)
def _cholesky(ctx: FunctionContext, x: IrValue) -> IrValue:
    aval = ctx.out_aval
    name = lapack_name("potrf", aval.dtype)
    assert name is not None, "the primitive takes no other dtypes"
    return factor_or_nan(ctx, name, x, uplo=character("L"))


@lower.rule(p.triangular_solve_p)
def _triangular_solve(
    ctx: FunctionContext,
    a: IrValue,
    b: IrValue,
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> IrValue:
    name = lapack_name("trsm", ctx.out_aval.dtype)
    if name is None:  # narrow floats
        return triangular_solve(
            ctx,
            a,
            b,
            left_side=left_side,
            lower=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
            unit_diagonal=unit_diagonal,
        )
    if conjugate_a and not transpose_a:
        a, conjugate_a = conjugate(ctx, a, ctx.in_avals[0]), False
    (out,) = call_matrices(
        ctx,
        name,
        [ctx.out_aval],
        [a, b],
        1,
        side=character("L" if left_side else "R"),
        uplo=character("L" if lower else "U"),
        trans_x=character(("C" if conjugate_a else "T") if transpose_a else "N"),
        diag=character("U" if unit_diagonal else "N"),
    )
    return out
