"""The functions of one element that kernels compute, and what they make of rows: errors, special values, programs."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tests.kernels.exercise import NAMES, Caller, draw

NUMBERS = {"sin": 0, "cos": 1, "exp": 2, "tanh": 3}
SPECIAL = [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e30, -3e38, 1e-45, -1e-40, 88.7, 88.8, -103.9, -104.5, 6000.5]
# In units in the last place. Those of float64 are measured against C's in extended precision, where there is such.
MOST = {"sin": 1.6, "cos": 1.6, "exp": 1.1, "tanh": 1.4}
RANGES = [(-1e-3, 1e-3), (-1, 1), (-10, 10), (-110, 90), (-7000, 7000), (-1e6, 1e6), (-1e30, 1e30)]


@pytest.fixture(scope="module")
def chain(library_path):
    """Functions of an array, one after another, by the kernel alone."""
    call = Caller(str(library_path))

    def run(x, *functions):
        y = numpy.empty_like(x)
        numbers = [NUMBERS[function] for function in functions]
        call("chain", [NAMES.index(x.dtype.name), x.size, len(numbers), *numbers], [x], [y])
        return y

    return run


def errors(found, exact, dtype):
    """In units in the last place, where the exact result is finite."""
    with numpy.errstate(all="ignore"):
        unit = numpy.spacing(numpy.abs(exact.astype(dtype))).astype(exact.dtype)
        distance = numpy.abs(found.astype(exact.dtype) - exact) / unit
        return numpy.where(numpy.isfinite(exact.astype(dtype)), distance, 0).max()


@pytest.mark.parametrize("low, high", RANGES)
@pytest.mark.parametrize("name", NUMBERS)
def test_errors_of_single_precision(chain, name, low, high):
    x = numpy.random.default_rng(0).uniform(low, high, 200_001).astype("float32")
    with numpy.errstate(all="ignore"):
        exact = getattr(numpy, name)(x.astype("float64"))
    assert errors(chain(x, name), exact, "float32") < MOST[name]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_next_to_whole_quarters(chain, name):
    quarters = numpy.arange(1, 600_000).astype("float64") * (numpy.pi / 2)
    for dtype, exact_dtype in (("float32", "float64"), ("float64", "longdouble")):
        x = quarters.astype(dtype)
        assert errors(chain(x, name), getattr(numpy, name)(x.astype(exact_dtype)), dtype) < MOST[name]


@pytest.mark.parametrize("name", ["sin", "cos"])
@pytest.mark.parametrize("low, high", [pair for pair in RANGES if pair[1] < 1e7])
def test_errors_of_double_precision(chain, name, low, high):
    x = numpy.random.default_rng(1).uniform(low, high, 100_001)
    assert errors(chain(x, name), getattr(numpy, name)(x.astype("longdouble")), "float64") < 1.1


@pytest.mark.parametrize("name", NUMBERS)
def test_special_values(chain, name):
    x = numpy.array(SPECIAL, "float32")
    with numpy.errstate(all="ignore"):
        exact = getattr(numpy, name)(x.astype("float64")).astype("float32")
    found = chain(x, name)
    numpy.testing.assert_allclose(found, exact, rtol=3e-7, atol=2e-45)
    numpy.testing.assert_array_equal(numpy.signbit(found[:2]), numpy.signbit(exact[:2]))


def test_an_element_alone_decides_on_its_result(chain):
    x = numpy.random.default_rng(2).uniform(-3, 3, 3000).astype("float32")
    beside = x.copy()
    beside[::7] = 1e9
    kept = numpy.arange(3000) % 7 != 0
    for name in ("sin", "cos"):
        assert numpy.array_equal(chain(x, name)[kept], chain(beside, name)[kept])
        assert numpy.array_equal(chain(x[100:], name), chain(x, name)[100:])


# --- in programs ------------------------------------------------------------------------------------------------------


def mixed(x):
    return np.tanh(np.cos(np.exp(np.sin(x)))) + np.sin(x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_programs_and_their_gradients(backend, with_and_without, dtype):
    x = np.asarray(numpy.random.default_rng(3).normal(size=(60, 151))).astype(dtype)
    tolerance = {"float32": 4e-6, "float64": 1e-13, "bfloat16": 0.04}[dtype]
    function = lambda x: (mixed(x), tangrad.grad(lambda x: mixed(x).sum())(x), tangrad.vmap(mixed)(x))
    for ours, before in zip(*with_and_without(function, x), strict=True):
        assert ours.dtype == before.dtype
        numpy.testing.assert_allclose(
            ours.astype("float64"), before.astype("float64"), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def test_functions_after_angles_are_one_call(kernels):
    pytest.importorskip("jaxlib")
    with kernels(), tangrad.use_backend("xla"):
        compiled = (
            tangrad.jit(lambda x: np.tanh(np.cos(np.exp(np.sin(x))))).lower(numpy.ones(5000, "float32")).compile()
        )
        assert compiled.as_text().count("custom-call(") == 1
        few = tangrad.jit(np.sin).lower(numpy.ones(100, "float32"))
        assert "tangrad_kernels" not in few.as_text()
        alone = tangrad.jit(lambda x: np.tanh(np.exp(x))).lower(numpy.ones(5000, "float32"))
        assert "tangrad_kernels" not in alone.as_text(), "which XLA has vectors of"


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_on_numpy(kernels, monkeypatch, dtype, count):
    """In single precision where there are several threads, and with what follows them."""
    x = numpy.random.default_rng(6).normal(size=(2, 140_000)).astype(dtype)
    x[0, :7] = numpy.inf, -numpy.inf, numpy.nan, 0, -0.0, 1e30, 7000

    def several(x):
        first = np.exp(np.sin(x))
        return np.tanh(np.cos(first)), first + 1, np.sin(x)[::2], np.exp(x), mixed(x[0] + x[1]), np.cos(x[0, :1000])

    with tangrad.use_backend("numpy"), tangrad.enable_x64(True):
        compiled = tangrad.jit(lambda x: several(x))
        before = tangrad.tree.map(numpy.asarray, compiled(x))
        with kernels():
            monkeypatch.setattr("tangrad._kernels.on_numpy.threads", lambda: count)
            compiled = tangrad.jit(lambda x: several(x))
            text = compiled.lower(x).compile().as_text()
            ours = tangrad.tree.map(numpy.asarray, compiled(x))
    assert text.count("chain") == (0 if (dtype, count) == ("float32", 1) else 4), text
    tolerance = 4e-6 if dtype == "float32" else 1e-13
    for found, expected in zip(ours, before, strict=True):
        assert found.dtype == expected.dtype
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", NUMBERS)
def test_narrow_numbers_on_numpy(kernels, name):
    """In `bfloat16`: what single precision gives, rounded once."""
    with numpy.errstate(all="ignore"):
        x = numpy.array([*SPECIAL, *numpy.linspace(-9, 9, 5001)], "float32").astype(np.bfloat16.dtype)
    function = getattr(np, name)
    with tangrad.use_backend("numpy"), kernels():
        program = tangrad.jit(lambda x: function(x))
        found = numpy.asarray(program(x))
        assert "chain(" in program.lower(x).compile().as_text()
        few = tangrad.jit(lambda x: function(x)).lower(x[:50]).compile().as_text()
        assert "chain(" not in few
    wide = x.astype("float32")
    with numpy.errstate(all="ignore"):
        exact = getattr(numpy, name)(wide.astype("float64")).astype("float32")
    assert found.dtype == x.dtype
    numpy.testing.assert_allclose(found.astype("float32"), exact, rtol=2.0**-8, atol=1e-40)


def test_donated_arrays(backend, kernels):
    with kernels():
        x = np.asarray(numpy.linspace(-1, 1, 9000, dtype="float32"))
        expected = numpy.sin(numpy.asarray(x))
        numpy.testing.assert_allclose(tangrad.jit(np.sin, donate_argnums=0)(x), expected, rtol=1e-6)


# --- softmax ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axis", [((40, 130), -1), ((7, 3, 1000), -1), ((300, 4, 5), (1, 2)), ((1, 9001), 1)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_softmax(backend, with_and_without, shape, axis, dtype):
    x = np.asarray(numpy.random.default_rng(4).normal(size=shape)).astype(dtype)
    softmax = lambda x: tangrad.nn.softmax(x, axis)
    gradient = tangrad.grad(lambda x: (softmax(x).astype("float32") ** 2).sum())
    tolerance = 2e-6 if dtype == "float32" else 0.02
    for ours, before in zip(*with_and_without(lambda x: (softmax(x), gradient(x)), x), strict=True):
        assert ours.dtype == before.dtype
        numpy.testing.assert_allclose(
            ours.astype("float32"), before.astype("float32"), rtol=tolerance, atol=tolerance * 0.2
        )


def test_softmax_is_no_less_accurate(backend, with_and_without):
    x = numpy.random.default_rng(5).normal(size=(500, 777)).astype("float32") * 4
    wide = numpy.exp(x.astype("float64") - x.max(1, keepdims=True))
    exact = wide / wide.sum(1, keepdims=True)
    ours, before = [errors(found, exact, "float32") for found in with_and_without(tangrad.nn.softmax, x)]
    assert ours <= before + 2


def test_softmax_of_special_values(backend, with_and_without):
    x = draw((300, 40), "float32")
    x[:100] = numpy.linspace(-200, 80, 40, dtype="float32")
    x[0], x[1, 3], x[2, 5] = -numpy.inf, numpy.inf, -numpy.inf
    ours, before = with_and_without(tangrad.nn.softmax, x)
    numpy.testing.assert_allclose(ours, before, rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize(("shape", "axis"), [((3, 5), -1), ((300, 50), -1), ((300, 50), 0), ((70, 9, 20), (1, 2))])
def test_any_softmax(with_and_without, backend, shape, axis, dtype):
    """Of few numbers, of other dtypes and axes, which are the backend's, and of those that the kernel takes."""
    x = numpy.random.default_rng(0).normal(size=shape)
    function = lambda x: np.abs(tangrad.nn.softmax(x.astype(dtype), axis)).astype("float64")
    ours, before = with_and_without(lambda x: (function(x), tangrad.grad(lambda x: np.sum(function(x) ** 2))(x)), x)
    for found, expected in zip(ours, before, strict=True):
        tolerance = {"float64": 1e-13, "float16": 1e-2, "bfloat16": 5e-2}.get(dtype, 1e-5)
        numpy.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance / 10)
