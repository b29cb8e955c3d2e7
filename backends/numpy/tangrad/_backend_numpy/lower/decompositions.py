"""How decompositions, linear systems and determinants become NumPy."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_numpy.decompositions import condensed, orthogonal_factors, schur_form, spectra, triangular_factors
from tangrad._backend_numpy.decompositions.general_systems import solve
from tangrad._backend_numpy.decompositions.tridiagonal_systems import tridiagonal_solve
from tangrad._backend_numpy.functions import FRESH
from tangrad._backend_numpy.kernels import kernel
from tangrad.core import RuleSet
from tangrad.extend import lax as p

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering


lower = RuleSet("lower.numpy", api=1)


@kernel(lower, p.lu_p, nature=FRESH)
def _lu(ctx: Lowering) -> Any:
    return triangular_factors.lu


@kernel(lower, p.lu_pivots_to_permutation_p, nature=FRESH)
def _lu_pivots_to_permutation(ctx: Lowering, *, permutation_size: int) -> Any:
    return partial(triangular_factors.permutation, size=permutation_size)


@kernel(lower, p.geqrf_p, nature=FRESH)
def _geqrf(ctx: Lowering) -> Any:
    return orthogonal_factors.geqrf


@kernel(lower, p.geqp3_p, nature=FRESH)
def _geqp3(ctx: Lowering) -> Any:
    return orthogonal_factors.geqp3


@kernel(lower, p.householder_product_p, nature=FRESH)
def _householder_product(ctx: Lowering) -> Any:
    return orthogonal_factors.householder_product


@kernel(lower, p.qr_p, nature=FRESH)
def _qr(ctx: Lowering, **params: Any) -> Any:
    return partial(orthogonal_factors.qr, **params)


@kernel(lower, p.svd_p, nature=FRESH)
def _svd(ctx: Lowering, **params: Any) -> Any:
    return partial(spectra.svd, **params)


@kernel(lower, p.eigh_p, nature=FRESH)
def _eigh(ctx: Lowering, *, lower: bool) -> Any:
    return partial(spectra.eigh, lower=lower)


@kernel(lower, p.eig_p, nature=FRESH)
def _eig(
    ctx: Lowering, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, enable_eigvec_derivs: bool
) -> Any:
    return partial(spectra.eig, left=compute_left_eigenvectors, right=compute_right_eigenvectors)


@kernel(lower, p.schur_p, nature=FRESH)
def _schur(ctx: Lowering, *, compute_schur_vectors: bool) -> Any:
    return partial(schur_form.schur, vectors=compute_schur_vectors)


@kernel(lower, p.hessenberg_p, nature=FRESH)
def _hessenberg(ctx: Lowering) -> Any:
    return condensed.hessenberg


@kernel(lower, p.tridiagonal_p, nature=FRESH)
def _tridiagonal(ctx: Lowering, *, lower: bool) -> Any:
    return partial(condensed.tridiagonal, lower=lower)


# --- systems: a family of its own ----------------------------------------------------------------------------------


@kernel(lower, p.solve_p, nature=FRESH)
def _solve(ctx: Lowering) -> Any:
    return solve


@kernel(lower, p.determinant_p, nature=FRESH)
def _determinant(ctx: Lowering) -> Any:
    return np.linalg.det


@kernel(lower, p.tridiagonal_solve_p, nature=FRESH)
def _tridiagonal_solve(ctx: Lowering) -> Any:
    return tridiagonal_solve
