# Written by `python -m tools.generate_api` from the entry points of `tangrad.api`: do not edit.

from tangrad._numpy.analytic import (
    acos as acos,
    arccos as arccos,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atanh as atanh,
    cbrt as cbrt,
    cos as cos,
    cosh as cosh,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    sin as sin,
    sinh as sinh,
    sqrt as sqrt,
    tan as tan,
    tanh as tanh,
)
from tangrad._numpy.arithmetic import divmod as divmod
from tangrad._numpy.axes import (
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    rollaxis as rollaxis,
    swapaxes as swapaxes,
    transpose as transpose,
)
from tangrad._numpy.closeness import (
    allclose as allclose,
    array_equal as array_equal,
    array_equiv as array_equiv,
    isclose as isclose,
)
from tangrad._numpy.constants import (
    e as e,
    euler_gamma as euler_gamma,
    inf as inf,
    nan as nan,
    newaxis as newaxis,
    pi as pi,
)
from tangrad._numpy.conversion import (
    array as array,
    asarray as asarray,
    astype as astype,
    copy as copy,
)
from tangrad._numpy.covariance import (
    corrcoef as corrcoef,
    cov as cov,
)
from tangrad._numpy.creation import (
    empty as empty,
    empty_like as empty_like,
    eye as eye,
    full as full,
    full_like as full_like,
    identity as identity,
    ones as ones,
    ones_like as ones_like,
    tri as tri,
    zeros as zeros,
    zeros_like as zeros_like,
)
from tangrad._numpy.cumulative import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
)
from tangrad._numpy.dtype_functions import (
    ComplexWarning as ComplexWarning,
    can_cast as can_cast,
    dtype as dtype,
    finfo as finfo,
    iinfo as iinfo,
    iscomplexobj as iscomplexobj,
    isdtype as isdtype,
    isrealobj as isrealobj,
    isscalar as isscalar,
    issubdtype as issubdtype,
    iterable as iterable,
    ndarray as ndarray,
    promote_types as promote_types,
    result_type as result_type,
)
from tangrad._numpy.editing import (
    delete as delete,
    insert as insert,
)
from tangrad._numpy.einsums import (
    einsum as einsum,
    einsum_path as einsum_path,
)
from tangrad._numpy.grids import (
    c_ as c_,
    index_exp as index_exp,
    indices as indices,
    ix_ as ix_,
    meshgrid as meshgrid,
    mgrid as mgrid,
    ogrid as ogrid,
    r_ as r_,
    s_ as s_,
)
from tangrad._numpy.histograms import (
    histogram as histogram,
    histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from tangrad._numpy.joining import (
    append as append,
    block as block,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    dstack as dstack,
    hstack as hstack,
    stack as stack,
    unstack as unstack,
    vstack as vstack,
)
from tangrad._numpy.kronecker_and_cross import (
    cross as cross,
    kron as kron,
)
from tangrad._numpy.matrices import (
    diag as diag,
    diag_indices as diag_indices,
    diag_indices_from as diag_indices_from,
    diagflat as diagflat,
    diagonal as diagonal,
    fill_diagonal as fill_diagonal,
    mask_indices as mask_indices,
    trace as trace,
    tril as tril,
    tril_indices as tril_indices,
    tril_indices_from as tril_indices_from,
    triu as triu,
    triu_indices as triu_indices,
    triu_indices_from as triu_indices_from,
    vander as vander,
)
from tangrad._numpy.memory_and_files import (
    from_dlpack as from_dlpack,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    fromstring as fromstring,
)
from tangrad._numpy.numerical import (
    convolve as convolve,
    correlate as correlate,
    diff as diff,
    ediff1d as ediff1d,
    gradient as gradient,
    interp as interp,
    trapezoid as trapezoid,
    unwrap as unwrap,
)
from tangrad._numpy.packing import (
    packbits as packbits,
    unpackbits as unpackbits,
)
from tangrad._numpy.padding import pad as pad
from tangrad._numpy.pieces import piecewise as piecewise
from tangrad._numpy.polynomial_fits import (
    polyfit as polyfit,
    roots as roots,
)
from tangrad._numpy.polynomials import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
)
from tangrad._numpy.positions import (
    ravel_multi_index as ravel_multi_index,
    unravel_index as unravel_index,
)
from tangrad._numpy.printing import (
    array_repr as array_repr,
    array_str as array_str,
    get_printoptions as get_printoptions,
    load as load,
    printoptions as printoptions,
    save as save,
    savez as savez,
    set_printoptions as set_printoptions,
)
from tangrad._numpy.products import (
    dot as dot,
    inner as inner,
    matmul as matmul,
    matvec as matvec,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
    vecmat as vecmat,
)
from tangrad._numpy.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)
from tangrad._numpy.ranges import arange as arange
from tangrad._numpy.reductions import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    max as max,
    min as min,
    prod as prod,
    ptp as ptp,
    sum as sum,
)
from tangrad._numpy.representation import (
    frexp as frexp,
    ldexp as ldexp,
    modf as modf,
)
from tangrad._numpy.rounding import (
    angle as angle,
    around as around,
    nan_to_num as nan_to_num,
    round as round,
)
from tangrad._numpy.scalar_types import (
    bfloat16 as bfloat16,
    bool as bool,
    bool_ as bool_,
    cdouble as cdouble,
    character as character,
    complex128 as complex128,
    complex64 as complex64,
    complex_ as complex_,
    complexfloating as complexfloating,
    csingle as csingle,
    double as double,
    flexible as flexible,
    float16 as float16,
    float32 as float32,
    float4_e2m1fn as float4_e2m1fn,
    float64 as float64,
    float6_e2m3fn as float6_e2m3fn,
    float6_e3m2fn as float6_e3m2fn,
    float8_e3m4 as float8_e3m4,
    float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    float_ as float_,
    floating as floating,
    generic as generic,
    inexact as inexact,
    int1 as int1,
    int16 as int16,
    int2 as int2,
    int32 as int32,
    int4 as int4,
    int64 as int64,
    int8 as int8,
    int_ as int_,
    integer as integer,
    number as number,
    object_ as object_,
    signedinteger as signedinteger,
    single as single,
    uint as uint,
    uint1 as uint1,
    uint16 as uint16,
    uint2 as uint2,
    uint32 as uint32,
    uint4 as uint4,
    uint64 as uint64,
    uint8 as uint8,
    unsignedinteger as unsignedinteger,
)
from tangrad._numpy.searching import (
    bincount as bincount,
    digitize as digitize,
    searchsorted as searchsorted,
)
from tangrad._numpy.selection import (
    argwhere as argwhere,
    choose as choose,
    clip as clip,
    compress as compress,
    extract as extract,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
    select as select,
    where as where,
)
from tangrad._numpy.sequences import (
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
)
from tangrad._numpy.set_operations import (
    intersect1d as intersect1d,
    isin as isin,
    setdiff1d as setdiff1d,
    setxor1d as setxor1d,
    union1d as union1d,
)
from tangrad._numpy.sets import (
    unique as unique,
    unique_all as unique_all,
    unique_counts as unique_counts,
    unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from tangrad._numpy.shapes import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    expand_dims as expand_dims,
    ndim as ndim,
    ravel as ravel,
    reshape as reshape,
    shape as shape,
    size as size,
    squeeze as squeeze,
)
from tangrad._numpy.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    lexsort as lexsort,
    partition as partition,
    sort as sort,
    sort_complex as sort_complex,
)
from tangrad._numpy.splitting import (
    array_split as array_split,
    dsplit as dsplit,
    hsplit as hsplit,
    split as split,
    vsplit as vsplit,
)
from tangrad._numpy.statistics import (
    average as average,
    mean as mean,
    std as std,
    var as var,
)
from tangrad._numpy.taking import (
    place as place,
    put as put,
    put_along_axis as put_along_axis,
    take as take,
    take_along_axis as take_along_axis,
)
from tangrad._numpy.tiling import (
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    repeat as repeat,
    resize as resize,
    roll as roll,
    rot90 as rot90,
    tile as tile,
    trim_zeros as trim_zeros,
)
from tangrad._numpy.ufuncs import (
    add as add,
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    frompyfunc as frompyfunc,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logical_and as logical_and,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    subtract as subtract,
    ufunc as ufunc,
)
from tangrad._numpy.vectorization import (
    apply_along_axis as apply_along_axis,
    apply_over_axes as apply_over_axes,
    fromfunction as fromfunction,
    vectorize as vectorize,
)
from tangrad._numpy.window_functions import (
    bartlett as bartlett,
    blackman as blackman,
    hamming as hamming,
    hanning as hanning,
    kaiser as kaiser,
)
from tangrad.core import Array
from tangrad.numpy import fft as fft
from tangrad.numpy import linalg as linalg
from tangrad.typing import ArrayLike
from tangrad.typing import Axis
from tangrad.typing import DTypeLike
from typing import Any
import builtins

def abs(x: ArrayLike) -> Array:
    """The absolute value of each element."""

def absolute(x: ArrayLike) -> Array:
    """The absolute value of each element."""

def acosh(x: ArrayLike) -> Array:
    """Inverse hyperbolic cosine; NaN below 1."""

def arccosh(x: ArrayLike) -> Array:
    """Inverse hyperbolic cosine; NaN below 1."""

def arctan2(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The angle of a point to the first axis, in (-π, π], by its second and first coordinate; they may be complex."""

def atan2(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The angle of a point to the first axis, in (-π, π], by its second and first coordinate; they may be complex."""

def bitwise_count(x: ArrayLike) -> Array:
    """How many bits of |x| are set; of integers."""

def bitwise_invert(x: ArrayLike) -> Array:
    """The complement of each bit, or of each truth value."""

def bitwise_left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * 2**y: the bits of integers shifted to the left."""

def bitwise_not(x: ArrayLike) -> Array:
    """The complement of each bit, or of each truth value."""

def bitwise_right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x // 2**y: the bits of integers shifted to the right; the sign stays."""

def ceil(x: ArrayLike) -> Array:
    """The least whole number not below x."""

def conj(x: ArrayLike) -> Array:
    """The complex conjugate."""

def conjugate(x: ArrayLike) -> Array:
    """The complex conjugate."""

def copysign(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x with the sign of y, element by element."""

def deg2rad(x: ArrayLike) -> Array:
    """Degrees into radians."""

def degrees(x: ArrayLike) -> Array:
    """Radians into degrees."""

def divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The quotient x / y, element by element, of floats: integers are converted."""

def equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x == y, element by element; False if either is NaN."""

def fabs(x: ArrayLike) -> Array:
    """The absolute value of each element, in floats."""

def float_power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y, in floats."""

def floor(x: ArrayLike) -> Array:
    """The greatest whole number not above x."""

def floor_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The quotient x / y rounded down, element by element."""

def fmax(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greater of x1 and x2, element by element; of a number and a NaN the number."""

def fmin(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The lesser of x1 and x2, element by element; of a number and a NaN the number."""

def fmod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The remainder of x / y with the sign of x, as in C."""

def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of integers, not negative; 0 of 0 and 0."""

def greater(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x > y, element by element; False if either is NaN."""

def greater_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x >= y, element by element; False with NaN."""

def heaviside(x: ArrayLike, y: ArrayLike, /) -> Array:
    """0 where x is below 0, 1 where it is above, y where it is 0."""

def hypot(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The length √(x² + y²) without overflow on the way; real numbers."""

def i0(x: ArrayLike) -> Array:
    """The modified Bessel function of the first kind, order 0."""

def imag(x: ArrayLike) -> Array:
    """The imaginary part, 0 for real numbers."""

def invert(x: ArrayLike) -> Array:
    """The complement of each bit, or of each truth value."""

def iscomplex(x: ArrayLike) -> Array:
    """Whether each element has an imaginary part other than 0."""

def isfinite(x: ArrayLike) -> Array:
    """Whether each element is neither infinite nor NaN."""

def isinf(x: ArrayLike) -> Array:
    """Whether each element is infinite, of either sign."""

def isnan(x: ArrayLike) -> Array:
    """Whether each element is NaN."""

def isneginf(x: ArrayLike) -> Array:
    """Whether each element is -inf; of real numbers."""

def isposinf(x: ArrayLike) -> Array:
    """Whether each element is +inf; of real numbers."""

def isreal(x: ArrayLike) -> Array:
    """Whether each element has no imaginary part other than 0."""

def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of integers, not negative; 0 if either is 0."""

def left_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x * 2**y: the bits of integers shifted to the left."""

def less(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x < y, element by element; False if either is NaN."""

def less_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x <= y, element by element; False with a NaN."""

def log10(x: ArrayLike, /) -> Array:
    """The logarithm to base 10; a whole number of each power of 10."""

def log2(x: ArrayLike, /) -> Array:
    """The logarithm to base 2; a whole number of each power of 2."""

def logical_not(x: ArrayLike) -> Array:
    """Whether each element is zero."""

def mod(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The remainder of x / y with the sign of y, as of Python's %; 0 for integers and y = 0."""

def nanargmax(a: ArrayLike, axis: int | None = ..., out: None = ..., keepdims: builtins.bool | None = ...) -> Array:
    """Find where the greatest element of an axis is, leaving out NaN."""

def nanargmin(a: ArrayLike, axis: int | None = ..., out: None = ..., keepdims: builtins.bool | None = ...) -> Array:
    """Find where the least element of an axis is, leaving out NaN."""

def nanmax(
    a: ArrayLike,
    axis: Axis = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array:
    """Find the greatest element along axes, leaving out NaN."""

def nanmean(
    a: ArrayLike,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    where: ArrayLike | None = ...,
) -> Array:
    """Take the mean of the elements along axes, leaving out NaN."""

def nanmin(
    a: ArrayLike,
    axis: Axis = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array:
    """Find the least element along axes, leaving out NaN."""

def nanprod(
    a: ArrayLike,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array:
    """Multiply the elements along axes, leaving out NaN."""

def nanstd(
    a: ArrayLike,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: Any = ...,
    keepdims: builtins.bool = ...,
    where: ArrayLike | None = ...,
    mean: ArrayLike | None = ...,
) -> Array:
    """Take the standard deviation of the elements along axes, leaving out NaN."""

def nansum(
    a: ArrayLike,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    keepdims: builtins.bool = ...,
    initial: ArrayLike | None = ...,
    where: ArrayLike | None = ...,
) -> Array:
    """Add up the elements along axes, leaving out NaN."""

def nanvar(
    a: ArrayLike,
    axis: Axis = ...,
    dtype: DTypeLike | None = ...,
    out: None = ...,
    ddof: Any = ...,
    keepdims: builtins.bool = ...,
    where: ArrayLike | None = ...,
    mean: ArrayLike | None = ...,
) -> Array:
    """Take the variance of the elements along axes, leaving out NaN."""

def nextafter(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The next float after x in the direction of y."""

def not_equal(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x != y, element by element; True with a NaN."""

def positive(x: ArrayLike) -> Array:
    """The elements as they are."""

def pow(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y, element by element; negative powers of integers are refused."""

def power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x to the power y, element by element; negative powers of integers are refused."""

def rad2deg(x: ArrayLike) -> Array:
    """Radians into degrees."""

def radians(x: ArrayLike) -> Array:
    """Degrees into radians."""

def real(x: ArrayLike) -> Array:
    """The real part."""

def reciprocal(x: ArrayLike) -> Array:
    """1 / x, element by element, in floats."""

def remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The remainder of x / y with the sign of y, as of Python's %; 0 for integers and y = 0."""

def right_shift(x: ArrayLike, y: ArrayLike, /) -> Array:
    """x // 2**y: the bits of integers shifted to the right; the sign stays."""

def rint(x: ArrayLike) -> Array:
    """The nearest whole number; of two the even one."""

def sign(x: ArrayLike) -> Array:
    """The sign of each element: -1, 0 or 1; x / |x| for complex x; booleans are refused."""

def signbit(x: ArrayLike) -> Array:
    """Whether the sign bit is set: below zero, and -0.0."""

def sinc(x: ArrayLike) -> Array:
    """sin(πx) / (πx), and 1 at 0."""

def spacing(x: ArrayLike) -> Array:
    """The distance to the next float away from 0, with the sign of x."""

def square(x: ArrayLike) -> Array:
    """The square of each element."""

def true_divide(x: ArrayLike, y: ArrayLike, /) -> Array:
    """The quotient x / y, element by element, of floats: integers are converted."""

def trunc(x: ArrayLike) -> Array:
    """The whole part, rounded towards 0."""

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
