"""Input that is not accepted is refused by an error that says so; odd input is taken as NumPy takes it."""

import re

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.lax.linalg import lu_pivots_to_permutation as permutation

# --- Bad input gets an exception of the right kind, which says what was passed and what was expected ----------------


CASES = [
    # what is no array
    ("np.add([1], 2)", TypeError, "add requires arrays or numbers, got [1] of type list for argument 0"),
    ("np.sum([1, 2])", TypeError, "convert it with tangrad.numpy.asarray"),
    ("np.sin('a')", TypeError, "sin requires arrays or numbers"),
    ("np.take(g, [0, 1])", TypeError, "take requires arrays"),
    ("np.where(B, [1, 2, 3], 0)", TypeError, "where requires arrays"),
    ("g + [1]", TypeError, "unsupported operand types for +"),
    ("[1] + g", TypeError, "unsupported operand types for +"),
    ("g + 'a'", TypeError, "unsupported operand type"),
    ("g < None", TypeError, "not supported between"),
    ("np.concatenate(3)", TypeError, "concatenate requires a tuple or list of arrays"),
    ("np.array(None)", ValueError, "None is not a number"),
    ("np.array([None, 1])", ValueError, "None is not a number"),
    ("np.array('a')", TypeError, "'a' of type str"),
    ("np.array({1, 2})", TypeError, "is no array, number, or sequence"),
    ("np.array([[1, 2], [3]])", ValueError, "ragged"),
    ("np.array([g, g[:2]])", ValueError, "ragged"),
    ("np.array(numpy.array(['a']))", TypeError, "not a dtype of arrays"),
    ("np.array([1, 2], order='F')", NotImplementedError, "order"),
    ("np.asarray(numpy.ones(2), copy=False)", ValueError, "must be copied"),
    ("np.sin(numpy.ma.array([1, 2], mask=[True, False]))", ValueError, "masked arrays"),
    ("np.ravel_multi_index((s * 0, s * 0), (300, 3))", ValueError, "int8 does not hold all positions"),
    ("np.linalg.outer(f, g)", ValueError, "outer takes vectors"),
    ("np.atleast_2d([1, 2])", TypeError, "atleast_2d requires arrays"),
    ("np.where(b, f, f, size=3)", ValueError, "size and fill_value"),
    ("np.compress(np.array([1, 0, 0, 1]), g)", ValueError, "holds beyond the axis, which has length 3"),
    ("np.pad(f, {2: 1})", ValueError, "2 is out of bounds for an array of 2 dimensions"),
    ("api.jit(lambda i: np.ones((2, 0))[0, i])(0)", IndexError, "dimension 1, which has size 0"),
    ("api.jit(lambda k: np.eye(3, k=k))(1.0)", TypeError, "cannot be used as a Python integer"),
    ("np.trim_zeros(f, axis=2)", ValueError, "out of bounds"),
    ("np.repeat(g, 1.5)", TypeError, "repeats must be integers"),
    ("np.unique(o, size=2)", ValueError, "give a fill_value"),
    ("np.sum(f, where=i)", ValueError, "where must be boolean"),
    ("np.vectorize(lambda x, y: x, signature='(n),(n)->(n)')(g, None)", ValueError, "argument 1 is None"),
    ("api.jit(np.intersect1d)(n, j)", TypeError, "which size= would fix"),
    ("g.view('complex64')", ValueError, "does not make up whole elements"),
    ("api.lax.slice(g, (2,), (1,))", ValueError, "slice: start_indices (2,) and limit_indices (1,) must satisfy"),
    ("api.lax.slice(g, (0,), (9,))", ValueError, "limit <= size for shape (3,)"),
    ("api.lax.slice(g, (0,), (1,), (0,))", ValueError, "slice: strides must be positive, got (0,)"),
    ("api.lax.slice(g, (0, 0), (1,))", ValueError, "slice: start_indices must have one entry"),
    # Fourier transforms
    ("np.fft.fft([1, 2])", TypeError, "fft requires arrays or numbers, got [1, 2]"),
    (
        "np.fft.fft(g, norm='Ortho')",
        ValueError,
        "fft: norm must be 'backward', 'ortho', 'forward' or None, got 'Ortho'",
    ),
    ("np.fft.fft(g, norm=1)", ValueError, "fft: norm must be"),
    ("np.fft.hfft(g, norm='x')", ValueError, "hfft: norm must be"),
    ("np.fft.fft(g, 0)", ValueError, "fft: n must be positive, got 0"),
    ("np.fft.irfft(g, n=-2)", ValueError, "irfft: n must be positive, got -2"),
    ("np.fft.fft(g, 2.5)", TypeError, "fft: n must be an integer, got 2.5"),
    ("np.fft.fft(g, axis=1)", ValueError, "fft: axis 1 is out of bounds for an array of 1 dimensions"),
    ("np.fft.fft(g, axis=(0,))", TypeError, "fft: axis must be an integer"),
    ("np.fft.fft(w)", ValueError, "fft: axis -1 is out of bounds"),
    ("np.fft.rfft(c)", TypeError, "rfft takes real arrays, got dtype complex64"),
    ("np.fft.ihfft(c)", TypeError, "ihfft takes real arrays"),
    ("np.fft.rfftn(c)", TypeError, "rfftn takes real arrays"),
    ("np.fft.irfft(g[:1])", ValueError, "irfft: axis 0 of size 1 has no points to transform"),
    ("np.fft.rfft(g[:0])", ValueError, "rfft: axis 0 of size 0 has no points to transform"),
    ("np.fft.fft2(g)", ValueError, "fft2: axes -2 is out of bounds"),
    ("np.fft.fft2(t, axes=(0, 1, 2))", ValueError, "fft2: there must be two axes, got (0, 1, 2)"),
    ("np.fft.fftn(t, axes=(0, -3))", ValueError, "fftn: axes names a dimension twice: (0, -3)"),
    ("np.fft.fftn(t, axes=3)", TypeError, "fftn: axes must be a sequence of integers, got 3"),
    ("np.fft.fftn(t, s=3)", TypeError, "fftn: s must be a sequence of integers, got 3"),
    ("np.fft.fftn(t, s=(2, 3), axes=(0,))", ValueError, "fftn: s (2, 3) and axes (0,) must have one length"),
    ("np.fft.fftn(f, s=(1, 2, 3))", ValueError, "has more sizes than the array has dimensions"),
    ("np.fft.fftn(f, s=(2, 0))", ValueError, "fftn: s must be positive, got 0"),
    ("np.fft.fftn(f, s=(2, None))", TypeError, "fftn: s must be an integer, got None"),
    ("np.fft.rfftn(f, axes=())", ValueError, "rfftn: there must be an axis to transform along"),
    ("np.fft.fftfreq(-1)", ValueError, "fftfreq: n must be at least 0, got -1"),
    ("np.fft.fftfreq([1])", TypeError, "fftfreq: n must be an integer"),
    ("np.fft.fftfreq([1])", ValueError, "fftfreq: n must be an integer, got [1] of type list"),
    ("np.fft.ifft(f, axis=[1, 1])", ValueError, "ifft: axis must be an integer, got [1, 1]"),
    ("np.fft.ifft(f, axis=[1, 1])", TypeError, "ifft: axis must be an integer, got [1, 1]"),
    ("np.fft.rfftfreq(0)", ValueError, "rfftfreq: n must be at least 1, got 0"),
    ("np.fft.fftshift(f, 2)", ValueError, "fftshift: axes 2 is out of bounds"),
    ("api.lax.fft(c, 'DFT', (3,))", ValueError, "fft_type must be one of 'FFT', 'IFFT', 'RFFT', 'IRFFT', got 'DFT'"),
    ("api.lax.fft(c, 0, (3,))", TypeError, "fft_type must be a FftType"),
    ("api.lax.fft(c, 'FFT', 3)", TypeError, "fft_lengths must be a sequence of integers, got 3"),
    ("api.lax.fft(c, 'FFT', (3.0,))", TypeError, "fft_lengths must be an integer"),
    ("api.lax.fft(c, 'FFT', (4,))", ValueError, "FFT of lengths (4,) takes an x that ends in (4,), got shape (3,)"),
    ("api.lax.fft(c, 'RFFT', (3,))", TypeError, "RFFT takes an x of float32 or float64, got complex64"),
    ("api.lax.fft(h, 'RFFT', (3,))", TypeError, "RFFT takes an x of float32 or float64, got float16"),
    # dtypes
    ("np.zeros(3, dtype='foo')", TypeError, "'foo' is not a dtype"),
    ("np.zeros(3, dtype=object)", TypeError, "is not a dtype"),
    ("np.astype(g, 'S3')", TypeError, "not a dtype of arrays"),
    ("np.array(300, dtype='int8')", OverflowError, "300 does not fit int8"),
    ("np.asarray(2**40)", OverflowError, "does not fit int32"),
    ("u + 300", OverflowError, "300 does not fit uint8"),
    ("np.array([-1], dtype='uint8')", OverflowError, "-1 does not fit uint8"),
    ("np.array([1.0, 128.0], dtype='int8')", OverflowError, "128.0 does not fit int8"),
    ("np.array(1e10, dtype='int32')", OverflowError, "does not fit int32"),
    ("np.asarray([numpy.int32(300)], dtype='int8')", OverflowError, "300 does not fit int8"),
    ("np.int8(float('inf'))", OverflowError, "inf does not fit int8"),
    ("np.array([float('nan')], dtype='int32')", ValueError, "nan does not fit int32"),
    ("np.array(2j, dtype='int8')", TypeError, "complex numbers cannot become int8"),
    ("np.array([2j, 1], dtype='float32')", TypeError, "complex numbers cannot become float32"),
    ("np.bitwise_and(g, 1)", TypeError, "does not accept dtype float32"),
    ("np.subtract(B, B)", TypeError, "does not accept dtype bool"),
    ("np.negative(True)", TypeError, "does not accept dtype bool"),
    ("np.floor(c)", TypeError, "floor does not accept complex numbers"),
    ("np.clip(c, 0, 1)", ValueError, "clip does not accept complex numbers"),
    ("np.hypot(c, c)", TypeError, "hypot does not accept complex numbers"),
    ("j ** -1", TypeError, "integers have no negative powers"),
    ("np.gcd(1.0, 2)", TypeError, "gcd requires integers"),
    ("np.round(j, -1)", NotImplementedError, "integers cannot be rounded to -1 decimals"),
    # shapes
    ("np.ones(3) + np.ones(4)", ValueError, "add got shapes that do not broadcast together: (3,), (4,)"),
    ("np.zeros((2.0, 3))", TypeError, "must consist of integers, got (2.0, 3) with 2.0 of type float"),
    ("np.zeros(-1)", ValueError, "must not have negative sizes"),
    ("np.zeros('3')", TypeError, "of integers"),
    ("np.reshape(g, (4, 2))", ValueError, "has 3 elements"),
    ("np.reshape(g, (-1, 2))", ValueError, "do not make up shape (-1, 2)"),
    ("np.reshape(g, (-1, -1))", ValueError, "only one size of (-1, -1) may be -1"),
    ("np.reshape(g, (1.0, 3))", TypeError, "must consist of integers"),
    ("np.reshape(g, 3, order='A')", NotImplementedError, "order 'A'"),
    ("np.concatenate([])", ValueError, "requires at least one array"),
    ("np.concatenate([f, g])", ValueError, "one number of dimensions, got shapes (2, 3), (3,)"),
    ("np.concatenate([1, 2])", ValueError, "arrays without dimensions cannot be joined"),
    ("np.stack([g, f])", ValueError, "one shape, got (3,), (2, 3)"),
    ("np.split(g, 2)", ValueError, "does not split into 2 equal parts"),
    ("np.broadcast_to(g, (2, 2))", ValueError, "does not broadcast to shape (2, 2)"),
    ("np.matmul(g, 2)", ValueError, "argument 1 must have at least one dimension"),
    ("np.matmul(f, f)", ValueError, "(2, 3) and (2, 3) do not fit"),
    ("g @ np.ones((4, 2))", ValueError, "3 and 4 must be the same size"),
    ("np.dot(f, f)", ValueError, "do not fit"),
    ("np.tensordot(f, f, 2.5)", TypeError, "axes must be an integer or a pair"),
    ("np.tensordot(f, m, axes=((0,), (0,)))", ValueError, "different sizes"),
    ("np.cross(v, v)", ValueError, "three components"),
    ("np.cross(g[:2], g[:2])", ValueError, "of two components"),
    ("np.einsum('ij,jk', f, f)", ValueError, "dimension 'j' has size 3 in one operand and 2 in another"),
    ("np.einsum('ij,jk', f)", ValueError, "have 2 terms, but there are 1 operands"),
    ("np.einsum('ijk', f)", ValueError, "do not fit an operand of 2 dimensions"),
    ("np.einsum('ij->k', f)", ValueError, "must not repeat a dimension, nor name one that no operand has"),
    ("np.diag(t)", ValueError, "one or two dimensions"),
    # axes
    ("np.sum(f, axis=2)", ValueError, "sum: axis 2 is out of bounds for an array of 2 dimensions"),
    ("np.max(f, axis=-3)", ValueError, "axis -3 is out of bounds for an array of 2 dimensions"),
    ("np.sum(f, axis=(0, 0))", ValueError, "names a dimension twice"),
    ("np.sum(f, axis=1.0)", TypeError, "axis must be an integer, got 1.0 of type float"),
    ("np.argmax(f, axis=5)", ValueError, "axis 5 is out of bounds"),
    ("np.transpose(f, (0, 0))", ValueError, "names a dimension twice"),
    ("np.transpose(f, (0,))", ValueError, "permutation"),
    ("np.squeeze(f, 0)", ValueError, "must have size 1"),
    ("np.expand_dims(f, 5)", ValueError, "axis 5 is out of bounds"),
    ("np.moveaxis(f, 0, 4)", ValueError, "destination 4 is out of bounds"),
    ("np.sort(f, axis=2)", ValueError, "axis 2 is out of bounds"),
    ("np.cumsum(f, axis=7)", ValueError, "axis 7 is out of bounds"),
    ("np.take(np.zeros((2, 0)), i, axis=1)", IndexError, "nothing to take along axis 1 of the shape (2, 0)"),
    ("np.take(f, k, axis=9)", ValueError, "axis 9 is out of bounds"),
    # empty
    ("np.max(o, axis=0)", ValueError, "is empty"),
    ("np.argmin(o, axis=0)", ValueError, "empty"),
    ("np.corrcoef(g, g, dtype=int)", ValueError, "dtype must be floating or complex, got int32"),
    ("np.median(o, axis=0)", ValueError, "no element along axis 0 of shape (0, 3)"),
    ("np.quantile(o, 0.5)", ValueError, "quantile: there is no element along axis None"),
    ("np.max(f, where=b)", ValueError, "where needs initial"),
    ("np.nanargmax(o, axis=0)", ValueError, "nanargmax: the axis is empty"),
    ("np.nanargmin(c)", TypeError, "nanargmin does not accept complex numbers"),
    ("np.interp(g, o[:, 0], o[:, 0])", ValueError, "interp: xp and fp must be vectors of one length, not empty"),
    ("np.polydiv(g, o[:, 0])", ValueError, "polydiv: v has no coefficients"),
    ("np.histogram(g, bins=-1)", ValueError, "bins must not be negative, got -1"),
    ("np.histogram2d(g, g[:2])", ValueError, "histogram2d: x and y must have one shape, got (3,) and (2,)"),
    ("np.cov(g, g[:2])", ValueError, "cov: m and y must have as many observations, got 3 and 2"),
    # matrices
    ("np.linalg.norm(f, axis=(0, 0))", ValueError, "norm: axis names a dimension twice: (0, 0)"),
    ("np.linalg.norm(f, axis=1.5)", TypeError, "norm: axis must be an integer, got 1.5"),
    ("np.linalg.vector_norm(f, axis=(0, -2))", ValueError, "vector_norm: axis names a dimension twice"),
    ("np.linalg.vector_norm(g, axis=1)", ValueError, "vector_norm: axis 1 is out of bounds"),
    ("np.linalg.matrix_norm(g)", ValueError, "matrix_norm takes arrays of at least two dimensions, got shape (3,)"),
    ("np.linalg.lstsq(q, g, rcond='a')", TypeError, "lstsq requires arrays or numbers, got 'a'"),
    ("np.linalg.lstsq(q, g, rcond=g)", ValueError, "lstsq: rcond must be a number, got shape (3,)"),
    ("np.linalg.tensorinv(q, ind=1.0)", TypeError, "tensorinv: ind must be an integer, got 1.0"),
    # keywords
    ("np.sum(g, out=g)", NotImplementedError, "arrays are immutable"),
    ("np.stack([g], out=g)", NotImplementedError, "out"),
    ("np.sum(g, foo=1)", TypeError, "unexpected keyword argument 'foo'"),
    ("np.add(x=1, y=2)", TypeError, "positional-only"),
    ("np.fill_diagonal(q, 1)", NotImplementedError, "pass inplace=False"),
    ("np.put(g, k, 1)", NotImplementedError, "pass inplace=False"),
    ("np.sort(g, kind='quicksort')", TypeError, "kind"),
    ("np.pad(g, 1, 'nonsense')", NotImplementedError, "unknown mode 'nonsense'"),
    ("np.pad(g, -1)", ValueError, "must not be negative"),
    ("np.pad(g, 1, 'edge', constant_values=1)", TypeError, "does not take constant_values"),
    ("np.quantile(g, 0.5, method='cubic')", ValueError, "unknown method 'cubic'"),
    ("np.var(g, ddof=1, correction=1)", ValueError, "two names of one argument"),
    ("np.searchsorted(f, 1)", ValueError, "must have one dimension"),
    ("np.searchsorted(g, 1, side='middle')", ValueError, "'left' or 'right'"),
    ("np.meshgrid(g, indexing='yx')", ValueError, "'xy' or 'ij'"),
    ("np.take(g, 1, mode='raise')", NotImplementedError, "cannot raise"),
    ("np.matmul(f, m, precision='medium')", ValueError, "precision"),
    ("np.arange(0, 1, 0)", ValueError, "step must not be 0"),
    ("np.arange(g)", ValueError, "start must be a number, got shape (3,)"),
    ("np.linspace(0, 1, -1)", ValueError, "num must not be negative"),
    ("np.linspace(0, 1, 2.5)", TypeError, "num must be an integer"),
    # indices
    ("g[1.0]", TypeError, "got 1.0 of type float"),
    ("g['a']", TypeError, "strings"),
    ("g[[0, 1]]", TypeError, "a list is no index"),
    ("g[0, 1]", IndexError, "the array has 1 dimensions, but 2 were indexed"),
    ("f[..., ...]", IndexError, "single ellipsis"),
    ("g[np.array(1.0)]", TypeError, "must be integer or boolean, got dtype float32"),
    ("g[np.array([True, False])]", IndexError, "does not fit the dimensions (3,)"),
    ("o[0]", IndexError, "size 0"),
    ("f[k, np.arange(2)]", IndexError, "(3,), (2,) do not broadcast"),
    ("g.at[0].set(g)", ValueError, "do not broadcast to shape ()"),
    ("g.at[0].foo", AttributeError, "foo"),
    ("g.at[0].set(1, mode='bad')", ValueError, "'bad'"),
    ("g.at[0].set(1, fill_value=3)", ValueError, "fill_value is for .get()"),
    ("setattr_item(g)", TypeError, "x.at[0].set(value)"),
    # methods
    ("g.nonsense", AttributeError, "has no attribute 'nonsense'"),
    ("g.reshape()", TypeError, "takes a shape"),
    ("len(w)", TypeError, "without dimensions"),
    ("list(w)", TypeError, "without dimensions"),
    ("bool(g)", ValueError, "ambiguous"),
    ("float(g)", TypeError, "without dimensions"),
    ("hash(g)", TypeError, "unhashable"),
]


def set_item(array):
    array[0] = 1.0


@pytest.mark.parametrize(("expression", "error", "message"), CASES, ids=[case[0] for case in CASES])
def test_message(expression, error, message, numpy_side):
    numpy_side.names["setattr_item"] = set_item
    with numpy_side.chosen(), pytest.raises(error, match=re.escape(message)):
        eval(expression, dict(numpy_side.names))


# JAX has a TypeError for these, NumPy a ValueError, and programs written for either catch their own.
SIZES = [
    "f + g[:2]",
    "np.maximum(f, g[:2])",
    "f < g[:2]",
    "np.clip(f, g[:2])",
    "np.dot(f, f)",
    "f @ f",
    "np.vdot(f, g)",
    "np.inner(f, m)",
    "np.tensordot(f, f, 1)",
    "np.reshape(g, (4, 2))",
    "np.reshape(g, (-1, 2))",
    "np.transpose(f, (0,))",
    "np.concatenate([f, g])",
    "np.vstack([g, g[:2]])",
    "np.array([g, g[:2]])",
    "np.zeros(-1)",
    "np.linalg.matrix_power(f, 2)",
    "np.polyfit(g, g[:2], 1)",
    "np.linalg.cholesky(f)",
    "np.linalg.qr(g)",
    "api.random.uniform(api.random.key(0), (2,), minval=g)",
    "api.lax.add(g, g[:2])",
    "api.lax.select(b, g[:2], g[:2])",
    "api.lax.clamp(g[:2], g, g[:2])",
    "api.lax.dot_general(f, f, (((1,), (0,)), ((), ())))",
    "api.lax.concatenate([f, f.T], 0)",
    "api.lax.broadcast_in_dim(g, (4,), (0,))",
    "api.lax.slice(g, (0,), (5,))",
    "api.lax.dynamic_slice(g, (0,), (5,))",
    "api.lax.dynamic_update_slice(g[:2], g, (0,))",
    "api.lax.rev(g, (3,))",
    "api.lax.sort((g, g[:2]))",
    "api.linear_transpose(lambda x: f @ x, g[:2])",
    "api.vjp(lambda x: x, g)[1]((g,))",
]


@pytest.mark.parametrize("expression", SIZES)
def test_sizes_that_do_not_fit_are_errors_of_both_kinds(expression, numpy_side):
    with numpy_side.chosen(), pytest.raises(tangrad.errors.ArgumentError) as caught:
        eval(expression, dict(numpy_side.names))
    assert isinstance(caught.value, TypeError) and isinstance(caught.value, ValueError)


TRACED = [
    ("lambda x: x[x > 0]", "NonConcreteBooleanIndexError", "boolean index"),
    ("lambda x: np.nonzero(x)", "ConcretizationTypeError", "size= would fix"),
    ("lambda x: np.unique(x)", "ConcretizationTypeError", "size"),
    ("lambda x: np.arange(x[0])", "ConcretizationTypeError", "the argument start of arange"),
    ("lambda x: np.zeros(x[0].astype(int))", "TracerIntegerConversionError", "Python integer"),
    ("lambda x: np.repeat(x, x.astype(int))", "ConcretizationTypeError", "total_repeat_length"),
    ("lambda x: np.bincount(x.astype(int))", "ConcretizationTypeError", "length= would fix"),
    ("lambda x: x[x[0].astype(int):]", "IndexError", "must be known while a function is traced"),
    ("lambda x: np.where(x > 0)", "ConcretizationTypeError", "size"),
    ("lambda x: x if x[0] > 0 else -x", "TracerBoolConversionError", "where"),
    ("lambda x: numpy.sin(x)", "TracerArrayConversionError", "tangrad.numpy.sin"),
    ("lambda x: np.sum(x, axis=x[0].astype(int))", "TracerIntegerConversionError", "Python integer"),
    ("lambda x: np.split(x, x[0].astype(int))", "TracerIntegerConversionError", "Python integer"),
]


@pytest.mark.parametrize(("expression", "error", "message"), TRACED, ids=[case[0] for case in TRACED])
def test_message_under_jit(expression, error, message, numpy_side):
    kind = IndexError if error == "IndexError" else getattr(numpy_side.api.errors, error)
    with numpy_side.chosen(), pytest.raises(kind, match=re.escape(message)):
        numpy_side.api.jit(eval(expression, dict(numpy_side.names)))(numpy_side.names["g"])


def test_settings_of_promotion(numpy_side):
    api, np = numpy_side.api, numpy_side.np
    with numpy_side.chosen():
        f, g, i = (numpy_side.names[name] for name in "fgi")
        with api.numpy_rank_promotion("raise"):
            with pytest.raises(ValueError, match="different ranks"):
                np.add(f, g)
            np.add(f, 1.0)
        with api.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="different ranks"):
            np.subtract(f, numpy.ones(3, "float32"))
        with api.numpy_dtype_promotion("strict"):
            with pytest.raises(ValueError, match="strict"):
                np.add(f, i)
            assert (f + 1).dtype == "float32"
        assert np.add(f, i).dtype == "float32"
        with api.enable_x64(True):
            assert np.asarray(1.0).dtype == "float64"
            assert (np.arange(3) + np.uint32(1)).dtype == "int64"
        assert (np.asarray(numpy.arange(3)) + np.uint32(1)).dtype == "int32"


# --- Input at the edge of what makes sense has NumPy's results on both backends: beyond an array, negative
# tolerances.


V = numpy.array([1.0, 2.0, 3.0], "float32")
HALF = numpy.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]], "float16")

# What the call is, and what comes of it: dtype and elements.
RESULTS = [
    # What is equal is close, whatever the tolerances.
    (lambda: np.isclose(V, V, rtol=-1.0), "bool", [True] * 3),
    (lambda: np.isclose(V, V + 1, rtol=-1.0), "bool", [False] * 3),
    (lambda: np.isclose(np.array([numpy.inf, numpy.nan]), np.array([numpy.inf, numpy.nan])), "bool", [True, False]),
    # Nothing is written beyond an array.
    (lambda: np.add.at(V, np.array([5, 0, 0]), 1.0, inplace=False), "float32", [3.0, 2.0, 3.0]),
    (lambda: np.add.at(V, np.array([-1, -4]), 1.0, inplace=False), "float32", [1.0, 2.0, 4.0]),
    (lambda: np.add.at(V, numpy.array([True, False, True]), 1.0, inplace=False), "float32", [2.0, 2.0, 4.0]),
    (lambda: np.add.reduceat(V, np.array([0, 5])), "float32", [6.0, numpy.nan]),
    (lambda: np.add.reduceat(V, np.array([0, 2])), "float32", [3.0, 3.0]),
    # The array API: of integers narrower than the default one, in the default one. JAX has it for sums alone.
    (lambda: np.cumulative_prod(np.array([1, 2, 3], "int8")), "int32", [1, 2, 6]),
    (lambda: np.cumulative_prod(np.array([1, 2, 3], "uint8")), "uint32", [1, 2, 6]),
    (lambda: np.cumulative_sum(np.array([1, 2, 3], "int8")), "int32", [1, 3, 6]),
    # JAX: a single real number is taken for a Python number.
    (lambda: np.angle(np.array(-1.0, "float16")), "float32", numpy.pi),
    (lambda: np.angle(np.array(1.0, "bfloat16")), "float32", 0.0),
    (lambda: np.angle(np.array([1.0], "float16")), "float16", [0.0]),
    (lambda: np.linalg.det(HALF), "float16", 18.0),
    (lambda: np.linalg.det(HALF.astype("float32").astype(np.bfloat16)), "bfloat16", 18.0),
    (lambda: np.nanargmax(np.zeros((0, 3)), axis=1), "int32", []),
    (lambda: permutation(np.array([0, 1, 5]), 3), "int32", [0, 1, 2]),
    (lambda: permutation(np.array([5, -1, 0]), 3), "int32", [2, 1, 0]),
]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_results(backend):
    with tangrad.use_backend(backend):
        for number, (call, dtype, elements) in enumerate(RESULTS):
            found = call()
            assert found.dtype == dtype, number
            numpy.testing.assert_allclose(numpy.asarray(found, "float64"), elements, rtol=1e-3, err_msg=str(number))
