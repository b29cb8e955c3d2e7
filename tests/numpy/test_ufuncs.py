"""Universal functions, `polyfit` and `roots`, on both backends, against NumPy."""

import math

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend
from tests.primitives import reference

# --- Universal functions, `polyfit` and `roots`, on both backends, against NumPy ------------------------------------


MATRIX = reference.normal((3, 4, 2), "float32")
NUMBERS = np.array([[3, 1, 4], [1, 5, 9]], np.int32)
TRUTH = NUMBERS > 2
OPERANDS = {
    **dict.fromkeys(("add", "multiply", "subtract", "maximum", "minimum", "logaddexp", "logaddexp2"), MATRIX),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), NUMBERS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), TRUTH),
}


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(expected, np.float64), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPERANDS)
def test_functions_of_numpy_have_the_methods(on, name):
    x, ours, theirs = OPERANDS[name], getattr(tnp, name), getattr(np, name)
    assert isinstance(ours, tnp.ufunc) and (ours.nin, ours.nout, ours.nargs) == (2, 1, 3)
    assert ours.identity == theirs.identity or name.startswith("logaddexp")
    for axis in (0, -1):
        close(ours.reduce(x, axis), theirs.reduce(x, axis))
        close(ours.reduce(x, axis, keepdims=True), theirs.reduce(x, axis, keepdims=True))
        close(ours.accumulate(x, axis), theirs.accumulate(x, axis))
        close(ours.reduceat(x, np.array([1, 0, 1]), axis), theirs.reduceat(x, [1, 0, 1], axis))
    if name != "subtract":
        close(ours.reduce(x, None), theirs.reduce(x, None))
        initial = x.dtype.type(1)
        close(ours.reduce(x, 1, initial=initial, where=x > 0), theirs.reduce(x, 1, initial=initial, where=x > 0))
    close(ours.outer(x, x[0]), theirs.outer(x, x[0]))
    expected = x.copy()
    theirs.at(expected, ([0, 1, 0], [1, 1, 1]), x[1, 1])
    close(ours.at(x, ([0, 1, 0], [1, 1, 1]), x[1, 1], inplace=False), expected)


def test_functions_of_one_argument(on):
    expected = MATRIX.copy()
    np.negative.at(expected, [0, 0, 1])
    close(tnp.negative.at(MATRIX, np.array([0, 0, 1]), inplace=False), expected)
    with pytest.raises(TypeError, match=r"negative.reduce is for functions of two"):
        tnp.negative.reduce(MATRIX)


def test_functions_of_users(on):
    ours, theirs = [api.frompyfunc(lambda x, y: 2 * x - y, 2, 1) for api in (tnp, np)]
    x = NUMBERS.astype("float32")
    close(ours(x, x[0]), theirs(x, x[0]))
    for axis in (0, 1):
        close(ours.reduce(x, axis), theirs.reduce(x, axis))
        close(ours.accumulate(x, axis), theirs.accumulate(x, axis))
    close(ours.outer(x[0], x[1]), theirs.outer(x[0], x[1]))
    folded = tnp.frompyfunc(lambda x, y: x + 2 * y, 2, 1, identity=0)
    close(folded.reduce(x, None, where=x > 2), 2 * x[x > 2].sum())
    assert folded.reduce(np.zeros((0, 2), "float32")).shape == (2,)
    parts = tnp.frompyfunc(lambda x: (x, -x), 1, 2)(x)
    close(parts[1], -x)
    assert repr(folded) == "<tangrad.numpy.ufunc '<lambda>'>" and folded.nargs == 3


def test_methods_are_transformed():
    scaled = tnp.frompyfunc(lambda x, y: x * y + y, 2, 1)
    for function in (
        *(scaled.reduce, scaled.accumulate, tnp.multiply.reduce, tnp.subtract.accumulate),
        lambda x: tnp.multiply.reduceat(x, np.array([0, 2])),
        lambda x: tnp.multiply.at(x, np.array([0, 0, 1]), x[:3], inplace=False),
    ):
        reference.check_mapped(lambda x, f=function: f(x), (MATRIX[0, :, 0],), (0,))
        with tangrad.enable_x64(True), use_backend("numpy"):
            reference.check_finite_differences(lambda x, f=function: f(x), (MATRIX[0].astype("float64"),))


def test_methods_are_compiled_by_xla():
    program = lambda x: (tnp.subtract.reduce(x), tnp.add.at(x, np.array([0, 0]), 1.0, inplace=False))
    expected = tangrad.jit(program)(MATRIX)
    with use_backend("xla"):
        reference.close(tangrad.jit(program)(MATRIX), expected)


# --- polynomials ---------------------------------------------------------------------------------------------------

X = np.linspace(-2, 3, 9)
Y = X**3 - 2 * X + 0.3 * reference.normal(9, "float64")


@pytest.mark.parametrize(
    "options", [{}, {"w": np.arange(1.0, 10)}, {"cov": True}, {"cov": "unscaled", "w": np.ones(9)}, {"full": True}]
)
@pytest.mark.parametrize("values", [Y, np.stack([Y, X], 1)])
def test_polynomials_fit(on, options, values):
    with tangrad.enable_x64(True):
        found, expected = [tangrad.tree.leaves(api.polyfit(X, values, 3, **options)) for api in (tnp, np)]
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
        if on == "numpy":
            reference.check_finite_differences(lambda x, y: tnp.polyfit(x, y, 2), (X, values))


@pytest.mark.parametrize("p", [[1.0, -3, 2], [0.0, 0, 2, 1, 5, 0, 0], [3.0], [0.0, 0], [], [1.0, 0, 0], [2, 1]])
def test_roots(on, p):
    found, expected = tnp.roots(np.array(p, "float32")), np.roots(p)
    assert found.dtype == "complex64" and found.shape == expected.shape
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(expected), rtol=1e-4, atol=1e-5)


def test_roots_are_transformed():
    with tangrad.enable_x64(True), use_backend("numpy"):
        real = lambda p: tnp.roots(p, strip_zeros=False).real
        reference.check_finite_differences(real, (np.array([1.0, -6, 11, -5.9]),))
        mapped = tangrad.jit(tangrad.vmap(real))(np.array([[1.0, -3, 2], [1.0, -7, 12]]))
        np.testing.assert_allclose(np.sort(mapped), [[1, 2], [3, 4]], rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tnp.add.reduce(MATRIX, 0, out=MATRIX), NotImplementedError, "out"),
        (lambda: tnp.add.at(MATRIX, 0, 1.0), NotImplementedError, "inplace=False"),
        (lambda: tnp.add.at(MATRIX, 0, inplace=False), TypeError, "add.at takes 1 operands"),
        (lambda: tnp.subtract.reduce(np.zeros((0, 2))), ValueError, "no identity"),
        (lambda: tnp.subtract.reduce(MATRIX, where=True), ValueError, "chosen by where"),
        (lambda: tnp.subtract.accumulate(MATRIX, 3), ValueError, "axis 3"),
        (lambda: tnp.add.reduceat(MATRIX, np.array([0.5])), TypeError, "indices must be integers"),
        (lambda: tnp.frompyfunc(1, 1, 1), TypeError, "func must be a function"),
        (lambda: tnp.frompyfunc(lambda x: x, 1, 1)(1.0, 2.0), TypeError, "takes 1 arguments"),
        (lambda: tnp.frompyfunc(lambda x: x, 1, 2)(1.0), TypeError, "nout is 2"),
        (lambda: tnp.polyfit(X, Y[1:], 1), ValueError, "of one length"),
        (lambda: tnp.polyfit(X, Y, -1), ValueError, "deg must not be negative"),
        (lambda: tnp.polyfit(MATRIX, Y, 1), TypeError, "x must be a vector"),
        (lambda: tnp.polyfit(X[:2], Y[:2], 1, cov=True), ValueError, "covariances need"),
        (lambda: tnp.roots(MATRIX), ValueError, "p must have one dimension"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- The angle whose tangent is a quotient of complex numbers -------------------------------------------------------


OPPOSITE = np.array([1 + 1j, -1 + 0.7j, 0.3 - 2j, 2 + 0j, -0.2 + 0.1j])
ADJACENT = np.array([2 - 1j, 0.5 + 1j, 1 + 0.1j, -1 + 0j, -3 - 1j])


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_angles_of_complex_coordinates(dtype, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    y, x = OPPOSITE.astype(dtype), ADJACENT.astype(dtype)
    tolerance = 1e-5 if dtype == "complex64" else 1e-12
    with use_backend(backend), enable_x64(True):
        for run in (tnp.arctan2, tangrad.jit(tnp.arctan2), tangrad.vmap(tnp.atan2)):
            angle = np.asarray(run(y, x))
            assert angle.dtype == dtype
            np.testing.assert_allclose(np.tan(angle), OPPOSITE / ADJACENT, rtol=tolerance, atol=tolerance)
        reals = np.asarray(tnp.arctan2(OPPOSITE.real.astype(dtype), ADJACENT.real.astype(dtype)))
        np.testing.assert_allclose(reals, np.arctan2(OPPOSITE.real, ADJACENT.real), rtol=tolerance, atol=tolerance)
        mixed = np.asarray(tnp.arctan2(y, 2.0))
        np.testing.assert_allclose(mixed, np.arctan(OPPOSITE / 2), rtol=tolerance, atol=tolerance)
        slope = tangrad.vmap(tangrad.grad(tnp.arctan2, (0, 1), holomorphic=True))(y, x)
        np.testing.assert_allclose(
            slope[0], ADJACENT / (ADJACENT * ADJACENT + OPPOSITE * OPPOSITE), rtol=10 * tolerance
        )
        np.testing.assert_allclose(
            slope[1], -OPPOSITE / (ADJACENT * ADJACENT + OPPOSITE * OPPOSITE), rtol=10 * tolerance
        )


# --- Mantissas and exponents of the numbers below the normal ones, which XLA takes for 0 when it computes -----------


BACKENDS = ("numpy", "xla")
DTYPES = ("float16", "bfloat16", "float32", "float64")


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def subnormal(dtype):
    """Some of them with the least normal number, and all that is neither."""
    info = tnp.finfo(dtype)
    least, tiny = float(info.smallest_subnormal), float(info.tiny)
    sizes = [least, 3 * least, 5 * least, tiny / 2, tiny - least, tiny, 1.5, float(info.max), 0.0, np.inf]
    return np.array([*sizes, *[-x for x in sizes], np.nan]).astype(tnp.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_mantissas_and_exponents(dtype, backend):
    x = subnormal(dtype)
    for run in (tnp.frexp, tangrad.jit(tnp.frexp), tangrad.vmap(tnp.frexp)):
        mantissa, exponent = run(x)
        expected = np.frexp(x.astype("float64"))
        np.testing.assert_array_equal(np.asarray(mantissa).astype("float64"), expected[0])
        np.testing.assert_array_equal(exponent, np.where(np.isfinite(expected[0]), expected[1], 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_moved_among_the_normal_ones(dtype, backend):
    x, step = subnormal(dtype)[:5], 30 if dtype != "float16" else 12
    expected = x.astype("float64") * 2.0**step
    moved = tnp.ldexp(x, step)
    normal = abs(expected) >= float(tnp.finfo(dtype).tiny)
    np.testing.assert_array_equal(np.asarray(moved).astype("float64")[normal], expected[normal])
    assert normal.any()


def test_the_slope_of_the_mantissa(backend):
    slope = tangrad.grad(lambda x: tnp.frexp(x)[0])
    assert float(slope(6.0)) == 0.125
    assert float(slope(np.float32(2.0**-127))) == 2.0**126


# --- Logarithms of powers of their base, powers of 2 and cubic roots of cubes are exact ---


LOGARITHM_DTYPES = ("float16", "float32", "float64")
GREATEST = {"float16": 4, "float32": 38, "float64": 308}  # powers of 10


def exact(function, x, expected):
    """For whole arrays, which have loops of their own, a few elements, and single ones; jitted, too."""
    x, expected = np.asarray(x), np.asarray(expected)
    for run in (function, tangrad.jit(function)):
        np.testing.assert_array_equal(run(x), expected)
        np.testing.assert_array_equal(run(x[-3:]), expected[-3:])
        for one, wanted in [*zip(x, expected, strict=True)][:: len(x) // 4 + 1]:
            assert run(one) == wanted


def powers(base, exponents, dtype):
    return np.array([float(f"1e{n}") if base == 10 else 2.0 ** int(n) for n in exponents]).astype(dtype)


@pytest.mark.parametrize("dtype", LOGARITHM_DTYPES)
def test_logarithms_to_base_10(dtype, backend):
    info = np.finfo(dtype)
    exponents = np.arange(math.ceil(math.log10(float(info.tiny))), GREATEST[dtype] + 1)
    exact(tnp.log10, powers(10, exponents, dtype), exponents)


@pytest.mark.parametrize("dtype", LOGARITHM_DTYPES)
def test_powers_of_2(dtype, backend):
    info = np.finfo(dtype)
    exponents = np.arange(info.minexp, info.maxexp)
    x = powers(2, exponents, dtype)
    exact(tnp.log2, x, exponents)
    exact(tnp.exp2, exponents.astype(dtype), x)
    exact(lax.exp2, exponents.astype(dtype), x)


@pytest.mark.parametrize("dtype", LOGARITHM_DTYPES)
def test_cubic_roots(dtype, backend):
    bits = np.finfo(dtype).nmant + 1
    roots = np.arange(int(2 ** (bits / 3)), dtype="int64")
    roots = roots[:: len(roots) // 20_000 + 1]
    for sign in (1, -1):
        for scale in (1.0, 0.125):
            exact(tnp.cbrt, (sign * scale**3 * roots**3.0).astype(dtype), (sign * scale * roots).astype(dtype))


@pytest.mark.parametrize("size", [1024, 1025, 65_543, 140_001])
def test_whole_results_among_many(size):
    """Of the NumPy backend, whose functions of single precision compute these few again."""
    rng = np.random.default_rng(size)
    places = np.concatenate([rng.integers(0, size, 200), [0, size - 1]])
    whole = rng.integers(-30, 31, len(places))
    for function, inverse, greatest in (
        (tnp.log10, lambda n: 10.0**n, 8),
        (tnp.log2, lambda n: 2.0**n, 8),
        (tnp.cbrt, lambda n: n**3.0, 8),
        (tnp.exp2, np.log2, 126.9),
    ):
        y = 2.0**whole if function is tnp.exp2 else whole
        x = rng.uniform(0.1, greatest, size)
        x[places] = inverse(y.astype("float64"))
        x = x.astype("float32")
        grid = x[: size // 4 * 4].reshape(4, -1)
        with use_backend("numpy"):
            for array in (x, grid.T, np.repeat(x, 2)[::2], x[::-1]):
                found = np.asarray(function(array))
                exact = getattr(np, function.__name__)(array.astype("float64"))
                rounded = exact.astype("float32")
                ends = np.frexp(rounded)[0] * 256 % 1 == 0  # eight binary digits
                assert ends.sum() >= 100
                np.testing.assert_array_equal(found[ends], rounded[ends])
                np.testing.assert_allclose(found, exact, rtol=5e-7, atol=1e-9)


def test_numbers_of_python(backend):
    assert [int(tnp.log10(10.0**n)) for n in range(20)] == [*range(20)]
    assert [int(tnp.log2(2**n)) for n in range(20)] == [*range(20)]
    assert (float(tnp.log10(1000)), float(tnp.exp2(10)), float(tnp.cbrt(27))) == (3.0, 1024.0, 3.0)
    with enable_x64(False):
        assert [int(tnp.log10(10.0**n)) for n in range(20)] == [*range(20)]
        assert not tnp.log10(1000.0).weak_type and tnp.log2(8).dtype == "float32"


SPECIAL = [0.0, -0.0, -1.0, np.inf, -np.inf, np.nan, 1.0]


@pytest.mark.parametrize("dtype", [*LOGARITHM_DTYPES, "bfloat16"])
def test_all_other_numbers(dtype, backend):
    rng = np.random.default_rng(0)
    info = tnp.finfo(dtype)
    spread = np.exp2(rng.uniform(int(info.minexp), int(info.maxexp) - 0.01, 500))
    x = np.asarray(tnp.asarray([*SPECIAL, *(1 + rng.normal(size=200) * 1e-2), *spread], dtype))
    with np.errstate(all="ignore"):
        for ours, theirs in ((tnp.log2, np.log2), (tnp.log10, np.log10)):
            logarithm_close(ours(x), theirs(x.astype("float64")), float(info.eps))
        y = np.asarray(tnp.asarray([*SPECIAL, 2000.0, -2000.0, *rng.uniform(-13, 14, 500)], dtype))
        logarithm_close(tnp.exp2(y), np.exp2(y.astype("float64")).astype(y.dtype).astype("float64"), float(info.eps))
        logarithm_close(tnp.cbrt(x), np.cbrt(x.astype("float64")), float(info.eps))


def logarithm_close(found, expected, eps):
    np.testing.assert_allclose(np.asarray(found).astype("float64"), expected, rtol=4 * eps, atol=0)


def test_derivatives(backend):
    for function, base in ((tnp.log2, 2), (tnp.log10, 10)):
        expected = lambda x, base=base: x / math.log(base)
        first, second = tangrad.grad(function), tangrad.grad(tangrad.grad(function))
        for x in (1.0, 3.0, 1e-300, 1e300, 0.7):
            np.testing.assert_allclose(first(x), expected(1 / x), rtol=1e-14)
        np.testing.assert_allclose(second(3.0), expected(-1 / 9), rtol=1e-14)
        assert float(first(0.0)) == np.inf
        assert float(first(np.inf)) == 0
        np.testing.assert_allclose(first(-2.0), expected(-0.5))
        np.testing.assert_allclose(tangrad.grad(first, holomorphic=False)(2.0), expected(-0.25))
