# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.numpy.linear_algebra import cholesky as cholesky
from tangrad.numpy.linear_algebra import diagonal as diagonal
from tangrad.numpy.linear_algebra import matrix_norm as matrix_norm
from tangrad.numpy.linear_algebra import matrix_power as matrix_power
from tangrad.numpy.linear_algebra import matrix_transpose as matrix_transpose
from tangrad.numpy.linear_algebra import multi_dot as multi_dot
from tangrad.numpy.linear_algebra import norm as norm
from tangrad.numpy.linear_algebra import outer as outer
from tangrad.numpy.linear_algebra import trace as trace
from tangrad.numpy.linear_algebra import vector_norm as vector_norm
from tangrad.numpy.products import cross as cross
from tangrad.numpy.products import matmul as matmul
from tangrad.numpy.products import tensordot as tensordot
from tangrad.numpy.products import vecdot as vecdot

__all__ = [
    "cholesky",
    "cross",
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
