# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.numpy.linear_algebra import cross as cross
from tangrad.numpy.linear_algebra import diagonal as diagonal
from tangrad.numpy.linear_algebra import matrix_power as matrix_power
from tangrad.numpy.linear_algebra import matrix_transpose as matrix_transpose
from tangrad.numpy.linear_algebra import multi_dot as multi_dot
from tangrad.numpy.linear_algebra import outer as outer
from tangrad.numpy.linear_algebra import trace as trace
from tangrad.numpy.linear_systems import cond as cond
from tangrad.numpy.linear_systems import det as det
from tangrad.numpy.linear_systems import inv as inv
from tangrad.numpy.linear_systems import lstsq as lstsq
from tangrad.numpy.linear_systems import matrix_rank as matrix_rank
from tangrad.numpy.linear_systems import pinv as pinv
from tangrad.numpy.linear_systems import slogdet as slogdet
from tangrad.numpy.linear_systems import solve as solve
from tangrad.numpy.linear_systems import tensorinv as tensorinv
from tangrad.numpy.linear_systems import tensorsolve as tensorsolve
from tangrad.numpy.matrix_factors import cholesky as cholesky
from tangrad.numpy.matrix_factors import eig as eig
from tangrad.numpy.matrix_factors import eigh as eigh
from tangrad.numpy.matrix_factors import eigvals as eigvals
from tangrad.numpy.matrix_factors import eigvalsh as eigvalsh
from tangrad.numpy.matrix_factors import qr as qr
from tangrad.numpy.matrix_factors import svd as svd
from tangrad.numpy.matrix_factors import svdvals as svdvals
from tangrad.numpy.norms import matrix_norm as matrix_norm
from tangrad.numpy.norms import norm as norm
from tangrad.numpy.norms import vector_norm as vector_norm
from tangrad.numpy.products import matmul as matmul
from tangrad.numpy.products import tensordot as tensordot
from tangrad.numpy.products import vecdot as vecdot

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
