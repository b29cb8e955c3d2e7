# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.scipy.matrix_factors import eigh as eigh
from tangrad.scipy.matrix_factors import eigh_tridiagonal as eigh_tridiagonal
from tangrad.scipy.matrix_factors import hessenberg as hessenberg
from tangrad.scipy.matrix_factors import lu as lu
from tangrad.scipy.matrix_factors import polar as polar
from tangrad.scipy.matrix_factors import qr as qr
from tangrad.scipy.matrix_factors import qr_multiply as qr_multiply
from tangrad.scipy.matrix_factors import rsf2csf as rsf2csf
from tangrad.scipy.matrix_factors import schur as schur
from tangrad.scipy.matrix_factors import svd as svd
from tangrad.scipy.matrix_functions import expm as expm
from tangrad.scipy.matrix_functions import expm_frechet as expm_frechet
from tangrad.scipy.matrix_functions import funm as funm
from tangrad.scipy.matrix_functions import solve_sylvester as solve_sylvester
from tangrad.scipy.matrix_functions import sqrtm as sqrtm
from tangrad.scipy.matrix_systems import cho_factor as cho_factor
from tangrad.scipy.matrix_systems import cho_solve as cho_solve
from tangrad.scipy.matrix_systems import cholesky as cholesky
from tangrad.scipy.matrix_systems import det as det
from tangrad.scipy.matrix_systems import inv as inv
from tangrad.scipy.matrix_systems import lu_factor as lu_factor
from tangrad.scipy.matrix_systems import lu_solve as lu_solve
from tangrad.scipy.matrix_systems import solve as solve
from tangrad.scipy.matrix_systems import solve_triangular as solve_triangular
from tangrad.scipy.special_matrices import block_diag as block_diag
from tangrad.scipy.special_matrices import circulant as circulant
from tangrad.scipy.special_matrices import companion as companion
from tangrad.scipy.special_matrices import convolution_matrix as convolution_matrix
from tangrad.scipy.special_matrices import dft as dft
from tangrad.scipy.special_matrices import fiedler as fiedler
from tangrad.scipy.special_matrices import fiedler_companion as fiedler_companion
from tangrad.scipy.special_matrices import hadamard as hadamard
from tangrad.scipy.special_matrices import hankel as hankel
from tangrad.scipy.special_matrices import helmert as helmert
from tangrad.scipy.special_matrices import hilbert as hilbert
from tangrad.scipy.special_matrices import invhilbert as invhilbert
from tangrad.scipy.special_matrices import invpascal as invpascal
from tangrad.scipy.special_matrices import leslie as leslie
from tangrad.scipy.special_matrices import pascal as pascal
from tangrad.scipy.special_matrices import toeplitz as toeplitz

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "circulant",
    "companion",
    "convolution_matrix",
    "det",
    "dft",
    "eigh",
    "eigh_tridiagonal",
    "expm",
    "expm_frechet",
    "fiedler",
    "fiedler_companion",
    "funm",
    "hadamard",
    "hankel",
    "helmert",
    "hessenberg",
    "hilbert",
    "inv",
    "invhilbert",
    "invpascal",
    "leslie",
    "lu",
    "lu_factor",
    "lu_solve",
    "pascal",
    "polar",
    "qr",
    "qr_multiply",
    "rsf2csf",
    "schur",
    "solve",
    "solve_sylvester",
    "solve_triangular",
    "sqrtm",
    "svd",
    "toeplitz",
]
