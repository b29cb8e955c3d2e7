"""How factorisations, solutions, decompositions, linear systems and determinants become NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.decompositions import factorisations, forms
from tangrad._backend_numpy.decompositions.forms import solve, tridiagonal_solve
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import composed, kernel
from tangrad.core import RuleSet, dtypes
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


lower = RuleSet("lower.numpy", api=1)


def _call(ctx: Lowering, function: object, *values: Value) -> Value:
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
    return _call(ctx, factorisations.cholesky, x)


@composed(lower, p.cholesky_update_p)
def _cholesky_update(ctx: Lowering, matrix: Value, vector: Value) -> Value:
    return _call(ctx, factorisations.cholesky_update, matrix, vector)


@composed(lower, p.triangular_solve_p)
def _triangular_solve(ctx: Lowering, a: Value, b: Value, **params: Any) -> Value:
    return _call(ctx, partial(factorisations.triangular_solve, **params), a, b)


@kernel(lower, p.lu_p, nature=FRESH)
def _lu(ctx: Lowering) -> Callable[..., tuple[np.ndarray, ...]]:
    return factorisations.lu


@kernel(lower, p.lu_pivots_to_permutation_p, nature=FRESH)
def _lu_pivots_to_permutation(ctx: Lowering, *, permutation_size: int) -> partial[np.ndarray]:
    return partial(factorisations.permutation, size=permutation_size)


@kernel(lower, p.geqrf_p, nature=FRESH)
def _geqrf(ctx: Lowering) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    return factorisations.geqrf


@kernel(lower, p.geqp3_p, nature=FRESH)
def _geqp3(ctx: Lowering) -> Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]]:
    return factorisations.geqp3


@kernel(lower, p.householder_product_p, nature=FRESH)
def _householder_product(ctx: Lowering) -> Callable[..., np.ndarray]:
    return factorisations.householder_product


@kernel(lower, p.qr_p, nature=FRESH)
def _qr(ctx: Lowering, **params: Any) -> Callable[..., tuple[np.ndarray, ...]]:
    return partial(factorisations.qr, **params)


@kernel(lower, p.svd_p, nature=FRESH)
def _svd(ctx: Lowering, **params: Any) -> Callable[..., tuple[np.ndarray, ...]]:
    return partial(factorisations.svd, **params)


@kernel(lower, p.eigh_p, nature=FRESH)
def _eigh(ctx: Lowering, *, lower: bool) -> Callable[..., tuple[np.ndarray, ...]]:
    return partial(factorisations.eigh, lower=lower)


@kernel(lower, p.eig_p, nature=FRESH)
def _eig(
    ctx: Lowering, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool
) -> Callable[..., tuple[np.ndarray, ...]]:
    return partial(forms.eig, left=compute_left_eigenvectors, right=compute_right_eigenvectors)


@kernel(lower, p.schur_p, nature=FRESH)
def _schur(ctx: Lowering, *, compute_schur_vectors: bool) -> partial[tuple[np.ndarray, ...]]:
    return partial(forms.schur, vectors=compute_schur_vectors)


@kernel(lower, p.hessenberg_p, nature=FRESH)
def _hessenberg(ctx: Lowering) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    return forms.hessenberg


@kernel(lower, p.tridiagonal_p, nature=FRESH)
def _tridiagonal(ctx: Lowering, *, lower: bool) -> partial[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    return partial(forms.tridiagonal, lower=lower)


# --- systems: a family of its own ---


@kernel(lower, p.solve_p, nature=FRESH)
def _solve(ctx: Lowering) -> Callable[..., np.ndarray]:
    return solve


@kernel(lower, p.determinant_p, nature=FRESH)
def _determinant(ctx: Lowering) -> Callable[..., np.ndarray]:
    return np.linalg.det


@kernel(lower, p.tridiagonal_solve_p, nature=FRESH)
def _tridiagonal_solve(ctx: Lowering, *, perturb_singular: bool) -> Callable[..., np.ndarray]:
    return partial(tridiagonal_solve, perturbed=perturb_singular)
