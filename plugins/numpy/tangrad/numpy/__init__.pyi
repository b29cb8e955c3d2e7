# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.numpy import fft as fft
from tangrad.numpy import linalg as linalg
from tangrad.numpy.arithmetic import abs as abs
from tangrad.numpy.arithmetic import absolute as absolute
from tangrad.numpy.arithmetic import divide as divide
from tangrad.numpy.arithmetic import divmod as divmod
from tangrad.numpy.arithmetic import fabs as fabs
from tangrad.numpy.arithmetic import float_power as float_power
from tangrad.numpy.arithmetic import floor_divide as floor_divide
from tangrad.numpy.arithmetic import fmod as fmod
from tangrad.numpy.arithmetic import gcd as gcd
from tangrad.numpy.arithmetic import lcm as lcm
from tangrad.numpy.arithmetic import mod as mod
from tangrad.numpy.arithmetic import positive as positive
from tangrad.numpy.arithmetic import pow as pow
from tangrad.numpy.arithmetic import power as power
from tangrad.numpy.arithmetic import reciprocal as reciprocal
from tangrad.numpy.arithmetic import remainder as remainder
from tangrad.numpy.arithmetic import sign as sign
from tangrad.numpy.arithmetic import square as square
from tangrad.numpy.arithmetic import true_divide as true_divide
from tangrad.numpy.axes import matrix_transpose as matrix_transpose
from tangrad.numpy.axes import moveaxis as moveaxis
from tangrad.numpy.axes import permute_dims as permute_dims
from tangrad.numpy.axes import rollaxis as rollaxis
from tangrad.numpy.axes import swapaxes as swapaxes
from tangrad.numpy.axes import transpose as transpose
from tangrad.numpy.closeness import allclose as allclose
from tangrad.numpy.closeness import array_equal as array_equal
from tangrad.numpy.closeness import array_equiv as array_equiv
from tangrad.numpy.closeness import isclose as isclose
from tangrad.numpy.constants import e as e
from tangrad.numpy.constants import euler_gamma as euler_gamma
from tangrad.numpy.constants import inf as inf
from tangrad.numpy.constants import nan as nan
from tangrad.numpy.constants import newaxis as newaxis
from tangrad.numpy.constants import pi as pi
from tangrad.numpy.conversion import array as array
from tangrad.numpy.conversion import asarray as asarray
from tangrad.numpy.conversion import astype as astype
from tangrad.numpy.conversion import copy as copy
from tangrad.numpy.covariance import corrcoef as corrcoef
from tangrad.numpy.covariance import cov as cov
from tangrad.numpy.creation import empty as empty
from tangrad.numpy.creation import empty_like as empty_like
from tangrad.numpy.creation import eye as eye
from tangrad.numpy.creation import full as full
from tangrad.numpy.creation import full_like as full_like
from tangrad.numpy.creation import identity as identity
from tangrad.numpy.creation import ones as ones
from tangrad.numpy.creation import ones_like as ones_like
from tangrad.numpy.creation import tri as tri
from tangrad.numpy.creation import zeros as zeros
from tangrad.numpy.creation import zeros_like as zeros_like
from tangrad.numpy.cumulative import cumprod as cumprod
from tangrad.numpy.cumulative import cumsum as cumsum
from tangrad.numpy.cumulative import cumulative_prod as cumulative_prod
from tangrad.numpy.cumulative import cumulative_sum as cumulative_sum
from tangrad.numpy.cumulative import nancumprod as nancumprod
from tangrad.numpy.cumulative import nancumsum as nancumsum
from tangrad.numpy.dtype_functions import ComplexWarning as ComplexWarning
from tangrad.numpy.dtype_functions import can_cast as can_cast
from tangrad.numpy.dtype_functions import dtype as dtype
from tangrad.numpy.dtype_functions import finfo as finfo
from tangrad.numpy.dtype_functions import iinfo as iinfo
from tangrad.numpy.dtype_functions import iscomplexobj as iscomplexobj
from tangrad.numpy.dtype_functions import isdtype as isdtype
from tangrad.numpy.dtype_functions import isrealobj as isrealobj
from tangrad.numpy.dtype_functions import isscalar as isscalar
from tangrad.numpy.dtype_functions import issubdtype as issubdtype
from tangrad.numpy.dtype_functions import iterable as iterable
from tangrad.numpy.dtype_functions import ndarray as ndarray
from tangrad.numpy.dtype_functions import promote_types as promote_types
from tangrad.numpy.dtype_functions import result_type as result_type
from tangrad.numpy.editing import delete as delete
from tangrad.numpy.editing import insert as insert
from tangrad.numpy.einsums import einsum as einsum
from tangrad.numpy.einsums import einsum_path as einsum_path
from tangrad.numpy.grids import c_ as c_
from tangrad.numpy.grids import index_exp as index_exp
from tangrad.numpy.grids import indices as indices
from tangrad.numpy.grids import ix_ as ix_
from tangrad.numpy.grids import meshgrid as meshgrid
from tangrad.numpy.grids import mgrid as mgrid
from tangrad.numpy.grids import ogrid as ogrid
from tangrad.numpy.grids import r_ as r_
from tangrad.numpy.grids import s_ as s_
from tangrad.numpy.histograms import histogram as histogram
from tangrad.numpy.histograms import histogram2d as histogram2d
from tangrad.numpy.histograms import histogram_bin_edges as histogram_bin_edges
from tangrad.numpy.histograms import histogramdd as histogramdd
from tangrad.numpy.joining import append as append
from tangrad.numpy.joining import block as block
from tangrad.numpy.joining import column_stack as column_stack
from tangrad.numpy.joining import concat as concat
from tangrad.numpy.joining import concatenate as concatenate
from tangrad.numpy.joining import dstack as dstack
from tangrad.numpy.joining import hstack as hstack
from tangrad.numpy.joining import stack as stack
from tangrad.numpy.joining import unstack as unstack
from tangrad.numpy.joining import vstack as vstack
from tangrad.numpy.kronecker_and_cross import cross as cross
from tangrad.numpy.kronecker_and_cross import kron as kron
from tangrad.numpy.logic import bitwise_count as bitwise_count
from tangrad.numpy.logic import bitwise_invert as bitwise_invert
from tangrad.numpy.logic import bitwise_left_shift as bitwise_left_shift
from tangrad.numpy.logic import bitwise_not as bitwise_not
from tangrad.numpy.logic import bitwise_right_shift as bitwise_right_shift
from tangrad.numpy.logic import equal as equal
from tangrad.numpy.logic import greater as greater
from tangrad.numpy.logic import greater_equal as greater_equal
from tangrad.numpy.logic import invert as invert
from tangrad.numpy.logic import iscomplex as iscomplex
from tangrad.numpy.logic import isfinite as isfinite
from tangrad.numpy.logic import isinf as isinf
from tangrad.numpy.logic import isnan as isnan
from tangrad.numpy.logic import isneginf as isneginf
from tangrad.numpy.logic import isposinf as isposinf
from tangrad.numpy.logic import isreal as isreal
from tangrad.numpy.logic import left_shift as left_shift
from tangrad.numpy.logic import less as less
from tangrad.numpy.logic import less_equal as less_equal
from tangrad.numpy.logic import logical_not as logical_not
from tangrad.numpy.logic import not_equal as not_equal
from tangrad.numpy.logic import right_shift as right_shift
from tangrad.numpy.logic import signbit as signbit
from tangrad.numpy.matrices import diag as diag
from tangrad.numpy.matrices import diag_indices as diag_indices
from tangrad.numpy.matrices import diag_indices_from as diag_indices_from
from tangrad.numpy.matrices import diagflat as diagflat
from tangrad.numpy.matrices import diagonal as diagonal
from tangrad.numpy.matrices import fill_diagonal as fill_diagonal
from tangrad.numpy.matrices import mask_indices as mask_indices
from tangrad.numpy.matrices import trace as trace
from tangrad.numpy.matrices import tril as tril
from tangrad.numpy.matrices import tril_indices as tril_indices
from tangrad.numpy.matrices import tril_indices_from as tril_indices_from
from tangrad.numpy.matrices import triu as triu
from tangrad.numpy.matrices import triu_indices as triu_indices
from tangrad.numpy.matrices import triu_indices_from as triu_indices_from
from tangrad.numpy.matrices import vander as vander
from tangrad.numpy.memory_and_files import from_dlpack as from_dlpack
from tangrad.numpy.memory_and_files import frombuffer as frombuffer
from tangrad.numpy.memory_and_files import fromfile as fromfile
from tangrad.numpy.memory_and_files import fromiter as fromiter
from tangrad.numpy.memory_and_files import fromstring as fromstring
from tangrad.numpy.nan_reductions import nanargmax as nanargmax
from tangrad.numpy.nan_reductions import nanargmin as nanargmin
from tangrad.numpy.nan_reductions import nanmax as nanmax
from tangrad.numpy.nan_reductions import nanmean as nanmean
from tangrad.numpy.nan_reductions import nanmin as nanmin
from tangrad.numpy.nan_reductions import nanprod as nanprod
from tangrad.numpy.nan_reductions import nanstd as nanstd
from tangrad.numpy.nan_reductions import nansum as nansum
from tangrad.numpy.nan_reductions import nanvar as nanvar
from tangrad.numpy.numerical import convolve as convolve
from tangrad.numpy.numerical import correlate as correlate
from tangrad.numpy.numerical import diff as diff
from tangrad.numpy.numerical import ediff1d as ediff1d
from tangrad.numpy.numerical import gradient as gradient
from tangrad.numpy.numerical import interp as interp
from tangrad.numpy.numerical import trapezoid as trapezoid
from tangrad.numpy.numerical import unwrap as unwrap
from tangrad.numpy.packing import packbits as packbits
from tangrad.numpy.packing import unpackbits as unpackbits
from tangrad.numpy.padding import pad as pad
from tangrad.numpy.polynomial_fits import polyfit as polyfit
from tangrad.numpy.polynomial_fits import roots as roots
from tangrad.numpy.polynomials import poly as poly
from tangrad.numpy.polynomials import polyadd as polyadd
from tangrad.numpy.polynomials import polyder as polyder
from tangrad.numpy.polynomials import polydiv as polydiv
from tangrad.numpy.polynomials import polyint as polyint
from tangrad.numpy.polynomials import polymul as polymul
from tangrad.numpy.polynomials import polysub as polysub
from tangrad.numpy.polynomials import polyval as polyval
from tangrad.numpy.positions import ravel_multi_index as ravel_multi_index
from tangrad.numpy.positions import unravel_index as unravel_index
from tangrad.numpy.printing import array_repr as array_repr
from tangrad.numpy.printing import array_str as array_str
from tangrad.numpy.printing import get_printoptions as get_printoptions
from tangrad.numpy.printing import load as load
from tangrad.numpy.printing import printoptions as printoptions
from tangrad.numpy.printing import save as save
from tangrad.numpy.printing import savez as savez
from tangrad.numpy.printing import set_printoptions as set_printoptions
from tangrad.numpy.products import dot as dot
from tangrad.numpy.products import inner as inner
from tangrad.numpy.products import matmul as matmul
from tangrad.numpy.products import matvec as matvec
from tangrad.numpy.products import outer as outer
from tangrad.numpy.products import tensordot as tensordot
from tangrad.numpy.products import vdot as vdot
from tangrad.numpy.products import vecdot as vecdot
from tangrad.numpy.products import vecmat as vecmat
from tangrad.numpy.quantiles import median as median
from tangrad.numpy.quantiles import nanmedian as nanmedian
from tangrad.numpy.quantiles import nanpercentile as nanpercentile
from tangrad.numpy.quantiles import nanquantile as nanquantile
from tangrad.numpy.quantiles import percentile as percentile
from tangrad.numpy.quantiles import quantile as quantile
from tangrad.numpy.ranges import arange as arange
from tangrad.numpy.reductions import all as all
from tangrad.numpy.reductions import amax as amax
from tangrad.numpy.reductions import amin as amin
from tangrad.numpy.reductions import any as any
from tangrad.numpy.reductions import argmax as argmax
from tangrad.numpy.reductions import argmin as argmin
from tangrad.numpy.reductions import count_nonzero as count_nonzero
from tangrad.numpy.reductions import max as max
from tangrad.numpy.reductions import min as min
from tangrad.numpy.reductions import prod as prod
from tangrad.numpy.reductions import ptp as ptp
from tangrad.numpy.reductions import sum as sum
from tangrad.numpy.representation import frexp as frexp
from tangrad.numpy.representation import ldexp as ldexp
from tangrad.numpy.representation import modf as modf
from tangrad.numpy.representation import spacing as spacing
from tangrad.numpy.rounding import angle as angle
from tangrad.numpy.rounding import around as around
from tangrad.numpy.rounding import ceil as ceil
from tangrad.numpy.rounding import conj as conj
from tangrad.numpy.rounding import conjugate as conjugate
from tangrad.numpy.rounding import copysign as copysign
from tangrad.numpy.rounding import floor as floor
from tangrad.numpy.rounding import fmax as fmax
from tangrad.numpy.rounding import fmin as fmin
from tangrad.numpy.rounding import heaviside as heaviside
from tangrad.numpy.rounding import imag as imag
from tangrad.numpy.rounding import nan_to_num as nan_to_num
from tangrad.numpy.rounding import nextafter as nextafter
from tangrad.numpy.rounding import real as real
from tangrad.numpy.rounding import rint as rint
from tangrad.numpy.rounding import round as round
from tangrad.numpy.rounding import trunc as trunc
from tangrad.numpy.scalar_types import bfloat16 as bfloat16
from tangrad.numpy.scalar_types import bool as bool
from tangrad.numpy.scalar_types import bool_ as bool_
from tangrad.numpy.scalar_types import cdouble as cdouble
from tangrad.numpy.scalar_types import character as character
from tangrad.numpy.scalar_types import complex128 as complex128
from tangrad.numpy.scalar_types import complex64 as complex64
from tangrad.numpy.scalar_types import complex_ as complex_
from tangrad.numpy.scalar_types import complexfloating as complexfloating
from tangrad.numpy.scalar_types import csingle as csingle
from tangrad.numpy.scalar_types import double as double
from tangrad.numpy.scalar_types import flexible as flexible
from tangrad.numpy.scalar_types import float16 as float16
from tangrad.numpy.scalar_types import float32 as float32
from tangrad.numpy.scalar_types import float4_e2m1fn as float4_e2m1fn
from tangrad.numpy.scalar_types import float64 as float64
from tangrad.numpy.scalar_types import float6_e2m3fn as float6_e2m3fn
from tangrad.numpy.scalar_types import float6_e3m2fn as float6_e3m2fn
from tangrad.numpy.scalar_types import float8_e3m4 as float8_e3m4
from tangrad.numpy.scalar_types import float8_e4m3 as float8_e4m3
from tangrad.numpy.scalar_types import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from tangrad.numpy.scalar_types import float8_e4m3fn as float8_e4m3fn
from tangrad.numpy.scalar_types import float8_e4m3fnuz as float8_e4m3fnuz
from tangrad.numpy.scalar_types import float8_e5m2 as float8_e5m2
from tangrad.numpy.scalar_types import float8_e5m2fnuz as float8_e5m2fnuz
from tangrad.numpy.scalar_types import float8_e8m0fnu as float8_e8m0fnu
from tangrad.numpy.scalar_types import float_ as float_
from tangrad.numpy.scalar_types import floating as floating
from tangrad.numpy.scalar_types import generic as generic
from tangrad.numpy.scalar_types import inexact as inexact
from tangrad.numpy.scalar_types import int1 as int1
from tangrad.numpy.scalar_types import int16 as int16
from tangrad.numpy.scalar_types import int2 as int2
from tangrad.numpy.scalar_types import int32 as int32
from tangrad.numpy.scalar_types import int4 as int4
from tangrad.numpy.scalar_types import int64 as int64
from tangrad.numpy.scalar_types import int8 as int8
from tangrad.numpy.scalar_types import int_ as int_
from tangrad.numpy.scalar_types import integer as integer
from tangrad.numpy.scalar_types import number as number
from tangrad.numpy.scalar_types import object_ as object_
from tangrad.numpy.scalar_types import signedinteger as signedinteger
from tangrad.numpy.scalar_types import single as single
from tangrad.numpy.scalar_types import uint as uint
from tangrad.numpy.scalar_types import uint1 as uint1
from tangrad.numpy.scalar_types import uint16 as uint16
from tangrad.numpy.scalar_types import uint2 as uint2
from tangrad.numpy.scalar_types import uint32 as uint32
from tangrad.numpy.scalar_types import uint4 as uint4
from tangrad.numpy.scalar_types import uint64 as uint64
from tangrad.numpy.scalar_types import uint8 as uint8
from tangrad.numpy.scalar_types import unsignedinteger as unsignedinteger
from tangrad.numpy.searching import bincount as bincount
from tangrad.numpy.searching import digitize as digitize
from tangrad.numpy.searching import searchsorted as searchsorted
from tangrad.numpy.selection import argwhere as argwhere
from tangrad.numpy.selection import choose as choose
from tangrad.numpy.selection import clip as clip
from tangrad.numpy.selection import compress as compress
from tangrad.numpy.selection import extract as extract
from tangrad.numpy.selection import flatnonzero as flatnonzero
from tangrad.numpy.selection import nonzero as nonzero
from tangrad.numpy.selection import piecewise as piecewise
from tangrad.numpy.selection import select as select
from tangrad.numpy.selection import where as where
from tangrad.numpy.sequences import geomspace as geomspace
from tangrad.numpy.sequences import linspace as linspace
from tangrad.numpy.sequences import logspace as logspace
from tangrad.numpy.sets import intersect1d as intersect1d
from tangrad.numpy.sets import isin as isin
from tangrad.numpy.sets import setdiff1d as setdiff1d
from tangrad.numpy.sets import setxor1d as setxor1d
from tangrad.numpy.sets import union1d as union1d
from tangrad.numpy.sets import unique as unique
from tangrad.numpy.sets import unique_all as unique_all
from tangrad.numpy.sets import unique_counts as unique_counts
from tangrad.numpy.sets import unique_inverse as unique_inverse
from tangrad.numpy.sets import unique_values as unique_values
from tangrad.numpy.shapes import atleast_1d as atleast_1d
from tangrad.numpy.shapes import atleast_2d as atleast_2d
from tangrad.numpy.shapes import atleast_3d as atleast_3d
from tangrad.numpy.shapes import broadcast_arrays as broadcast_arrays
from tangrad.numpy.shapes import broadcast_shapes as broadcast_shapes
from tangrad.numpy.shapes import broadcast_to as broadcast_to
from tangrad.numpy.shapes import expand_dims as expand_dims
from tangrad.numpy.shapes import ndim as ndim
from tangrad.numpy.shapes import ravel as ravel
from tangrad.numpy.shapes import reshape as reshape
from tangrad.numpy.shapes import shape as shape
from tangrad.numpy.shapes import size as size
from tangrad.numpy.shapes import squeeze as squeeze
from tangrad.numpy.sorting import argpartition as argpartition
from tangrad.numpy.sorting import argsort as argsort
from tangrad.numpy.sorting import lexsort as lexsort
from tangrad.numpy.sorting import partition as partition
from tangrad.numpy.sorting import sort as sort
from tangrad.numpy.sorting import sort_complex as sort_complex
from tangrad.numpy.splitting import array_split as array_split
from tangrad.numpy.splitting import dsplit as dsplit
from tangrad.numpy.splitting import hsplit as hsplit
from tangrad.numpy.splitting import split as split
from tangrad.numpy.splitting import vsplit as vsplit
from tangrad.numpy.statistics import average as average
from tangrad.numpy.statistics import mean as mean
from tangrad.numpy.statistics import std as std
from tangrad.numpy.statistics import var as var
from tangrad.numpy.taking import place as place
from tangrad.numpy.taking import put as put
from tangrad.numpy.taking import put_along_axis as put_along_axis
from tangrad.numpy.taking import take as take
from tangrad.numpy.taking import take_along_axis as take_along_axis
from tangrad.numpy.tiling import flip as flip
from tangrad.numpy.tiling import fliplr as fliplr
from tangrad.numpy.tiling import flipud as flipud
from tangrad.numpy.tiling import repeat as repeat
from tangrad.numpy.tiling import resize as resize
from tangrad.numpy.tiling import roll as roll
from tangrad.numpy.tiling import rot90 as rot90
from tangrad.numpy.tiling import tile as tile
from tangrad.numpy.tiling import trim_zeros as trim_zeros
from tangrad.numpy.transcendental import acos as acos
from tangrad.numpy.transcendental import acosh as acosh
from tangrad.numpy.transcendental import arccos as arccos
from tangrad.numpy.transcendental import arccosh as arccosh
from tangrad.numpy.transcendental import arcsin as arcsin
from tangrad.numpy.transcendental import arcsinh as arcsinh
from tangrad.numpy.transcendental import arctan as arctan
from tangrad.numpy.transcendental import arctan2 as arctan2
from tangrad.numpy.transcendental import arctanh as arctanh
from tangrad.numpy.transcendental import asin as asin
from tangrad.numpy.transcendental import asinh as asinh
from tangrad.numpy.transcendental import atan as atan
from tangrad.numpy.transcendental import atan2 as atan2
from tangrad.numpy.transcendental import atanh as atanh
from tangrad.numpy.transcendental import cbrt as cbrt
from tangrad.numpy.transcendental import cos as cos
from tangrad.numpy.transcendental import cosh as cosh
from tangrad.numpy.transcendental import deg2rad as deg2rad
from tangrad.numpy.transcendental import degrees as degrees
from tangrad.numpy.transcendental import exp as exp
from tangrad.numpy.transcendental import exp2 as exp2
from tangrad.numpy.transcendental import expm1 as expm1
from tangrad.numpy.transcendental import hypot as hypot
from tangrad.numpy.transcendental import i0 as i0
from tangrad.numpy.transcendental import log as log
from tangrad.numpy.transcendental import log10 as log10
from tangrad.numpy.transcendental import log1p as log1p
from tangrad.numpy.transcendental import log2 as log2
from tangrad.numpy.transcendental import rad2deg as rad2deg
from tangrad.numpy.transcendental import radians as radians
from tangrad.numpy.transcendental import sin as sin
from tangrad.numpy.transcendental import sinc as sinc
from tangrad.numpy.transcendental import sinh as sinh
from tangrad.numpy.transcendental import sqrt as sqrt
from tangrad.numpy.transcendental import tan as tan
from tangrad.numpy.transcendental import tanh as tanh
from tangrad.numpy.ufuncs import add as add
from tangrad.numpy.ufuncs import bitwise_and as bitwise_and
from tangrad.numpy.ufuncs import bitwise_or as bitwise_or
from tangrad.numpy.ufuncs import bitwise_xor as bitwise_xor
from tangrad.numpy.ufuncs import frompyfunc as frompyfunc
from tangrad.numpy.ufuncs import logaddexp as logaddexp
from tangrad.numpy.ufuncs import logaddexp2 as logaddexp2
from tangrad.numpy.ufuncs import logical_and as logical_and
from tangrad.numpy.ufuncs import logical_or as logical_or
from tangrad.numpy.ufuncs import logical_xor as logical_xor
from tangrad.numpy.ufuncs import maximum as maximum
from tangrad.numpy.ufuncs import minimum as minimum
from tangrad.numpy.ufuncs import multiply as multiply
from tangrad.numpy.ufuncs import negative as negative
from tangrad.numpy.ufuncs import subtract as subtract
from tangrad.numpy.ufuncs import ufunc as ufunc
from tangrad.numpy.vectorization import apply_along_axis as apply_along_axis
from tangrad.numpy.vectorization import apply_over_axes as apply_over_axes
from tangrad.numpy.vectorization import fromfunction as fromfunction
from tangrad.numpy.vectorization import vectorize as vectorize
from tangrad.numpy.window_functions import bartlett as bartlett
from tangrad.numpy.window_functions import blackman as blackman
from tangrad.numpy.window_functions import hamming as hamming
from tangrad.numpy.window_functions import hanning as hanning
from tangrad.numpy.window_functions import kaiser as kaiser

__all__ = [
    "ComplexWarning",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "allclose",
    "amax",
    "amin",
    "angle",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argwhere",
    "around",
    "array",
    "array_equal",
    "array_equiv",
    "array_repr",
    "array_split",
    "array_str",
    "asarray",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "bfloat16",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "block",
    "bool",
    "bool_",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "c_",
    "can_cast",
    "cbrt",
    "cdouble",
    "ceil",
    "character",
    "choose",
    "clip",
    "column_stack",
    "complex128",
    "complex64",
    "complex_",
    "complexfloating",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "csingle",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "deg2rad",
    "degrees",
    "delete",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "divide",
    "divmod",
    "dot",
    "double",
    "dsplit",
    "dstack",
    "dtype",
    "e",
    "ediff1d",
    "einsum",
    "einsum_path",
    "empty",
    "empty_like",
    "equal",
    "euler_gamma",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extract",
    "eye",
    "fabs",
    "fft",
    "fill_diagonal",
    "finfo",
    "flatnonzero",
    "flexible",
    "flip",
    "fliplr",
    "flipud",
    "float16",
    "float32",
    "float4_e2m1fn",
    "float64",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float_",
    "float_power",
    "floating",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frexp",
    "from_dlpack",
    "frombuffer",
    "fromfile",
    "fromfunction",
    "fromiter",
    "frompyfunc",
    "fromstring",
    "full",
    "full_like",
    "gcd",
    "generic",
    "geomspace",
    "get_printoptions",
    "gradient",
    "greater",
    "greater_equal",
    "hamming",
    "hanning",
    "heaviside",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "hstack",
    "hypot",
    "i0",
    "identity",
    "iinfo",
    "imag",
    "index_exp",
    "indices",
    "inexact",
    "inf",
    "inner",
    "insert",
    "int1",
    "int16",
    "int2",
    "int32",
    "int4",
    "int64",
    "int8",
    "int_",
    "integer",
    "interp",
    "intersect1d",
    "invert",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isdtype",
    "isfinite",
    "isin",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "isscalar",
    "issubdtype",
    "iterable",
    "ix_",
    "kaiser",
    "kron",
    "lcm",
    "ldexp",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linalg",
    "linspace",
    "load",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logspace",
    "mask_indices",
    "matmul",
    "matrix_transpose",
    "matvec",
    "max",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "mgrid",
    "min",
    "minimum",
    "mod",
    "modf",
    "moveaxis",
    "multiply",
    "nan",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndarray",
    "ndim",
    "negative",
    "newaxis",
    "nextafter",
    "nonzero",
    "not_equal",
    "number",
    "object_",
    "ogrid",
    "ones",
    "ones_like",
    "outer",
    "packbits",
    "pad",
    "partition",
    "percentile",
    "permute_dims",
    "pi",
    "piecewise",
    "place",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "printoptions",
    "prod",
    "promote_types",
    "ptp",
    "put",
    "put_along_axis",
    "quantile",
    "r_",
    "rad2deg",
    "radians",
    "ravel",
    "ravel_multi_index",
    "real",
    "reciprocal",
    "remainder",
    "repeat",
    "reshape",
    "resize",
    "result_type",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "roots",
    "rot90",
    "round",
    "s_",
    "save",
    "savez",
    "searchsorted",
    "select",
    "set_printoptions",
    "setdiff1d",
    "setxor1d",
    "shape",
    "sign",
    "signbit",
    "signedinteger",
    "sin",
    "sinc",
    "single",
    "sinh",
    "size",
    "sort",
    "sort_complex",
    "spacing",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "subtract",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensordot",
    "tile",
    "trace",
    "transpose",
    "trapezoid",
    "tri",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_divide",
    "trunc",
    "ufunc",
    "uint",
    "uint1",
    "uint16",
    "uint2",
    "uint32",
    "uint4",
    "uint64",
    "uint8",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unpackbits",
    "unravel_index",
    "unsignedinteger",
    "unstack",
    "unwrap",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vectorize",
    "vsplit",
    "vstack",
    "where",
    "zeros",
    "zeros_like",
]
