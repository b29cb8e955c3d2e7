# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._lax.decompositions.algorithms import (
    EigImplementation as EigImplementation,
    EighImplementation as EighImplementation,
    SvdAlgorithm as SvdAlgorithm,
)
from tangrad._lax.decompositions.functions import (
    eig as eig,
    eigh as eigh,
    householder_product as householder_product,
    lu as lu,
    lu_pivots_to_permutation as lu_pivots_to_permutation,
    ormqr as ormqr,
    qr as qr,
    svd as svd,
    symmetric_product as symmetric_product,
)
from tangrad._lax.decompositions.polar import qdwh as qdwh
from tangrad._lax.decompositions.reduced_forms import (
    hessenberg as hessenberg,
    schur as schur,
    tridiagonal as tridiagonal,
    tridiagonal_solve as tridiagonal_solve,
)
from tangrad._lax.linalg.functions import (
    cholesky as cholesky,
    cholesky_update as cholesky_update,
    triangular_solve as triangular_solve,
)

__all__ = [
    "EigImplementation",
    "EighImplementation",
    "SvdAlgorithm",
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "ormqr",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]
