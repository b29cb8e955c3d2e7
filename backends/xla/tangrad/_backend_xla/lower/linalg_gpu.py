"""Factorisations, solutions and decompositions on GPUs: the functions of cuSOLVER and cuSPARSE (on AMD's, hipSOLVER and
hipSPARSE) that JAX's plugins wrap, and for what these do not have MAGMA's or LAPACK's, on the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tangrad._backend_xla import jaxlib_calls
from tangrad._backend_xla import matrices as d
from tangrad._backend_xla.helpers import custom_call, part, transpose
from tangrad._backend_xla.library_functions import library_name, rules_for_gpus
from tangrad._backend_xla.matrices import (
    call_matrices,
    cholesky_update,
    column_major,
    conjugate,
    factor_or_nan,
    permutation_of_pivots,
)
from tangrad.core import ShapedArray, dtypes
from tangrad.extend import lax
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


if TYPE_CHECKING:
    _Svd: TypeAlias = tuple[IrValue, Any, Any, IrValue]  # values, U, Vᴴ where they are asked for, the report

# Up to which size the method of Jacobi is used for singular values, and up to which its function computes many
# matrices together, which makes no economical factors.
JACOBI, TOGETHER = 1024, 32
HYBRID = {"magma": "auto"}  # MAGMA where it is found, else LAPACK


def _hybrid_name(ctx: FunctionContext, function: str) -> str:
    jaxlib_calls.initialize_hybrid_functions()
    return library_name(ctx, f"hybrid_{function}")


# --- LU ------------------------------------------------------------------------------------------------------------


def _permutation(ctx: FunctionContext, pivots: IrValue, aval: ShapedArray, size: int) -> IrValue:
    out = aval.update(shape=(*aval.shape[:-1], size))
    layouts: dict[str, Any] = {
        "operand_layouts": column_major([aval], None),
        "result_layouts": column_major([out], None),
    }
    return custom_call(ctx, library_name(ctx, "_lu_pivots_to_permutation"), [out], [pivots], **layouts)[0]


def _lu_pivots_to_permutation(ctx: FunctionContext, pivots: IrValue, *, permutation_size: int) -> IrValue:
    aval = ctx.in_avals[0]
    if dtypes.dtype_name(aval.dtype) == "int32" and 0 not in ctx.out_aval.shape:
        return _permutation(ctx, pivots, aval, permutation_size)
    return permutation_of_pivots(ctx, pivots, aval, permutation_size)


# --- singular values, eigenvalues ----------------------------------------------------------------------------------


def _svd(ctx: FunctionContext, x: IrValue, *, full_matrices: bool, compute_uv: bool) -> tuple[IrValue, ...]:
    if d.is_empty(ctx):
        return d.identities(ctx)
    by_jacobi = max(ctx.in_avals[0].shape[-2:]) <= JACOBI
    found = (_svd_by_jacobi if by_jacobi else _svd_by_qr)(ctx, x, full_matrices, compute_uv)
    values, u, vh, info = found
    if not compute_uv:
        return d.or_nan(ctx, info, (values,), ctx.out_avals)
    return d.or_nan(ctx, info, (u, values, vh), ctx.out_avals)


def _svd_avals(aval: ShapedArray, left: tuple[int, int], right: tuple[int, int]) -> list[ShapedArray]:
    """The types of what the functions return: the matrix overwritten, the values, two matrices, the report."""
    batch, least = aval.shape[:-2], min(aval.shape[-2:])
    values = ShapedArray((*batch, least), dtypes.to_floating_dtype(aval.dtype))
    matrices = [aval.update(shape=(*batch, *shape)) for shape in (left, right)]
    return [aval, values, *matrices, d.info_of(aval)]


def _svd_by_jacobi(ctx: FunctionContext, x: IrValue, full_matrices: bool, compute_uv: bool) -> _Svd:
    """The function returns V, not its adjoint."""
    aval = ctx.in_avals[0]
    rows, columns = aval.shape[-2:]
    least = min(rows, columns)
    whole = full_matrices or max(rows, columns) <= TOGETHER
    avals = _svd_avals(aval, (rows, rows if whole else least), (columns, columns if whole else least))
    options: dict[str, Any] = {"compute_uv": compute_uv, "full_matrices": whole}
    name = library_name(ctx, "solver_gesvdj_ffi")
    _, values, u, v, info = call_matrices(ctx, name, avals, [x], 0, **options)
    if not compute_uv:
        return values, None, None, info
    u_aval, _, vh_aval = ctx.out_avals
    if whole and not full_matrices:
        u = _first_columns(ctx, u, avals[2], u_aval)
        v = _first_columns(ctx, v, avals[3], _transposed(vh_aval))
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        v = conjugate(ctx, v, _transposed(vh_aval))
    rank = aval.ndim
    return values, u, transpose(ctx, v, vh_aval, (*range(rank - 2), rank - 1, rank - 2)), info


def _transposed(aval: ShapedArray) -> ShapedArray:
    return aval.update(shape=(*aval.shape[:-2], aval.shape[-1], aval.shape[-2]))


def _first_columns(ctx: FunctionContext, x: IrValue, aval: ShapedArray, out: ShapedArray) -> IrValue:
    return x if aval == out else part(ctx, x, out, (0,) * aval.ndim, out.shape, (1,) * aval.ndim)


def _svd_by_qr(
    ctx: FunctionContext, x: IrValue, full_matrices: bool, compute_uv: bool
) -> tuple[IrValue, IrValue, IrValue, IrValue]:
    """The function wants no fewer rows than columns: a wide matrix is passed as it is stored, in C's order, which is
    its transpose in Fortran's; what comes back for U is then Vᴴ, in C's order, and the other way round.
    """
    aval = ctx.in_avals[0]
    rows, columns = aval.shape[-2:]
    is_wide = rows < columns
    tall, narrow = max(rows, columns), min(rows, columns)
    right = narrow, narrow
    if compute_uv:
        left = tall, tall if full_matrices else narrow
        avals = _svd_avals(aval, left[::-1] if is_wide else left, right)
    else:  # in the place of the vectors it wants anything, for the whole batch
        avals = _svd_avals(aval, right, right)
        avals[2] = avals[3] = ShapedArray((), aval.dtype)
    options = {"compute_uv": compute_uv, "full_matrices": full_matrices, "transposed": is_wide}
    rank = None if is_wide else aval.ndim  # of the arrays in Fortran's order: none, or those of matrices
    _, values, u, vh, info = custom_call(
        ctx,
        library_name(ctx, "solver_gesvd_ffi"),
        avals,
        [x],
        backend_config=options,
        aliases={0: 0},
        operand_layouts=column_major([aval], rank),
        result_layouts=column_major(avals, rank),
    )
    return (values, vh, u, info) if is_wide else (values, u, vh, info)


def _eig(
    ctx: FunctionContext,
    x: IrValue,
    *,
    compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool,
    enable_eigvec_derivs: bool,
) -> tuple[IrValue, ...]:
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    is_complex = dtypes.issubdtype(ctx.in_avals[0].dtype, np.complexfloating)
    name = _hybrid_name(ctx, "eig_comp" if is_complex else "eig_real")
    return d.eig(ctx, x, name, wanted, left=wanted[0], right=wanted[1], **HYBRID)


# --- systems -------------------------------------------------------------------------------------------------------


def _tridiagonal_solve(
    ctx: FunctionContext, dl: IrValue, diagonal: IrValue, du: IrValue, b: IrValue, *, perturb_singular: bool
) -> IrValue:
    if 0 in ctx.out_aval.shape:
        return b
    if perturb_singular:
        name, aliases = library_name(ctx, "_tridiagonal_solve_perturbed"), {}
    else:
        name, aliases = library_name(ctx, "sparse_gtsv2_ffi"), {0: 3}
    (out,) = call_matrices(ctx, name, [ctx.out_aval], [dl, diagonal, du, b], aliases)
    return out


_NO_FUNCTION = "no library of a GPU has it: only LAPACK, on CPUs"

cuda_decompositions, rocm_decompositions = rules_for_gpus(
    {
        lax.lu_p: lambda ctx, x: d.lu(ctx, x, library_name(ctx, "solver_getrf_ffi"), _permutation),
        lax.lu_pivots_to_permutation_p: _lu_pivots_to_permutation,
        lax.geqrf_p: lambda ctx, a: d.geqrf(ctx, a, library_name(ctx, "solver_geqrf_ffi")),
        lax.geqp3_p: lambda ctx, a: d.geqp3(ctx, a, _hybrid_name(ctx, "geqp3"), **HYBRID),
        lax.householder_product_p: lambda ctx, a, taus: d.householder_product(
            ctx, a, taus, library_name(ctx, "solver_orgqr_ffi")
        ),
        lax.svd_p: _svd,
        lax.eigh_p: lambda ctx, x, *, lower: d.eigh(
            ctx, x, library_name(ctx, "solver_syevd_ffi"), lower=lower, algorithm=np.uint8(0)
        ),
        lax.eig_p: _eig,
        lax.tridiagonal_p: lambda ctx, a, *, lower: d.tridiagonal(
            ctx, a, library_name(ctx, "solver_sytrd_ffi"), lower=lower
        ),
    },
    {_NO_FUNCTION: (lax.schur_p, lax.hessenberg_p)},
)
cuda_systems, rocm_systems = rules_for_gpus({lax.tridiagonal_solve_p: _tridiagonal_solve})
