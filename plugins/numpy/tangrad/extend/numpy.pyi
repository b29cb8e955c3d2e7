# Written by `python -m tools.generate_api` from the table of the door: do not edit.

from tangrad._numpy.analytic import sqrt as sqrt
from tangrad._numpy.arithmetic import (
    abs as abs,
    divide as divide,
    floor_divide as floor_divide,
    minimum as minimum,
    multiply as multiply,
    power as power,
    remainder as remainder,
    sign as sign,
)
from tangrad._numpy.axes import (
    matrix_transpose as matrix_transpose,
    swapaxes as swapaxes,
)
from tangrad._numpy.conversion import (
    asarray as asarray,
    placed as placed,
    stacked as stacked,
)
from tangrad._numpy.creation import (
    eye as eye,
    zeros as zeros,
    zeros_like as zeros_like,
)
from tangrad._numpy.dtype_functions import finfo as finfo
from tangrad._numpy.fusing import (
    Fused as Fused,
    as_one as as_one,
)
from tangrad._numpy.joining import concatenate as concatenate
from tangrad._numpy.linear_systems import (
    det as det,
    inv as inv,
    solve as solve,
)
from tangrad._numpy.matrices import (
    diagonal as diagonal,
    tril as tril,
    triu as triu,
)
from tangrad._numpy.matrix_factors import (
    cholesky as cholesky,
    eigh as eigh,
    qr as qr,
    svd as svd,
)
from tangrad._numpy.matrix_operands import (
    inexact_matrix as inexact_matrix,
    square_matrix as square_matrix,
)
from tangrad._numpy.nan_reductions import (
    nanmax as nanmax,
    nanmin as nanmin,
)
from tangrad._numpy.norms import norm as norm
from tangrad._numpy.numerical import (
    convolve as convolve,
    correlate as correlate,
    interpolation as interpolation,
)
from tangrad._numpy.operands import (
    array_operand as array_operand,
    broadcast_all as broadcast_all,
    broadcast_shape as broadcast_shape,
    canonical_axes as canonical_axes,
    canonical_axis as canonical_axis,
    canonical_shape as canonical_shape,
    cast as cast,
    check_array_like as check_array_like,
    convert as convert,
    index_argument as index_argument,
    is_complex as is_complex,
    is_kind as is_kind,
    promote as promote,
    promote_inexact as promote_inexact,
    promote_numeric as promote_numeric,
    user_dtype as user_dtype,
)
from tangrad._numpy.padding import pad as pad
from tangrad._numpy.positions import unravel_index as unravel_index
from tangrad._numpy.products import matmul as matmul
from tangrad._numpy.ranges import arange as arange
from tangrad._numpy.reduced_axes import split_names as split_names
from tangrad._numpy.reductions import (
    max as max,
    sum as sum,
)
from tangrad._numpy.refusals import (
    check_dtypes as check_dtypes,
    check_promotion as check_promotion,
    check_rank_promotion as check_rank_promotion,
    shape_of as shape_of,
)
from tangrad._numpy.rounding import (
    ceil as ceil,
    copysign as copysign,
    fmax as fmax,
    fmin as fmin,
    heaviside as heaviside,
    trunc as trunc,
)
from tangrad._numpy.searching import searchsorted as searchsorted
from tangrad._numpy.selection import where as where
from tangrad._numpy.set_operations import isin as isin
from tangrad._numpy.shapes import broadcast_to as broadcast_to
from tangrad._numpy.tiling import (
    repeat as repeat,
    roll as roll,
)
from tangrad._numpy.transcendental import (
    hypot as hypot,
    log2 as log2,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
)
from tangrad._numpy.weak_types import strong as strong

__all__ = [
    "Fused",
    "abs",
    "arange",
    "array_operand",
    "as_one",
    "asarray",
    "broadcast_all",
    "broadcast_shape",
    "broadcast_to",
    "canonical_axes",
    "canonical_axis",
    "canonical_shape",
    "cast",
    "ceil",
    "check_array_like",
    "check_dtypes",
    "check_promotion",
    "check_rank_promotion",
    "cholesky",
    "concatenate",
    "convert",
    "convolve",
    "copysign",
    "correlate",
    "det",
    "diagonal",
    "divide",
    "eigh",
    "eye",
    "finfo",
    "floor_divide",
    "fmax",
    "fmin",
    "heaviside",
    "hypot",
    "index_argument",
    "inexact_matrix",
    "interpolation",
    "inv",
    "is_complex",
    "is_kind",
    "isin",
    "log2",
    "logaddexp",
    "logaddexp2",
    "matmul",
    "matrix_transpose",
    "max",
    "minimum",
    "multiply",
    "nanmax",
    "nanmin",
    "norm",
    "pad",
    "placed",
    "power",
    "promote",
    "promote_inexact",
    "promote_numeric",
    "qr",
    "remainder",
    "repeat",
    "roll",
    "searchsorted",
    "shape_of",
    "sign",
    "solve",
    "split_names",
    "sqrt",
    "square_matrix",
    "stacked",
    "strong",
    "sum",
    "svd",
    "swapaxes",
    "tril",
    "triu",
    "trunc",
    "unravel_index",
    "user_dtype",
    "where",
    "zeros",
    "zeros_like",
]
