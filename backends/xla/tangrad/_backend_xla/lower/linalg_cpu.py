"""Factorisations, solutions and decompositions on CPUs: LAPACK and BLAS, whose functions jaxlib wraps and SciPy brings.

They work in place, on matrices in Fortran's order: XLA transposes around them where it must.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla import matrices as d
from tangrad._backend_xla.helpers import full
from tangrad._backend_xla.library_functions import character, lapack_name
from tangrad._backend_xla.matrices import call_matrices, conjugate, factor_or_nan, triangular_solve, where_succeeded
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.extend import lax
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


decompositions = RuleSet("lower.xla.cpu", api=1)
systems = RuleSet("lower.xla.cpu", api=1)


def _name(ctx: FunctionContext, function: str, unitary: str | None = None) -> str:
    """LAPACK's name of a function for the first operand.

    `unitary`: what it calls the function of complex matrices, where that is named after unitary ones.
    """
    dtype = ctx.in_avals[0].dtype
    is_complex = dtypes.issubdtype(dtype, np.complexfloating)
    name = lapack_name(unitary if unitary and is_complex else function, dtype)
    assert name is not None, "the primitives take no other dtypes"
    return name


def _triangle(lower: bool) -> np.unsignedinteger:
    return character("L" if lower else "U")


def _wanted(vectors: bool) -> np.ndarray | np.generic:
    return character("V" if vectors else "N")


decompositions.table(
    {
        lax.lu_p: lambda ctx, x: d.lu(ctx, x, _name(ctx, "getrf")),
        lax.geqrf_p: lambda ctx, a: d.geqrf(ctx, a, _name(ctx, "geqrf")),
        lax.geqp3_p: lambda ctx, a: d.geqp3(ctx, a, _name(ctx, "geqp3")),
        lax.householder_product_p: lambda ctx, a, taus: d.householder_product(
            ctx, a, taus, _name(ctx, "orgqr", "ungqr")
        ),
        lax.eigh_p: lambda ctx, x, *, lower: d.eigh(
            ctx, x, _name(ctx, "syevd", "heevd"), mode=character("V"), uplo=_triangle(lower)
        ),
        lax.tridiagonal_p: lambda ctx, a, *, lower: d.tridiagonal(
            ctx, a, _name(ctx, "sytrd", "hetrd"), uplo=_triangle(lower)
        ),
    }
)


@decompositions.rule(lax.svd_p)
def _svd(ctx: FunctionContext, x: IrValue, *, full_matrices: bool, compute_uv: bool) -> tuple[IrValue, ...]:
    if d.is_empty(ctx):
        return d.identities(ctx)
    aval = ctx.in_avals[0]
    batch, (rows, columns) = aval.shape[:-2], aval.shape[-2:]
    least = min(rows, columns)
    values_aval = ShapedArray((*batch, least), dtypes.to_floating_dtype(aval.dtype))
    inner = (rows, columns) if full_matrices else (least, least)
    left, right = aval.update(shape=(*batch, rows, inner[0])), aval.update(shape=(*batch, inner[1], columns))
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    avals = [aval, values_aval, left, right, d.info_of(aval)]
    _, values, u, vh, info = call_matrices(ctx, _name(ctx, "gesdd"), avals, [x], 0, mode=character(mode))
    if not compute_uv:
        return d.or_nan(ctx, info, (values,), (values_aval,))
    return d.or_nan(ctx, info, (u, values, vh), (left, values_aval, right))


@decompositions.rule(lax.eig_p)
def _eig(
    ctx: FunctionContext,
    x: IrValue,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
) -> tuple[IrValue, ...]:
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    letters = {"compute_left": _wanted(wanted[0]), "compute_right": _wanted(wanted[1])}
    return d.eig(ctx, x, _name(ctx, "geev"), wanted, **letters)


@decompositions.rule(lax.schur_p)
def _schur(ctx: FunctionContext, x: IrValue, *, compute_schur_vectors: bool) -> tuple[IrValue, ...]:
    if d.is_empty(ctx):
        return d.identities(ctx)
    aval = ctx.in_avals[0]
    is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
    values = aval.update(shape=aval.shape[:-1])
    info = d.info_of(aval)
    avals = [aval, aval, *[values] * (1 if is_complex else 2), info, info]
    letters: dict[str, Any] = {"mode": _wanted(compute_schur_vectors), "sort": character("N")}
    outs = call_matrices(ctx, _name(ctx, "gees"), avals, [x], 0, **letters)
    kept = outs[:2] if compute_schur_vectors else outs[:1]
    return d.or_nan(ctx, outs[-1], kept, ctx.out_avals)


@decompositions.rule(lax.hessenberg_p)
def _hessenberg(ctx: FunctionContext, a: IrValue) -> tuple[IrValue, ...]:
    aval = ctx.in_avals[0]
    if aval.shape[-1] < 2 or 0 in aval.shape:
        return a, full(ctx, 0, ctx.out_avals[1])
    bounds: dict[str, Any] = {"low": np.int32(1), "high": np.int32(aval.shape[-1])}
    *outs, info = call_matrices(ctx, _name(ctx, "gehrd"), [*ctx.out_avals, d.info_of(aval)], [a], 0, **bounds)
    return d.or_nan(ctx, info, outs, ctx.out_avals)


@systems.rule(lax.tridiagonal_solve_p)
def _tridiagonal_solve(
    ctx: FunctionContext, dl: IrValue, d_: IrValue, du: IrValue, b: IrValue, *, perturb_singular: bool
) -> IrValue:
    aval = ctx.out_aval
    if 0 in aval.shape:
        return b
    if perturb_singular:
        jaxlib_calls.register_lapack()
        return call_matrices(ctx, "tridiagonal_solve_perturbed_ffi", [aval], [dl, d_, du, b], None)[0]
    avals = [*ctx.in_avals, d.info_of(aval)]
    *_, out, info = call_matrices(ctx, _name(ctx, "gtsv"), avals, [dl, d_, du, b], {0: 0, 1: 1, 2: 2, 3: 3})
    return where_succeeded(ctx, info, avals[-1], out, aval)
