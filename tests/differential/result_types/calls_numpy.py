"""Calls of every function of `numpy`, `numpy.linalg` and `numpy.fft`, of the methods and operators of arrays.

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

CALLS = [
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
WITHOUT = {
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
