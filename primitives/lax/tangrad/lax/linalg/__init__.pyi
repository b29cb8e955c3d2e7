# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.lax.linalg.functions import cholesky as cholesky
from tangrad.lax.linalg.functions import cholesky_update as cholesky_update
from tangrad.lax.linalg.functions import triangular_solve as triangular_solve
from tangrad.linalg.algorithms import EigImplementation as EigImplementation
from tangrad.linalg.algorithms import EighImplementation as EighImplementation
from tangrad.linalg.algorithms import SvdAlgorithm as SvdAlgorithm
from tangrad.linalg.functions import eig as eig
from tangrad.linalg.functions import eigh as eigh
from tangrad.linalg.functions import householder_product as householder_product
from tangrad.linalg.functions import lu as lu
from tangrad.linalg.functions import lu_pivots_to_permutation as lu_pivots_to_permutation
from tangrad.linalg.functions import ormqr as ormqr
from tangrad.linalg.functions import qr as qr
from tangrad.linalg.functions import svd as svd
from tangrad.linalg.functions import symmetric_product as symmetric_product
from tangrad.linalg.polar import qdwh as qdwh
from tangrad.linalg.reduced_forms import hessenberg as hessenberg
from tangrad.linalg.reduced_forms import schur as schur
from tangrad.linalg.reduced_forms import tridiagonal as tridiagonal
from tangrad.linalg.reduced_forms import tridiagonal_solve as tridiagonal_solve

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
