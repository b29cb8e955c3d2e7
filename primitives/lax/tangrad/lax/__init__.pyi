# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad.collectives.exchanges import all_gather as all_gather
from tangrad.collectives.exchanges import all_to_all as all_to_all
from tangrad.collectives.exchanges import pbroadcast as pbroadcast
from tangrad.collectives.exchanges import ppermute as ppermute
from tangrad.collectives.exchanges import pshuffle as pshuffle
from tangrad.collectives.exchanges import psum_scatter as psum_scatter
from tangrad.collectives.exchanges import pswapaxes as pswapaxes
from tangrad.collectives.positions import axis_index as axis_index
from tangrad.collectives.positions import axis_size as axis_size
from tangrad.collectives.positions import pcast as pcast
from tangrad.collectives.positions import pvary as pvary
from tangrad.collectives.reductions import pmax as pmax
from tangrad.collectives.reductions import pmean as pmean
from tangrad.collectives.reductions import pmin as pmin
from tangrad.collectives.reductions import psum as psum
from tangrad.control_flow.associative import associative_scan as associative_scan
from tangrad.control_flow.conditionals import cond as cond
from tangrad.control_flow.conditionals import platform_dependent as platform_dependent
from tangrad.control_flow.conditionals import switch as switch
from tangrad.control_flow.loops import fori_loop as fori_loop
from tangrad.control_flow.loops import while_loop as while_loop
from tangrad.control_flow.maps import map as map
from tangrad.control_flow.scans import scan as scan
from tangrad.custom_rules.composites import composite as composite
from tangrad.custom_rules.linear_solves import custom_linear_solve as custom_linear_solve
from tangrad.custom_rules.roots import custom_implicit_solve as custom_implicit_solve
from tangrad.custom_rules.roots import custom_root as custom_root
from tangrad.fft.functions import fft as fft
from tangrad.fft.primitives import FftType as FftType
from tangrad.lax import linalg as linalg
from tangrad.lax.contractions.functions import batch_matmul as batch_matmul
from tangrad.lax.contractions.functions import dot as dot
from tangrad.lax.contractions.functions import dot_general as dot_general
from tangrad.lax.contractions.functions import ragged_dot as ragged_dot
from tangrad.lax.contractions.functions import ragged_dot_general as ragged_dot_general
from tangrad.lax.contractions.precision import DotAlgorithm as DotAlgorithm
from tangrad.lax.contractions.precision import DotAlgorithmPreset as DotAlgorithmPreset
from tangrad.lax.contractions.precision import Precision as Precision
from tangrad.lax.contractions.precision import PrecisionLike as PrecisionLike
from tangrad.lax.contractions.primitives import DotDimensionNumbers as DotDimensionNumbers
from tangrad.lax.contractions.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
from tangrad.lax.contractions.scaled import scaled_dot as scaled_dot
from tangrad.lax.elementwise.accuracy import AccuracyMode as AccuracyMode
from tangrad.lax.elementwise.accuracy import Tolerance as Tolerance
from tangrad.lax.elementwise.functions import abs as abs
from tangrad.lax.elementwise.functions import acos as acos
from tangrad.lax.elementwise.functions import acosh as acosh
from tangrad.lax.elementwise.functions import add as add
from tangrad.lax.elementwise.functions import asin as asin
from tangrad.lax.elementwise.functions import asinh as asinh
from tangrad.lax.elementwise.functions import atan as atan
from tangrad.lax.elementwise.functions import atan2 as atan2
from tangrad.lax.elementwise.functions import atanh as atanh
from tangrad.lax.elementwise.functions import bitcast_convert_type as bitcast_convert_type
from tangrad.lax.elementwise.functions import bitwise_and as bitwise_and
from tangrad.lax.elementwise.functions import bitwise_not as bitwise_not
from tangrad.lax.elementwise.functions import bitwise_or as bitwise_or
from tangrad.lax.elementwise.functions import bitwise_xor as bitwise_xor
from tangrad.lax.elementwise.functions import cbrt as cbrt
from tangrad.lax.elementwise.functions import ceil as ceil
from tangrad.lax.elementwise.functions import clamp as clamp
from tangrad.lax.elementwise.functions import clz as clz
from tangrad.lax.elementwise.functions import complex as complex
from tangrad.lax.elementwise.functions import conj as conj
from tangrad.lax.elementwise.functions import convert_element_type as convert_element_type
from tangrad.lax.elementwise.functions import cos as cos
from tangrad.lax.elementwise.functions import cosh as cosh
from tangrad.lax.elementwise.functions import div as div
from tangrad.lax.elementwise.functions import eq as eq
from tangrad.lax.elementwise.functions import exp as exp
from tangrad.lax.elementwise.functions import exp2 as exp2
from tangrad.lax.elementwise.functions import expm1 as expm1
from tangrad.lax.elementwise.functions import floor as floor
from tangrad.lax.elementwise.functions import ge as ge
from tangrad.lax.elementwise.functions import gt as gt
from tangrad.lax.elementwise.functions import imag as imag
from tangrad.lax.elementwise.functions import integer_pow as integer_pow
from tangrad.lax.elementwise.functions import is_finite as is_finite
from tangrad.lax.elementwise.functions import le as le
from tangrad.lax.elementwise.functions import log as log
from tangrad.lax.elementwise.functions import log1p as log1p
from tangrad.lax.elementwise.functions import logistic as logistic
from tangrad.lax.elementwise.functions import lt as lt
from tangrad.lax.elementwise.functions import max as max
from tangrad.lax.elementwise.functions import min as min
from tangrad.lax.elementwise.functions import mul as mul
from tangrad.lax.elementwise.functions import mulhi as mulhi
from tangrad.lax.elementwise.functions import ne as ne
from tangrad.lax.elementwise.functions import neg as neg
from tangrad.lax.elementwise.functions import nextafter as nextafter
from tangrad.lax.elementwise.functions import population_count as population_count
from tangrad.lax.elementwise.functions import pow as pow
from tangrad.lax.elementwise.functions import real as real
from tangrad.lax.elementwise.functions import reciprocal as reciprocal
from tangrad.lax.elementwise.functions import reduce_precision as reduce_precision
from tangrad.lax.elementwise.functions import rem as rem
from tangrad.lax.elementwise.functions import round as round
from tangrad.lax.elementwise.functions import rsqrt as rsqrt
from tangrad.lax.elementwise.functions import select as select
from tangrad.lax.elementwise.functions import select_n as select_n
from tangrad.lax.elementwise.functions import shift_left as shift_left
from tangrad.lax.elementwise.functions import shift_right_arithmetic as shift_right_arithmetic
from tangrad.lax.elementwise.functions import shift_right_logical as shift_right_logical
from tangrad.lax.elementwise.functions import sign as sign
from tangrad.lax.elementwise.functions import sin as sin
from tangrad.lax.elementwise.functions import sinh as sinh
from tangrad.lax.elementwise.functions import sqrt as sqrt
from tangrad.lax.elementwise.functions import square as square
from tangrad.lax.elementwise.functions import sub as sub
from tangrad.lax.elementwise.functions import tan as tan
from tangrad.lax.elementwise.functions import tanh as tanh
from tangrad.lax.elementwise.primitives import RoundingMethod as RoundingMethod
from tangrad.lax.indexing.dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from tangrad.lax.indexing.dimension_numbers import GatherScatterMode as GatherScatterMode
from tangrad.lax.indexing.dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from tangrad.lax.indexing.functions import gather as gather
from tangrad.lax.indexing.functions import index_take as index_take
from tangrad.lax.indexing.functions import scatter as scatter
from tangrad.lax.indexing.functions import scatter_add as scatter_add
from tangrad.lax.indexing.functions import scatter_apply as scatter_apply
from tangrad.lax.indexing.functions import scatter_max as scatter_max
from tangrad.lax.indexing.functions import scatter_min as scatter_min
from tangrad.lax.indexing.functions import scatter_mul as scatter_mul
from tangrad.lax.indexing.functions import scatter_sub as scatter_sub
from tangrad.lax.reductions.functions import argmax as argmax
from tangrad.lax.reductions.functions import argmin as argmin
from tangrad.lax.reductions.functions import cumlogsumexp as cumlogsumexp
from tangrad.lax.reductions.functions import cummax as cummax
from tangrad.lax.reductions.functions import cummin as cummin
from tangrad.lax.reductions.functions import cumprod as cumprod
from tangrad.lax.reductions.functions import cumsum as cumsum
from tangrad.lax.reductions.functions import reduce as reduce
from tangrad.lax.reductions.functions import reduce_and as reduce_and
from tangrad.lax.reductions.functions import reduce_max as reduce_max
from tangrad.lax.reductions.functions import reduce_min as reduce_min
from tangrad.lax.reductions.functions import reduce_or as reduce_or
from tangrad.lax.reductions.functions import reduce_prod as reduce_prod
from tangrad.lax.reductions.functions import reduce_sum as reduce_sum
from tangrad.lax.reductions.functions import reduce_xor as reduce_xor
from tangrad.lax.sorting.functions import approx_max_k as approx_max_k
from tangrad.lax.sorting.functions import approx_min_k as approx_min_k
from tangrad.lax.sorting.functions import sort as sort
from tangrad.lax.sorting.functions import sort_key_val as sort_key_val
from tangrad.lax.sorting.functions import top_k as top_k
from tangrad.lax.special.functions import bessel_i0e as bessel_i0e
from tangrad.lax.special.functions import bessel_i1e as bessel_i1e
from tangrad.lax.special.functions import betainc as betainc
from tangrad.lax.special.functions import digamma as digamma
from tangrad.lax.special.functions import erf as erf
from tangrad.lax.special.functions import erf_inv as erf_inv
from tangrad.lax.special.functions import erfc as erfc
from tangrad.lax.special.functions import igamma as igamma
from tangrad.lax.special.functions import igamma_grad_a as igamma_grad_a
from tangrad.lax.special.functions import igammac as igammac
from tangrad.lax.special.functions import lgamma as lgamma
from tangrad.lax.special.functions import polygamma as polygamma
from tangrad.lax.special.functions import random_gamma_grad as random_gamma_grad
from tangrad.lax.special.functions import zeta as zeta
from tangrad.lax.structure.functions import broadcast as broadcast
from tangrad.lax.structure.functions import broadcast_in_dim as broadcast_in_dim
from tangrad.lax.structure.functions import broadcast_like as broadcast_like
from tangrad.lax.structure.functions import broadcast_shapes as broadcast_shapes
from tangrad.lax.structure.functions import broadcast_to_rank as broadcast_to_rank
from tangrad.lax.structure.functions import broadcasted_iota as broadcasted_iota
from tangrad.lax.structure.functions import collapse as collapse
from tangrad.lax.structure.functions import concatenate as concatenate
from tangrad.lax.structure.functions import dtype as dtype
from tangrad.lax.structure.functions import dynamic_index_in_dim as dynamic_index_in_dim
from tangrad.lax.structure.functions import dynamic_slice as dynamic_slice
from tangrad.lax.structure.functions import dynamic_slice_in_dim as dynamic_slice_in_dim
from tangrad.lax.structure.functions import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from tangrad.lax.structure.functions import dynamic_update_slice as dynamic_update_slice
from tangrad.lax.structure.functions import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from tangrad.lax.structure.functions import empty as empty
from tangrad.lax.structure.functions import expand_dims as expand_dims
from tangrad.lax.structure.functions import full as full
from tangrad.lax.structure.functions import full_like as full_like
from tangrad.lax.structure.functions import index_in_dim as index_in_dim
from tangrad.lax.structure.functions import iota as iota
from tangrad.lax.structure.functions import optimization_barrier as optimization_barrier
from tangrad.lax.structure.functions import pad as pad
from tangrad.lax.structure.functions import reshape as reshape
from tangrad.lax.structure.functions import rev as rev
from tangrad.lax.structure.functions import shape_as_value as shape_as_value
from tangrad.lax.structure.functions import slice as slice
from tangrad.lax.structure.functions import slice_in_dim as slice_in_dim
from tangrad.lax.structure.functions import split as split
from tangrad.lax.structure.functions import squeeze as squeeze
from tangrad.lax.structure.functions import stack as stack
from tangrad.lax.structure.functions import stage as stage
from tangrad.lax.structure.functions import stop_gradient as stop_gradient
from tangrad.lax.structure.functions import tile as tile
from tangrad.lax.structure.functions import transpose as transpose
from tangrad.lax.structure.functions import unstack as unstack
from tangrad.lax.structure.functions import zeros_like_array as zeros_like_array
from tangrad.lax.windows.dimensions import ConvDimensionNumbers as ConvDimensionNumbers
from tangrad.lax.windows.dimensions import ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers
from tangrad.lax.windows.dimensions import conv_dimension_numbers as conv_dimension_numbers
from tangrad.lax.windows.dimensions import conv_general_permutations as conv_general_permutations
from tangrad.lax.windows.functions.convolution import conv as conv
from tangrad.lax.windows.functions.convolution import conv_general_dilated as conv_general_dilated
from tangrad.lax.windows.functions.convolution import conv_transpose as conv_transpose
from tangrad.lax.windows.functions.convolution import conv_with_general_padding as conv_with_general_padding
from tangrad.lax.windows.functions.patches import conv_general_dilated_local as conv_general_dilated_local
from tangrad.lax.windows.functions.patches import conv_general_dilated_patches as conv_general_dilated_patches
from tangrad.lax.windows.functions.reduction import reduce_window as reduce_window
from tangrad.lax.windows.shapes import conv_general_shape_tuple as conv_general_shape_tuple
from tangrad.lax.windows.shapes import conv_shape_tuple as conv_shape_tuple
from tangrad.lax.windows.shapes import conv_transpose_shape_tuple as conv_transpose_shape_tuple
from tangrad.lax.windows.shapes import padtype_to_pads as padtype_to_pads
from tangrad.lax.windows.shapes import reduce_window_shape_tuple as reduce_window_shape_tuple
from tangrad.random.generators import RandomAlgorithm as RandomAlgorithm
from tangrad.random.generators import rng_bit_generator as rng_bit_generator
from tangrad.shardings.functions import with_sharding_constraint as with_sharding_constraint

__all__ = [
    "AccuracyMode",
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "DotDimensionNumbers",
    "FftType",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "Precision",
    "PrecisionLike",
    "RaggedDotDimensionNumbers",
    "RandomAlgorithm",
    "RoundingMethod",
    "ScatterDimensionNumbers",
    "Tolerance",
    "abs",
    "acos",
    "acosh",
    "add",
    "all_gather",
    "all_to_all",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "associative_scan",
    "atan",
    "atan2",
    "atanh",
    "axis_index",
    "axis_size",
    "batch_matmul",
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "collapse",
    "complex",
    "composite",
    "concatenate",
    "cond",
    "conj",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_general_dilated_local",
    "conv_general_dilated_patches",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose",
    "conv_transpose_shape_tuple",
    "conv_with_general_padding",
    "convert_element_type",
    "cos",
    "cosh",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "custom_implicit_solve",
    "custom_linear_solve",
    "custom_root",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dtype",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "empty",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "fft",
    "floor",
    "fori_loop",
    "full",
    "full_like",
    "gather",
    "ge",
    "gt",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "imag",
    "index_in_dim",
    "index_take",
    "integer_pow",
    "iota",
    "is_finite",
    "le",
    "lgamma",
    "linalg",
    "log",
    "log1p",
    "logistic",
    "lt",
    "map",
    "max",
    "min",
    "mul",
    "mulhi",
    "ne",
    "neg",
    "nextafter",
    "optimization_barrier",
    "pad",
    "padtype_to_pads",
    "pbroadcast",
    "pcast",
    "platform_dependent",
    "pmax",
    "pmean",
    "pmin",
    "polygamma",
    "population_count",
    "pow",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "pvary",
    "ragged_dot",
    "ragged_dot_general",
    "random_gamma_grad",
    "real",
    "reciprocal",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_precision",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_window_shape_tuple",
    "reduce_xor",
    "rem",
    "reshape",
    "rev",
    "rng_bit_generator",
    "round",
    "rsqrt",
    "scaled_dot",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_apply",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "select",
    "select_n",
    "shape_as_value",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "slice",
    "slice_in_dim",
    "sort",
    "sort_key_val",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stage",
    "stop_gradient",
    "sub",
    "switch",
    "tan",
    "tanh",
    "tile",
    "top_k",
    "transpose",
    "unstack",
    "while_loop",
    "with_sharding_constraint",
    "zeros_like_array",
    "zeta",
]
