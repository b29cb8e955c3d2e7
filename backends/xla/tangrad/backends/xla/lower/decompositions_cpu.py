"""Decompositions and tridiagonal systems on CPUs: the functions of LAPACK that jaxlib wraps."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.backends.xla.helpers import broadcast, compare, full, iota
from tangrad.backends.xla.lapack import character, lapack_name
from tangrad.backends.xla.matrices import BOOL, INDEX, INFO, call_matrices, where_succeeded
from tangrad.backends.xla.pivots import permutation_of_pivots
from tangrad.core import RuleSet, ShapedArray, dtypes
from tangrad.linalg import primitives as p
from tangrad.linalg import systems as q

lower = RuleSet("lower.xla.cpu", api=1)
systems = RuleSet("lower.xla.cpu", api=1)


def _name(function: str, dtype: Any) -> str:
    name = lapack_name(function, dtype)
    assert name is not None, "the primitives take no other dtypes"
    return name


def _unitary(real: str, complex_: str, dtype: Any) -> str:
    """A function that LAPACK names after orthogonal matrices for real dtypes, after unitary ones for complex."""
    return _name(complex_ if dtypes.issubdtype(dtype, np.complexfloating) else real, dtype)


def _info(aval: Any) -> Any:
    return ShapedArray(aval.shape[:-2], INFO)


def _empty(ctx: Any) -> bool:
    return 0 in ctx.in_avals[0].shape


def _identities(ctx: Any) -> tuple[Any, ...]:
    """The results of decompositions of nothing: identities where there are matrices."""
    return tuple([_identity(ctx, aval) for aval in ctx.out_avals])


def _identity(ctx: Any, aval: Any) -> Any:
    zeros = full(ctx, 0, aval)
    if 0 in aval.shape or aval.ndim < 2:
        return zeros
    index = ShapedArray(aval.shape[-2:], INDEX)
    mask = compare(ctx, "EQ", iota(ctx, index, 0), iota(ctx, index, 1), index)
    everywhere = broadcast(ctx, mask, aval.update(dtype=BOOL), (aval.ndim - 2, aval.ndim - 1))
    return ctx.op("stablehlo.select", ctx.types[aval], (everywhere, full(ctx, 1, aval), zeros))


def _where_succeeded(ctx: Any, info: Any, values: Any, avals: Any) -> tuple[Any, ...]:
    """Those results, NaN for the matrices that LAPACK failed with."""
    info_aval = _info(ctx.in_avals[0])
    return tuple([where_succeeded(ctx, info, info_aval, value, aval) for value, aval in zip(values, avals)])


# --- LU and QR -----------------------------------------------------------------------------------------------------


@lower.rule(p.lu_p)
def _lu(ctx: Any, x: Any) -> Any:
    aval, pivots_aval, order_aval = ctx.out_avals
    if 0 in aval.shape:
        return x, full(ctx, 0, pivots_aval), iota(ctx, order_aval, order_aval.ndim - 1)
    # A zero on the diagonal of U is no failure.
    factors, pivots, _ = call_matrices(ctx, _name("getrf", aval.dtype), [aval, pivots_aval, _info(aval)], [x], 0)
    one = full(ctx, 1, pivots_aval)
    pivots = ctx.op("stablehlo.subtract", ctx.types[pivots_aval], (pivots, one))
    return factors, pivots, permutation_of_pivots(ctx, pivots, pivots_aval, order_aval.shape[-1])


@lower.rule(p.geqrf_p)
def _geqrf(ctx: Any, a: Any) -> Any:
    if _empty(ctx):
        return a, full(ctx, 0, ctx.out_avals[1])
    return tuple(call_matrices(ctx, _name("geqrf", ctx.in_avals[0].dtype), ctx.out_avals, [a], 0))


@lower.rule(p.geqp3_p)
def _geqp3(ctx: Any, a: Any) -> Any:
    aval, taus_aval, order_aval = ctx.out_avals
    if _empty(ctx):
        return a, full(ctx, 0, taus_aval), iota(ctx, order_aval, order_aval.ndim - 1)
    # Zeros leave every column free.
    packed, order, taus = call_matrices(
        ctx,
        _name("geqp3", aval.dtype),
        [aval, order_aval, taus_aval],
        [a, full(ctx, 0, order_aval)],
        {0: 0, 1: 1},
        in_avals=[aval, order_aval],
    )
    order = ctx.op("stablehlo.subtract", ctx.types[order_aval], (order, full(ctx, 1, order_aval)))
    return packed, taus, order


@lower.rule(p.householder_product_p)
def _householder_product(ctx: Any, a: Any, taus: Any) -> Any:
    aval = ctx.out_aval
    if 0 in aval.shape:
        return a
    if ctx.in_avals[1].shape[-1] == 0:
        return _identity(ctx, aval)
    (out,) = call_matrices(ctx, _unitary("orgqr", "ungqr", aval.dtype), [aval], [a, taus], 0)
    return out


# --- singular values, eigenvalues ----------------------------------------------------------------------------------


@lower.rule(p.svd_p)
def _svd(ctx: Any, x: Any, *, full_matrices: bool, compute_uv: bool) -> Any:
    if _empty(ctx):
        return _identities(ctx)
    aval = ctx.in_avals[0]
    batch, (rows, columns) = aval.shape[:-2], aval.shape[-2:]
    least = min(rows, columns)
    values_aval = ShapedArray((*batch, least), dtypes.to_floating_dtype(aval.dtype))
    inner = (rows, columns) if full_matrices else (least, least)
    left, right = aval.update(shape=(*batch, rows, inner[0])), aval.update(shape=(*batch, inner[1], columns))
    mode = ("A" if full_matrices else "S") if compute_uv else "N"
    avals = [aval, values_aval, left, right, _info(aval)]
    _, values, u, vh, info = call_matrices(ctx, _name("gesdd", aval.dtype), avals, [x], 0, mode=character(mode))
    if not compute_uv:
        return _where_succeeded(ctx, info, (values,), (values_aval,))
    return _where_succeeded(ctx, info, (u, values, vh), (left, values_aval, right))


@lower.rule(p.eigh_p)
def _eigh(ctx: Any, x: Any, *, lower: bool) -> Any:
    if _empty(ctx):
        return _identities(ctx)
    aval = ctx.in_avals[0]
    letters: dict[str, Any] = {"mode": character("V"), "uplo": character("L" if lower else "U")}
    avals = [*ctx.out_avals, _info(aval)]
    *outs, info = call_matrices(ctx, _unitary("syevd", "heevd", aval.dtype), avals, [x], 0, **letters)
    return _where_succeeded(ctx, info, outs, ctx.out_avals)


@lower.rule(p.eig_p)
def _eig(
    ctx: Any, x: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool
) -> Any:
    if _empty(ctx):
        return _identities(ctx)
    aval, values_aval = ctx.in_avals[0], ctx.out_avals[0]
    vectors = aval.update(dtype=values_aval.dtype)
    real = values_aval.update(dtype=dtypes.to_floating_dtype(aval.dtype))
    is_real = aval.dtype == real.dtype
    wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
    *values, left, right, info = call_matrices(
        ctx,
        _name("geev", aval.dtype),
        [*([real, real] if is_real else [values_aval]), vectors, vectors, _info(aval)],
        [x],
        None,
        compute_left=character("V" if wanted[0] else "N"),
        compute_right=character("V" if wanted[1] else "N"),
    )
    found = ctx.op("stablehlo.complex", ctx.types[values_aval], values) if is_real else values[0]
    outs = [found, *[one for one, kept in zip((left, right), wanted) if kept]]
    return _where_succeeded(ctx, info, outs, ctx.out_avals)


# --- reduced forms -------------------------------------------------------------------------------------------------


@lower.rule(p.schur_p)
def _schur(ctx: Any, x: Any, *, compute_schur_vectors: bool) -> Any:
    if _empty(ctx):
        return _identities(ctx)
    aval = ctx.in_avals[0]
    is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
    values = aval.update(shape=aval.shape[:-1])
    info = _info(aval)
    avals = [aval, aval, *[values] * (1 if is_complex else 2), info, info]
    letters: dict[str, Any] = {"mode": character("V" if compute_schur_vectors else "N"), "sort": character("N")}
    outs = call_matrices(ctx, _name("gees", aval.dtype), avals, [x], 0, **letters)
    kept = outs[:2] if compute_schur_vectors else outs[:1]
    return _where_succeeded(ctx, outs[-1], kept, ctx.out_avals)


@lower.rule(p.hessenberg_p)
def _hessenberg(ctx: Any, a: Any) -> Any:
    aval = ctx.in_avals[0]
    if aval.shape[-1] < 2 or 0 in aval.shape:
        return a, full(ctx, 0, ctx.out_avals[1])
    bounds: dict[str, Any] = {"low": np.int32(1), "high": np.int32(aval.shape[-1])}
    *outs, info = call_matrices(ctx, _name("gehrd", aval.dtype), [*ctx.out_avals, _info(aval)], [a], 0, **bounds)
    return _where_succeeded(ctx, info, outs, ctx.out_avals)


@lower.rule(p.tridiagonal_p)
def _tridiagonal(ctx: Any, a: Any, *, lower: bool) -> Any:
    aval = ctx.in_avals[0]
    if 0 in aval.shape:
        return a, *[full(ctx, 0, out) for out in ctx.out_avals[1:]]
    letters: dict[str, Any] = {"uplo": character("L" if lower else "U")}
    name = _unitary("sytrd", "hetrd", aval.dtype)
    *outs, info = call_matrices(ctx, name, [*ctx.out_avals, _info(aval)], [a], 0, **letters)
    return _where_succeeded(ctx, info, outs, ctx.out_avals)


# --- systems -------------------------------------------------------------------------------------------------------


@systems.rule(q.tridiagonal_solve_p)
def _tridiagonal_solve(ctx: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
    aval = ctx.out_aval
    if 0 in aval.shape:
        return b
    avals = [*ctx.in_avals, _info(aval)]
    name = _name("gtsv", aval.dtype)
    *_, out, info = call_matrices(ctx, name, avals, [dl, d, du, b], {0: 0, 1: 1, 2: 2, 3: 3})
    return where_succeeded(ctx, info, avals[-1], out, aval)
