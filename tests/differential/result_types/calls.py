"""Calls of every public function, by which the types of results are compared: of `numpy` and arrays, `lax`, libraries.

`x`, `y`: an array, a number of Python or NumPy; `v`, `w`: vectors of 3; `m`: a matrix of 3 by 3; `t`: (2, 3, 4); all of the
dtype that is tried. `k`: the integers [0, 2, 1], `B`: [True, False, True], whatever is tried.
"""

EAGER = "eager"


def families(form: str, names: str) -> list[str]:
    """One call of the form for each of the names."""
    return [form.format(name) for name in names.split()]


UNARY = """
    abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh around asin asinh atan atanh bitwise_count
    bitwise_invert bitwise_not cbrt ceil conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs fix floor frexp i0 imag
    invert iscomplex isfinite isinf isnan isneginf isposinf isreal log log10 log1p log2 logical_not modf nan_to_num negative
    positive rad2deg radians real reciprocal rint round sign signbit sin sinc sinh spacing sqrt square tan tanh trunc
    array asarray copy atleast_1d atleast_2d atleast_3d ravel zeros_like ones_like empty_like shape ndim size isscalar
    iscomplexobj isrealobj transpose squeeze result_type
"""
BINARY = """
    add arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide divmod equal
    float_power floor_divide fmax fmin fmod gcd greater greater_equal heaviside hypot lcm ldexp left_shift less less_equal
    logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter not_equal pow power
    remainder right_shift subtract true_divide
    isclose allclose array_equal array_equiv kron outer inner dot full_like result_type append linspace logspace
    promote_types can_cast
"""
REDUCTIONS = """
    all any amax amin max min mean prod std sum var ptp median nanmax nanmin nanmean nanmedian nanprod nanstd nansum nanvar
    argmax argmin nanargmax nanargmin count_nonzero average
"""
CUMULATIVE = "cumprod cumsum nancumprod nancumsum cumulative_prod cumulative_sum"
OTHERS = [
    *("np.where(B, x, y)", "np.where(x, y, 1)", "np.clip(x, 0, 1)", "np.clip(x, y, None)", "np.clip(x, .5, 2.5)", "np.clip(x, max=y)"),
    *("np.select([B, B], [x, y], 0)", "np.select([B, B], [x, y])", "np.select([B], [v], .5)", "np.choose(k, [x, y, x])", "np.piecewise(v, [B], [1, 2])"),
    *("np.piecewise(v, [B], [lambda a: a * 2, .5])", "np.full(3, x)", "np.full((2,), x, 'bfloat16')", "np.full_like(v, y)", "np.array([x, y])"),
    *("np.array(x, ndmin=2)", "np.array([[x], [1]])", "np.asarray([x, 1.5])", "np.stack([x, y])", "np.hstack([x, y])", "np.vstack([x, y])", "np.dstack([x, y])"),
    *("np.column_stack([x, y])", "np.block([x, y])", "np.concatenate([v, w])", "np.concatenate([v, k])", "np.concatenate([v], dtype='float32')"),
    *("np.concat([v, w])", "np.broadcast_arrays(x, y)", "np.broadcast_to(x, (2, 3))", "np.meshgrid(x, y)", "np.meshgrid(v, k)", "np.ix_(k, B)"),
    *("np.nan_to_num(x, nan=y)", "np.nan_to_num(v, posinf=1, neginf=.5)", "np.reciprocal(x)", "np.round(x, 2)", "np.round(v, -1)", "np.angle(x, deg=True)"),
    *("np.interp(x, v, v)", "np.interp(v, v, v, left=x, right=y)", "np.interp(v, v, v, period=2)", "np.unwrap(v)", "np.unwrap(m, 1.5, period=2)"),
    *("np.linspace(x, y, 5)", "np.linspace(x, 3, 4, endpoint=False)", "np.linspace(x, y, 3, retstep=True)", "np.linspace(0, x, 4, dtype=int)", "np.logspace(x, 2, 3, base=y)"),
    *("np.geomspace(1, x, 3)", "np.geomspace(x, 3, 4)", "np.arange(3, dtype=v.dtype)", "np.arange(3)", "np.arange(3.)", "np.arange(0, 1, .25)", "np.arange(numpy.int8(3))"),
    *("np.arange(numpy.float16(3))", "np.eye(3)", "np.eye(3, dtype=v.dtype)", "np.identity(3)", "np.identity(2, v.dtype)", "np.tri(3)", "np.tri(3, 2, 1, v.dtype)"),
    *("np.zeros(3)", "np.zeros((2,), v.dtype)", "np.ones(3)", "np.ones((2,), v.dtype)", "np.empty(3)", "np.empty((2,), v.dtype)", "np.zeros_like(x, 'int8')"),
    *("np.ones_like(x, shape=(2,))", "np.empty_like(x, 'float32')", "np.full_like(x, y, 'float32')", "np.full_like(x, 1, shape=(3,))", "np.zeros_like(v, shape=4)"),
    *("np.bartlett(4)", "np.blackman(4)", "np.hamming(4)", "np.hanning(4)", "np.kaiser(4, x)", "np.vander(v)", "np.vander(v, 2, True)"),
    *("np.trace(m)", "np.trace(m, 1, dtype='float32')", "np.trace(t)", "np.diagonal(t)", "np.diag(v)", "np.diag(m)", "np.diagflat(m)", "np.tril(m)", "np.triu(m, 1)"),
    *("np.diag_indices(3)", "np.diag_indices_from(m)", "np.tril_indices(3)", "np.tril_indices_from(m)", "np.triu_indices(3)", "np.triu_indices_from(m)", "np.mask_indices(3, np.triu)"),
    *("np.indices((2, 3))", "np.indices((2, 3), v.dtype)", "np.unravel_index(k, (2, 3))", "np.ravel_multi_index((k, k), (3, 3))"),
    *("np.fill_diagonal(m, x, inplace=False)", "np.place(v, B, w, inplace=False)", "np.put(v, k, x, inplace=False)", "np.put_along_axis(v, k, x, 0, inplace=False)"),
    *("np.take(v, k)", "np.take(m, 1, axis=1)", "np.take(v, k, mode='fill')", "np.take_along_axis(v, k, 0)", "np.compress(B, v)", "np.compress(B, m, 1)", "np.extract(B, v)"),
    *("np.delete(v, 1)", "np.insert(v, 1, x)", "np.append(v, x)", "np.resize(v, (2, 2))", "np.repeat(x, 2)", "np.repeat(v, 2, total_repeat_length=4)", "np.tile(x, 2)"),
    *("np.tile(v, (2, 2))", "np.roll(v, 1)", "np.rollaxis(t, 2)", "np.rot90(m)", "np.flip(v)", "np.fliplr(m)", "np.flipud(m)", "np.moveaxis(t, 0, 1)", "np.swapaxes(t, 0, 1)"),
    *("np.permute_dims(t, (2, 1, 0))", "np.matrix_transpose(m)", "np.reshape(x, (1, -1))", "np.expand_dims(x, 0)", "np.squeeze(v[None])", "np.trim_zeros(v)"),
    *("np.pad(v, 1)", "np.pad(v, 1, constant_values=2)", "np.pad(v, 1, 'edge')", "np.pad(v, 1, 'mean')", "np.pad(v, 2, 'linear_ramp')", "np.pad(v, 1, 'median')", "np.pad(v, 1, 'maximum')"),
    *("np.pad(v, 1, 'reflect', reflect_type='odd')", "np.pad(v, 1, 'wrap')", "np.pad(v, 1, 'empty')", "np.pad(v, 1, 'symmetric')", "np.pad(v, 1, constant_values=.5)"),
    *("np.split(v, 3)", "np.array_split(v, 2)", "np.hsplit(v, 3)", "np.vsplit(m, 3)", "np.dsplit(t, 2)", "np.unstack(m)"),
    *("np.argsort(v)", "np.sort(v)", "np.sort(m, 0, descending=True)", "np.sort_complex(v)", "np.lexsort((v, w))", "np.partition(v, 1)", "np.argpartition(v, 1)"),
    *("np.searchsorted(v, x)", "np.searchsorted(v, w, side='right')", "np.digitize(x, v)", "np.digitize(v, w, True)", "np.bincount(k)", "np.bincount(k, v, length=4)", "np.bincount(k, length=4)"),
    *("np.histogram(v, 3)", "np.histogram(v, 3, weights=w)", "np.histogram(v, w)", "np.histogram(v, 3, density=True)", "np.histogram_bin_edges(v, 3)", "np.histogram2d(v, w, 3)"),
    *("np.histogram2d(v, w, 3, weights=v)", "np.histogramdd(m, 3)", "np.histogramdd(m, 2, density=True)", "np.corrcoef(m)", "np.corrcoef(v, w)", "np.cov(m)", "np.cov(v, w)"),
    *("np.cov(m, ddof=0)", "np.cov(m, fweights=k)", "np.cov(m, aweights=v)", "np.convolve(v, w)", "np.convolve(v, k)", "np.convolve(v, w, 'same')", "np.correlate(v, w)"),
    *("np.cross(v, w)", "np.cross(v, k)", "np.diff(v)", "np.diff(v, prepend=x)", "np.diff(v, 2)", "np.ediff1d(v)", "np.ediff1d(v, x, y)", "np.gradient(v)", "np.gradient(v, x)", "np.gradient(m, .5)"),
    *("np.trapezoid(v)", "np.trapezoid(v, w)", "np.trapezoid(v, dx=x)", "np.trapezoid(m, dx=2, axis=0)", "np.einsum('i,i', v, w)", "np.einsum('ij->j', m)", "np.einsum('i,i', v, k)"),
    *("np.einsum('ii', m)", "np.einsum('i,i', v, w, preferred_element_type='float32')", "np.tensordot(m, m)", "np.tensordot(m, v, 1)", "np.matmul(m, v)", "np.matmul(m, m)", "np.matmul(v, k)"),
    *("np.matvec(m, v)", "np.vecmat(v, m)", "np.vecdot(v, w)", "np.vdot(v, w)", "np.vdot(x, y)", "np.dot(v, w)", "np.dot(m, x)", "np.inner(m, v)", "np.outer(v, w)", "np.kron(v, m)"),
    *("np.percentile(v, 50)", "np.percentile(v, x)", "np.quantile(v, .5)", "np.quantile(v, x)", "np.quantile(v, .5, method='nearest')", "np.nanpercentile(v, 50)", "np.nanquantile(v, .5)"),
    *("np.quantile(m, .5, axis=1, method='midpoint')", "np.nanquantile(m, numpy.array([.25, .5]), axis=0)", "np.average(v, weights=w)", "np.average(v, weights=k)", "np.average(m, 1, v, True)"),
    *("np.poly(v)", "np.poly(m)", "np.polyadd(v, w)", "np.polyadd(v, k)", "np.polyder(v)", "np.polyint(v)", "np.polyint(v, 2, x)", "np.polydiv(v, w)", "np.polymul(v, w)", "np.polymul(v, k)"),
    *("np.polysub(v, w)", "np.polyval(v, x)", "np.polyval(v, w)", "np.polyfit(v, w, 1)", "np.roots(v, strip_zeros=False)", "np.packbits(v)", "np.unpackbits(v)"),
    *("np.astype(x, 'float32')", "np.astype(v, int)", "np.astype(v, bool)", "np.isin(x, y)", "np.isin(v, w)", "np.iscomplex(v)", "np.isreal(v)"),
    *("np.apply_along_axis(lambda a: a.sum(), 0, m)", "np.apply_along_axis(lambda a: a * 2, 1, m)", "np.apply_over_axes(np.sum, m, 0)", "np.vectorize(lambda a: a * 2)(v)"),
    *("np.frompyfunc(lambda a, b: a * b, 2, 1, identity=1)(x, y)", "np.fromfunction(lambda i, j: i + j, (2, 2))", "np.fromfunction(lambda i: i, (2,), dtype=v.dtype)"),
    *("np.count_nonzero(m, axis=0)", "np.nonzero(v, size=2)", "np.nonzero(x, size=1)", "np.flatnonzero(v, size=2)", "np.argwhere(v, size=2)", "np.where(v, size=2)", "np.unique(v, size=2)"),
    *("np.unique(v, True, True, True, size=2)", "np.unique(m, axis=0, size=2)", "np.unique_all(v, size=2)", "np.unique_counts(v, size=2)", "np.unique_inverse(v, size=2)", "np.unique_values(v, size=2)"),
    *("np.unique(v, size=5, fill_value=2)", "np.union1d(v, w, size=3)", "np.union1d(v, k, size=3)", "np.intersect1d(v, w, size=3)", "np.intersect1d(v, k, size=3, return_indices=True)"),
    *("np.setdiff1d(v, w, size=3)", "np.setdiff1d(v, k, size=3)", "np.setxor1d(v, w, size=3)", "np.setxor1d(v, k, size=3)", "np.setdiff1d(v, w, True, size=3)"),
    *("np.einsum_path('i,i', v, w)", "np.broadcast_shapes((1, 3), (2, 1))", "np.iterable(v)", "np.array_repr(v)", "np.array_str(v)", "np.finfo(x)", "np.iinfo(x)", "np.dtype(v.dtype)"),
    *("np.issubdtype(v.dtype, np.inexact)", "np.isdtype(v.dtype, 'integral')", "np.fromiter([1, 2], v.dtype)", "np.frombuffer(b'12345678', v.dtype)", "np.fromstring('1 2', v.dtype, sep=' ')"),
    *("np.sum(x, dtype='float32')", "np.mean(v, dtype='float32')", "np.sum(v, initial=x)", "np.max(v, initial=x)", "np.prod(v, where=B)", "np.var(v, ddof=1)", "np.var(v, dtype='float32')"),
    *("np.cumsum(v, dtype='float32')", "np.cumulative_sum(v, include_initial=True)", "np.sum(m, axis=0, keepdims=True)", "np.max(m, 1)", "np.argmax(m, 1)", "np.argmax(v, keepdims=True)"),
    *("np.mean(m, 1)", "np.median(m, 1)", "np.std(m, 0, keepdims=True)", "np.all(m, 0)", "np.ptp(m, 0)", "np.nansum(m, 0, where=B)", "np.sum(v, promote_integers=False)"),
    *("np.round(x)", "np.rint(x)", "np.float32(x)", "np.int8(x)", "np.bfloat16(x)", "np.complex64(x)", "np.bool_(x)", "np.float64(x)", "np.int_(x)", "np.float_(x)", "np.uint(x)"),
    *("np.r_[v, x]", "np.c_[v, w]", "np.r_[0:3, x]", "np.mgrid[0:3, 0:2]", "np.mgrid[0:1:3j]", "np.ogrid[0:3:.5]", "np.ogrid[0:3, 0:2]"),
]  # fmt: skip
LINALG = [
    *("np.linalg.cholesky(m)", "np.linalg.cond(m)", "np.linalg.cond(m, 1)", "np.linalg.cross(v, w)", "np.linalg.det(m)", "np.linalg.diagonal(m)", "np.linalg.eig(m)", "np.linalg.eigh(m)"),
    *("np.linalg.eigvals(m)", "np.linalg.eigvalsh(m)", "np.linalg.inv(m)", "np.linalg.lstsq(m, v)", "np.linalg.matmul(m, m)", "np.linalg.matrix_norm(m)", "np.linalg.matrix_norm(m, ord=1)"),
    *("np.linalg.matrix_norm(m, ord='nuc')", "np.linalg.matrix_power(m, 3)", "np.linalg.matrix_power(m, 0)", "np.linalg.matrix_power(m, -1)", "np.linalg.matrix_rank(m)", "np.linalg.matrix_transpose(m)"),
    *("np.linalg.multi_dot([m, m, v])", "np.linalg.norm(v)", "np.linalg.norm(v, 1)", "np.linalg.norm(v, 0)", "np.linalg.norm(v, numpy.inf)", "np.linalg.norm(v, 3)", "np.linalg.norm(m, 2)", "np.linalg.norm(m)"),
    *("np.linalg.outer(v, w)", "np.linalg.pinv(m)", "np.linalg.qr(m)", "np.linalg.qr(m, 'r')", "np.linalg.slogdet(m)", "np.linalg.solve(m, v)", "np.linalg.solve(m, k)", "np.linalg.svd(m)"),
    *("np.linalg.svd(m, compute_uv=False)", "np.linalg.svdvals(m)", "np.linalg.tensordot(m, m)", "np.linalg.tensorinv(t.reshape(4, 6)[:, :4].reshape(2, 2, 4), 2)", "np.linalg.tensorsolve(m, v)"),
    *("np.linalg.trace(m)", "np.linalg.trace(m, dtype='float32')", "np.linalg.vecdot(v, w)", "np.linalg.vector_norm(v)", "np.linalg.vector_norm(v, ord=1)", "np.linalg.vector_norm(m, axis=0)"),
    *("np.linalg.norm(x)", "np.linalg.vector_norm(v, ord=0)", "np.linalg.vector_norm(v, ord=3.)"),
]  # fmt: skip
FFT = "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftshift ifftshift"
FREQUENCIES = ["np.fft.fftfreq(4)", "np.fft.fftfreq(4, x)", "np.fft.rfftfreq(4)", "np.fft.rfftfreq(4, .5)", "np.fft.fftfreq(4, dtype='float32')"]  # fmt: skip
# Their number of results hangs on the values: not while a function is traced.
UNKNOWN_SIZES = [
    *("np.nonzero(v)", "np.flatnonzero(v)", "np.argwhere(v)", "np.where(v)", "np.unique(v)", "np.unique(v, True, True, True)", "np.unique(m, axis=0, return_counts=True)", "np.unique_all(v)"),
    *("np.unique_counts(v)", "np.unique_inverse(v)", "np.unique_values(v)", "np.union1d(v, w)", "np.intersect1d(v, w)", "np.intersect1d(v, w, return_indices=True)", "np.setdiff1d(v, w)"),
    *("np.setxor1d(v, w)", "np.bincount(k, v)", "np.trim_zeros(v)", "np.roots(v)", "np.repeat(v, k)", "np.extract(B, v)", "v[B]", "v.nonzero()", "np.setxor1d(v, w, True)"),
]  # fmt: skip
OPERATORS = "+ - * / // % ** @ & | ^ << >> == != < <= > >="
METHODS = [
    *(["all()", "any()", "argmax()", "argmin()", "argsort()", "conj()", "conjugate()", "copy()", "cumprod()", "cumsum()", "diagonal()", "flatten()", "max()", "mean()"]),
    *(["min()", "prod()", "ptp()", "ravel()", "round()", "sort()", "squeeze()", "std()", "sum()", "swapaxes(0,1)", "trace()", "transpose()", "var()", "repeat(2)"]),
    *(["real", "imag", "T", "mT", "shape", "size", "ndim", "dtype", "nbytes", "itemsize", "astype(int)", "astype('bfloat16')", "astype(bool)", "take(1)", "reshape(-1)"]),
    *(["argpartition(1)", "choose([k]*3)", "clip(0,1)", "clip(.5)", "compress(B,axis=0)", "dot(m)", "view('int8')", "item(0)", "tolist()", "byteswap()"]),
    *(["searchsorted(1)", "nonzero(size=2)", "sum(dtype='float32')", "round(1)", "clip(max=.5)", "max(initial=1)"]),
]  # fmt: skip
METHODS_OF_AT = (
    "add(x) divide(x) max(x) min(x) mul(x) multiply(x) power(2) power(x) set(x) subtract(x) get() apply(np.sin)"
)
METHODS_OF_AT += " apply(np.square) get(mode='fill',fill_value=2)"
UFUNC_METHODS = "reduce(v) accumulate(v) outer(v,w) at(v,k,w,inplace=False) reduceat(v,k)"
UFUNCS = "add multiply maximum minimum logical_and logical_or logaddexp logaddexp2 bitwise_and bitwise_or bitwise_xor"

NUMPY_CALLS = [
    *families("np.{}(x)", UNARY),
    *families("np.{}(x, y)", BINARY),
    *families("np.{}(m)", f"{REDUCTIONS} {CUMULATIVE.replace('cumulative_prod cumulative_sum', '')}"),
    *families("np.{}(x)", REDUCTIONS),
    *families("np.{}(v, axis=0)", f"{REDUCTIONS} {CUMULATIVE}"),
    *families("np.fft.{}(m)", FFT),
    *OTHERS,
    *LINALG,
    *FREQUENCIES,
    *[f"x {symbol} y" for symbol in OPERATORS.split()],
    *(
        "-x",
        "+x",
        "~x",
        "abs(x)",
        "divmod(x, y)",
        "pow(x, 2)",
        "x ** 2",
        "x ** -1",
        "x ** .5",
        "2 ** x",
        "round(v, 1)",
        "v @ w",
        "v @ k",
    ),
    *[f"m.{method}" for method in METHODS],
    *[f"v.at[0].{method}" for method in METHODS_OF_AT.split()],
    *("v[0]", "v[:2]", "v[k]", "m[k, k]", "v[None]", "t[..., 0]", "v[0] * np.ones(2, 'bfloat16')"),
    *[f"np.{ufunc}.{method}" for ufunc in UFUNCS.split() for method in UFUNC_METHODS.split()],
    *[(EAGER, text) for text in UNKNOWN_SIZES],
]
# Names without a call, and why.
NUMPY_WITHOUT = {
    "np": {
        "character complexfloating floating flexible generic inexact integer number signedinteger unsignedinteger": "kinds of dtypes",
        "ndarray object_ ufunc": "classes",
        "float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 "
        "float8_e5m2fnuz float8_e8m0fnu int1 int2 int4 uint1 uint2 uint4": "dtypes that NumPy does not compute with",
        "bool cdouble complex128 complex_ csingle double float16 int16 int32 int64 single uint16 uint32 uint64 uint8": "as the types that are called",
        "from_dlpack fromfile load save savez": "of files and other libraries",
        "get_printoptions printoptions set_printoptions": "about text",
    },
}  # fmt: skip


# --- Calls of every function of `lax` and `lax.linalg`. The operands: see `calls_numpy` ---


LAX_UNARY = """
    abs acos acosh asin asinh atan atanh bessel_i0e bessel_i1e bitwise_not cbrt ceil clz conj cos cosh digamma erf erf_inv
    erfc exp exp2 expm1 floor imag is_finite lgamma log log1p logistic neg population_count real reciprocal round rsqrt sign
    sin sinh sqrt square tan tanh stop_gradient optimization_barrier full_like_ones
"""
LAX_BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor complex div eq ge gt igamma igamma_grad_a igammac le lt max min mul mulhi ne
    nextafter pow random_gamma_grad rem shift_left shift_right_arithmetic shift_right_logical sub polygamma zeta
"""
REDUCED = "cumlogsumexp cummax cummin cumprod cumsum"
LAX_REDUCTIONS = "reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor"
SCATTERS = "scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub"
_GATHER = "lax.GatherDimensionNumbers((), (0,), (0,))"
_SCATTER = "lax.ScatterDimensionNumbers((), (0,), (0,))"
LAX_OTHERS = [
    *("lax.argmax(v, 0, 'int32')", "lax.argmin(v, 0, int)", "lax.approx_max_k(v, 2)", "lax.approx_min_k(v, 2)", "lax.associative_scan(lambda a, b: a + b, v)", "lax.batch_matmul(t, np.swapaxes(t, 1, 2))"),
    *("lax.betainc(x, x, x)", "lax.bitcast_convert_type(v, 'uint8')", "lax.bitcast_convert_type(v, v.dtype)", "lax.broadcast(x, (2,))", "lax.broadcast_in_dim(v, (2, 3), (1,))", "lax.broadcast_like(x, m)"),
    *("lax.broadcast_shapes((1, 3), (2, 1))", "lax.broadcast_to_rank(x, 3)", "lax.broadcasted_iota(v.dtype, (2, 3), 1)", "lax.clamp(x, v, x)", "lax.clamp(0, v, 2)", "lax.clamp(v, v, v)", "lax.collapse(m, 0)"),
    *("lax.concatenate([v, w], 0)", "lax.concatenate([v, v], 0)", "lax.cond(True, lambda a: a, lambda a: a + a, x)", "lax.conv(t, t[:1], (1,), 'SAME')", "lax.conv_general_dilated(t, t[:1], (1,), 'SAME')", "lax.conv_general_dilated_local(t, np.ones((1, 9, 4), v.dtype), (1,), 'SAME', (3,))"),
    *("lax.conv_general_dilated_patches(t, (2,), (1,), 'SAME')", "lax.conv_transpose(t, np.ones((2, 3, 1), v.dtype).swapaxes(1, 2)[:, :, :1].repeat(4, 1), (1,), 'SAME')", "lax.conv_with_general_padding(t, t[:1], (1,), ((0, 0),), None, None)"),
    *("lax.convert_element_type(x, 'float32')", "lax.convert_element_type(x, 'int8')", "lax.convert_element_type(x, 'bfloat16')", "lax.convert_element_type(x, float)", "lax.convert_element_type(x, int)", "lax.dot(v, w)", "lax.dot(m, m, preferred_element_type='float32')", "lax.dot_general(m, m, (((1,), (0,)), ((), ())))"),
    *("lax.dtype(x)", "lax.dynamic_index_in_dim(v, 1)", "lax.dynamic_slice(m, (0, 1), (2, 2))", "lax.dynamic_slice_in_dim(v, 1, 2)", "lax.dynamic_update_index_in_dim(v, x, 1, 0)", "lax.dynamic_update_index_in_dim(v, v[0], 1, 0)", "lax.dynamic_update_slice(v, w[:2], (1,))", "lax.dynamic_update_slice_in_dim(v, w[:2], 1, 0)"),
    *("lax.empty((2,), v.dtype)", "lax.expand_dims(x, (0,))", "lax.fft(v, 'fft', (3,))", "lax.fft(v, 'rfft', (3,))", "lax.fft(v, 'irfft', (3,))", "lax.fori_loop(0, 3, lambda i, a: a, x)", "lax.fori_loop(0, 3, lambda i, a: i, 0)", "lax.fori_loop(0, k[1], lambda i, a: a + a, v)"),
    *("lax.full((2,), x)", "lax.full((2,), x, 'bfloat16')", "lax.full_like(x, y)", "lax.full_like(v, 2)", "lax.full_like(x, 2, 'float32')", "lax.full_like(x, 2, shape=(3,))", f"lax.gather(v, k[:, None], {_GATHER}, (1,))", "lax.index_in_dim(v, 1)", "lax.index_take(m, (k,), (0,))", "lax.integer_pow(x, 2)", "lax.integer_pow(x, -1)", "lax.integer_pow(x, 0)"),
    *("lax.iota(v.dtype, 3)", "lax.iota(int, 3)", "lax.map(lambda a: a + a, v)", "lax.map(lambda a: a * 2, v)", "lax.pad(v, v[0], ((1, 1, 0),))", "lax.pad(v, x, ((1, 1, 0),))", "lax.ragged_dot(m, t[:, :, :3] if False else np.stack([m, m]), k[:2])"),
    *("lax.reduce(v, v[0], lax.add, (0,))", "lax.reduce(v, x, lax.add, (0,))", "lax.reduce(m, np.zeros((), v.dtype), lambda a, b: a + b, (0,))", "lax.reduce_precision(x, 5, 3)", "lax.reduce_window(v, x, lax.add, (2,), (1,), 'SAME')", "lax.reduce_window(v, v[0], lax.max, (2,), (1,), 'SAME')"),
    *("lax.reshape(x, (1, 1, -1))", "lax.reshape(m, (9,))", "lax.rev(v, (0,))", "lax.rng_bit_generator(np.zeros(4, 'uint32'), (3,), 'uint32')", "lax.scan(lambda c, a: (c, a + a), x, v)", "lax.scan(lambda c, a: (c, c), 0., v)", "lax.scan(lambda c, a: (c, 2.), v, k)", "lax.scan(lambda c, a: (c + a, a), v[0], v)"),
    *("lax.select(B, v, w)", "lax.select(True, x, x)", "lax.select_n(B, v, w)", "lax.shape_as_value((2, 3))", "lax.slice(m, (0, 0), (2, 2))", "lax.slice_in_dim(v, 0, 2)", "lax.sort(v)", "lax.sort((v, k))", "lax.sort_key_val(v, k)", "lax.split(v, (1, 2))", "lax.squeeze(v[None], (0,))"),
    *("lax.stack([v, w])", "lax.switch(1, [lambda a: a, lambda a: a + a], x)", "lax.tile(v, (2,))", "lax.top_k(v, 2)", "lax.transpose(m, (1, 0))", "lax.unstack(m)", "lax.while_loop(lambda a: False, lambda a: a, x)", "lax.while_loop(lambda a: (a[0] < 3), lambda a: (a[0] + 1, a[1]), (0, x))"),
    *("lax.composite(lambda a: a * 2, 'mine')(x)", "lax.platform_dependent(x, default=lambda a: a)", "lax.custom_root(lambda a: a - 1., .5, lambda f, a: a, lambda g, b: b)", "lax.custom_linear_solve(lambda a: a, v, lambda f, b: b)"),
    *("lax.reduce_window_shape_tuple((4,), (2,), (1,), ((0, 0),))", "lax.padtype_to_pads((4,), (2,), (1,), 'SAME')", "lax.conv_shape_tuple((1, 2, 4), (1, 2, 3), (1,), ((0, 0),))", "lax.conv_transpose_shape_tuple((1, 2, 4), (2, 1, 3), (1,), ((0, 0),))"),
    *("lax.conv_general_shape_tuple((1, 2, 4), (1, 2, 3), (1,), ((0, 0),), ('NCH', 'OIH', 'NCH'))", "lax.conv_general_permutations(('NCH', 'OIH', 'NCH'))", "lax.conv_dimension_numbers((1, 2, 4), (1, 2, 3), ('NCH', 'OIH', 'NCH'))"),
    *(f"lax.scatter_apply(v, k[:2, None], lambda a: a + a, {_SCATTER}, update_shape=(2,))", "lax.acos(x)", "lax.reduce_or(m > 0, (0,))", "lax.exp(x, accuracy=None)", "lax.ragged_dot_general(m, np.stack([m, m]), k[:2], lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), [0], [0]))"),
]  # fmt: skip
COLLECTIVES = [
    f"jax.vmap(lambda v: lax.{call}, axis_name='i')(m)"
    for call in (
        *("psum(v, 'i')", "pmean(v, 'i')", "pmax(v, 'i')", "pmin(v, 'i')", "all_gather(v, 'i')", "all_to_all(v, 'i', 0, 0)", "axis_index('i')", "axis_size('i')"),
        *("ppermute(v, 'i', [(0, 1)])", "pshuffle(v, 'i', [1, 2, 0])", "pswapaxes(v, 'i', 0)", "psum_scatter(v, 'i')", "pbroadcast(v, 'i', 0)", "psum(1, 'i')", "psum(2., 'i')", "pmean(1, 'i')"),
    )
]  # fmt: skip
LAX_LINALG = [
    *("lax.linalg.cholesky(m)", "lax.linalg.cholesky_update(m, v)", "lax.linalg.eig(m)", "lax.linalg.eigh(m)", "lax.linalg.hessenberg(m)", "lax.linalg.householder_product(m, v)", "lax.linalg.lu(m)", "lax.linalg.lu_pivots_to_permutation(k, 3)"),
    *("lax.linalg.ormqr(m, v, m)", "lax.linalg.qdwh(m)", "lax.linalg.qr(m)", "lax.linalg.schur(m)", "lax.linalg.svd(m)", "lax.linalg.symmetric_product(m, m)", "lax.linalg.triangular_solve(m, m)", "lax.linalg.tridiagonal(m)", "lax.linalg.tridiagonal_solve(v, v, v, m)"),
]  # fmt: skip
LAX_CALLS = [
    *families("lax.{}(x)", LAX_UNARY.replace("full_like_ones", "")),
    *families("lax.{}(x, y)", LAX_BINARY),
    *families("lax.{}(v)", REDUCED),
    *families("lax.{}(m, axis=1, reverse=True)", REDUCED),
    *families("lax.{}(m, (0,))", LAX_REDUCTIONS),
    *[f"lax.{name}(v, k[:, None], w, {_SCATTER})" for name in SCATTERS.split()],
    *LAX_OTHERS,
    *COLLECTIVES,
    *LAX_LINALG,
]
LAX_WITHOUT = {
    "lax": {
        "AccuracyMode ConvDimensionNumbers DotAlgorithm DotAlgorithmPreset DotDimensionNumbers FftType GatherScatterMode "
        "Precision RandomAlgorithm RoundingMethod Tolerance": "classes",
        "pcast ragged_all_to_all with_sharding_constraint stage": "need a mesh",
        "scaled_dot": "needs dtypes that NumPy does not compute with",
    },
    "lax.linalg": {"EigImplementation EighImplementation SvdAlgorithm": "classes"},
}  # fmt: skip


# --- Calls of every function of `nn`, `scipy`, `random`, `ops`, `image` ---


ACTIVATIONS = """
    celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu log1mexp log_sigmoid mish relu relu6 selu sigmoid
    silu soft_sign softplus sparse_plus sparse_sigmoid squareplus swish tanh
"""
NORMALISED = "glu log_softmax logmeanexp logsumexp softmax standardize"
NN = [
    *families("nn.{}(x)", ACTIVATIONS),
    *families("nn.{}(m)", NORMALISED.replace("glu", "")),
    *("nn.glu(t)", "nn.celu(x, y)", "nn.elu(x, y)", "nn.leaky_relu(x, y)", "nn.gelu(x, False)", "nn.squareplus(x, y)", "nn.softmax(m, where=B)", "nn.logsumexp(v, b=w)", "nn.logsumexp(v, b=k, return_sign=True)"),
    *("nn.logsumexp(x)", "nn.logmeanexp(v, where=B)", "nn.standardize(m, epsilon=.5)", "nn.standardize(v, mean=0., variance=1.)", "nn.one_hot(k, 3)", "nn.one_hot(k, 3, dtype=v.dtype)", "nn.one_hot(x, 3)", "nn.relu(v) * np.ones(3, 'bfloat16')"),
    *("nn.dot_product_attention(t[None], t[None], t[None])", "nn.dot_product_attention(t, t, t, bias=np.ones((1, 1, 2, 2), v.dtype)) if False else nn.dot_product_attention(t, t, t)", "nn.dot_product_attention(t, t, t, scale=.5)"),
]  # fmt: skip
INITIALIZERS = """
    glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal orthogonal
    truncated_normal uniform xavier_normal xavier_uniform
"""
MADE_BY_INITIALIZERS = [
    *families("nn.initializers.{}()(key, (3, 3), v.dtype)", INITIALIZERS),
    *families("nn.initializers.{}()(key, (3, 3))", INITIALIZERS),
    *("nn.initializers.constant(2)(key, (3,))", "nn.initializers.constant(x)(key, (3,), v.dtype)", "nn.initializers.constant(2., v.dtype)(key, (3,))", "nn.initializers.delta_orthogonal()(key, (3, 2, 2), v.dtype)"),
    *("nn.initializers.ones(key, (2,), v.dtype)", "nn.initializers.zeros(key, (2,), v.dtype)", "nn.initializers.ones(key, (2,))", "nn.initializers.zeros(key, (2,))", "nn.initializers.variance_scaling(1., 'fan_in', 'normal')(key, (3, 3), v.dtype)"),
]  # fmt: skip
SPECIAL_1 = """
    bernoulli_ dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit expm1_ factorial fresnel gamma gammaln gammasgn i0 i0e i1 i1e
    log_ndtr loggamma logit logsumexp ndtr ndtri sici softmax log_softmax spence wofz
"""
SPECIAL_2 = (
    "beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch polygamma rel_entr xlog1py xlogy zeta"
)
SPECIAL = [
    *families("sp.special.{}(x)", SPECIAL_1.replace("bernoulli_", "").replace("expm1_", "")),
    *families("sp.special.{}(x, y)", SPECIAL_2),
    *("sp.special.bernoulli(3)", "sp.special.bessel_jn(v, v=3)", "sp.special.betainc(x, y, .5)", "sp.special.betainc(1, 2, x)", "sp.special.expn(2, x)", "sp.special.hyp1f1(1, y, x)", "sp.special.hyp2f1(1, 1, y, x)"),
    *("sp.special.multigammaln(x, 2)", "sp.special.sph_harm_y(k, k, v, w, n_max=3)", "sp.special.factorial(x, exact=False)", "sp.special.zeta(x)", "sp.special.comb(x, y)", "sp.special.logsumexp(v, b=w)", "sp.special.polygamma(1, x)", "sp.special.zeta(x, 1)"),
]  # fmt: skip
LIBRARIES_LINALG = [
    *("sp.linalg.block_diag(x, y)", "sp.linalg.block_diag(m, v)", "sp.linalg.cho_factor(m)", "sp.linalg.cho_solve((m, True), v)", "sp.linalg.cholesky(m)", "sp.linalg.circulant(v)", "sp.linalg.companion(v)", "sp.linalg.convolution_matrix(v, 3)"),
    *("sp.linalg.det(m)", "sp.linalg.dft(3)", "sp.linalg.eigh(m)", "sp.linalg.eigh(m, eigvals_only=True)", "sp.linalg.eigh_tridiagonal(v, v[:2], eigvals_only=True)", "sp.linalg.expm(m)", "sp.linalg.expm_frechet(m, m)", "sp.linalg.fiedler(v)", "sp.linalg.fiedler_companion(v)"),
    *("sp.linalg.funm(m, np.exp)", "sp.linalg.hadamard(4)", "sp.linalg.hadamard(4, v.dtype)", "sp.linalg.hankel(v)", "sp.linalg.hankel(v, k)", "sp.linalg.helmert(3)", "sp.linalg.hessenberg(m)", "sp.linalg.hilbert(3)", "sp.linalg.inv(m)", "sp.linalg.invhilbert(3)"),
    *("sp.linalg.invpascal(3)", "sp.linalg.leslie(v, w[:2])", "sp.linalg.lu(m)", "sp.linalg.lu_factor(m)", "sp.linalg.lu_solve(sp.linalg.lu_factor(m), v)", "sp.linalg.pascal(3)", "sp.linalg.polar(m)", "sp.linalg.qr(m)", "sp.linalg.qr_multiply(m, m)", "sp.linalg.rsf2csf(m, m)"),
    *("sp.linalg.schur(m)", "sp.linalg.solve(m, v)", "sp.linalg.solve_sylvester(m, m, m)", "sp.linalg.solve_triangular(m, v)", "sp.linalg.sqrtm(m)", "sp.linalg.svd(m)", "sp.linalg.toeplitz(v)", "sp.linalg.toeplitz(v, k)", "sp.linalg.solve(m, k)", "sp.linalg.solve_triangular(m, k)"),
]  # fmt: skip
SCIPY = [
    *families("sp.fft.{}(m)", "dct dctn idct idctn"),
    *families("sp.signal.{}(v, w)", "convolve correlate fftconvolve"),
    *families("sp.signal.{}(v, k)", "convolve correlate fftconvolve"),
    *families("sp.signal.{}(m, m)", "convolve2d correlate2d"),
    *("sp.signal.csd(v, w, nperseg=3)", "sp.signal.detrend(v)", "sp.signal.stft(v, nperseg=2)", "sp.signal.istft(m, nperseg=4)", "sp.signal.welch(v, nperseg=3)", "sp.ndimage.map_coordinates(m, [v, v], 1)", "sp.ndimage.map_coordinates(m, [k, k], 0)"),
    *("sp.optimize.minimize(lambda a: (a ** 2).sum(), v, method='BFGS').x", "sp.integrate.trapezoid(v)", "sp.integrate.trapezoid(v, w)", "sp.integrate.trapezoid(v, dx=x)", "sp.interpolate.RegularGridInterpolator((v, v), m)(m[:, :2])"),
    *("sp.cluster.vq.vq(m, m)", "sp.sparse.linalg.cg(m, v)[0]", "sp.sparse.linalg.gmres(m, v)[0]", "sp.sparse.linalg.bicgstab(m, v)[0]", "sp.sparse.linalg.cg(lambda a: a, v)[0]"),
    *("sp.spatial.transform.Rotation.from_rotvec(v).as_matrix()", "sp.spatial.transform.Rotation.from_euler('x', x).as_quat()", "sp.spatial.transform.Slerp.init(np.arange(3.), sp.spatial.transform.Rotation.from_rotvec(m))(.5).as_quat()"),
    *("sp.stats.gaussian_kde(v).evaluate(v)", "sp.stats.mode(v)", "sp.stats.mode(m, None)", "sp.stats.rankdata(v)", "sp.stats.rankdata(v, 'min')", "sp.stats.sem(v)", "sp.stats.sem(m, 1)"),
]  # fmt: skip
# Each distribution: its functions, and what parameters its calls need and may have, beside loc and scale.
DISTRIBUTIONS = {
    "bernoulli": ("cdf logpmf pmf ppf", "y"),
    "beta": ("cdf logcdf logpdf logsf pdf sf", "y, 2"),
    "betabinom": ("logpmf pmf", "3, y, 2"),
    "binom": ("logpmf pmf", "3, y"),
    "cauchy": ("cdf isf logcdf logpdf logsf pdf ppf sf", ""),
    "chi2": ("cdf logcdf logpdf logsf pdf sf", "y"),
    "expon": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "gamma": ("cdf logcdf logpdf logsf pdf sf", "y"),
    "gennorm": ("cdf logpdf pdf", "y"),
    "geom": ("logpmf pmf", "y"),
    "gumbel_l": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "gumbel_r": ("cdf logcdf logpdf logsf pdf ppf sf", ""),
    "laplace": ("cdf logpdf pdf", ""),
    "logistic": ("cdf isf logpdf pdf ppf sf", ""),
    "nbinom": ("logpmf pmf", "2, y"),
    "norm": ("cdf isf logcdf logpdf logsf pdf ppf sf", ""),
    "pareto": ("cdf logcdf logpdf logsf pdf ppf sf", "y"),
    "poisson": ("cdf logpmf pmf", "y"),
    "t": ("logpdf pdf", "y"),
    "truncnorm": ("cdf logcdf logpdf logsf pdf sf", "y, 2"),
    "uniform": ("cdf logpdf pdf ppf", ""),
    "vonmises": ("logpdf pdf", "y"),
    "wrapcauchy": ("logpdf pdf", "y"),
}
WITHOUT_SCALE = ("bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson", "vonmises", "wrapcauchy", "gennorm")


def _densities() -> list[str]:
    found = []
    for name, (functions, parameters) in DISTRIBUTIONS.items():
        for function in functions.split():
            given = f"x, {parameters}" if parameters else "x"
            found.append(f"sp.stats.{name}.{function}({given})")
            if name not in WITHOUT_SCALE:
                found.append(f"sp.stats.{name}.{function}({given.replace('y', '1')}, y, 2)")
    return found


STATS = [
    *_densities(),
    *("sp.stats.poisson.entropy(x)", "sp.stats.multinomial.logpmf(v, 3, np.abs(w))", "sp.stats.multinomial.pmf(v, x, w)", "sp.stats.dirichlet.logpdf(v, w)", "sp.stats.dirichlet.pdf(v, w)"),
    *("sp.stats.multivariate_normal.logpdf(v, w, m)", "sp.stats.multivariate_normal.pdf(v, w, m)", "sp.stats.multivariate_normal.logpdf(x, 0., 1.)", "sp.stats.multivariate_normal.pdf(v, 0, y)"),
]  # fmt: skip
RANDOM = [
    *[f"random.{name}(key, (3,), v.dtype)" for name in "cauchy exponential gumbel laplace logistic maxwell normal rademacher rayleigh_ uniform".replace("rayleigh_", "").split()],
    *[f"random.{name}(key)" for name in ["cauchy", "exponential", "gumbel", "laplace", "logistic", "maxwell", "normal", "uniform", "bernoulli", "bits", "rademacher"]],
    *("random.ball(key, 2)", "random.ball(key, 2, x)", "random.bernoulli(key, x)", "random.bernoulli(key, v, (3,))", "random.beta(key, x, y)", "random.beta(key, v, w, dtype='float32')", "random.binomial(key, 3, x)", "random.binomial(key, x, y)", "random.bits(key, (2,), 'uint8')"),
    *("random.categorical(key, v)", "random.categorical(key, m, axis=0)", "random.chisquare(key, x)", "random.choice(key, v)", "random.choice(key, 3, (2,))", "random.choice(key, v, (2,), p=np.abs(w))", "random.dirichlet(key, v)", "random.double_sided_maxwell(key, x, y)"),
    *("random.f(key, x, y)", "random.gamma(key, x)", "random.gamma(key, v, dtype='float32')", "random.generalized_normal(key, x)", "random.geometric(key, x)", "random.loggamma(key, x)", "random.lognormal(key, x)", "random.multinomial(key, 3, v)", "random.multinomial(key, x, v)"),
    *("random.multivariate_normal(key, v, m)", "random.orthogonal(key, 2)", "random.orthogonal(key, 2, dtype=v.dtype)", "random.pareto(key, x)", "random.permutation(key, v)", "random.permutation(key, 4)", "random.poisson(key, x)", "random.randint(key, (2,), x, y)", "random.randint(key, (2,), 0, 9, v.dtype)"),
    *("random.rayleigh(key, x)", "random.t(key, x)", "random.triangular(key, x, y, 2)", "random.truncated_normal(key, x, y)", "random.uniform(key, (2,), minval=x, maxval=y)", "random.wald(key, x)", "random.weibull_min(key, x, y)", "random.normal(key, (2,), complex)", "random.split(key)", "random.fold_in(key, 3)"),
    *("random.key_data(key)", "random.clone(key)", "random.wrap_key_data(np.zeros(2, 'uint32'))", "random.key(3)", "random.PRNGKey(3)", "random.fold_in(key, k[0])", "random.split(key, (2, 2))"),
]  # fmt: skip
OPS = [
    *[f"ops.segment_{name}(v, k, 3)" for name in ["max", "min", "prod", "sum"]],
    *[f"ops.segment_{name}(m, k, 2)" for name in ["max", "min", "prod", "sum"]],
    *("image.resize(m, (2, 4), 'linear')", "image.resize(m, (2, 4), 'nearest')", "image.resize(m, (5, 4), 'cubic')", "image.scale_and_translate(m, (2, 2), (0, 1), np.ones(2), np.zeros(2), 'linear')"),
    *("image.scale_and_translate(m, (2, 2), (0, 1), v[:2], v[:2], 'linear')", "image.resize(m, (2, 2), 'lanczos3', antialias=False)"),
]  # fmt: skip
LIBRARIES_CALLS = [*NN, *MADE_BY_INITIALIZERS, *SPECIAL, *LIBRARIES_LINALG, *SCIPY, *STATS, *RANDOM, *OPS]
LIBRARIES_WITHOUT = {
    "nn": {"scaled_matmul": "needs dtypes that NumPy does not compute with"},
    "nn.initializers": {"Initializer": "a class"},
    "random": {"key_dtype key_impl": "about keys, not numbers"},
    "image": {"ResizeMethod": "a class"},
    "sp.optimize": {"OptimizeResults": "a class"},
    "sp.special": {"lpmn lpmn_values": "compared with SciPy, in tests of their own"},
}

CALLS = [*NUMPY_CALLS, *LAX_CALLS, *LIBRARIES_CALLS]
WITHOUT = (NUMPY_WITHOUT, LAX_WITHOUT, LIBRARIES_WITHOUT)  # what has no call, by reason, of each table
