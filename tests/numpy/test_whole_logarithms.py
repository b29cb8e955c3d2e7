"""Logarithms of powers of their base, powers of 2 and cubic roots of cubes are exact: `int(log10(x))` is a habit."""

import math

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend

BACKENDS = ("numpy", "xla")
DTYPES = ("float16", "float32", "float64")
GREATEST = {"float16": 4, "float32": 38, "float64": 308}  # powers of 10


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


def exact(function, x, expected):
    """For whole arrays, which have loops of their own, a few elements, and single ones; jitted, too."""
    x, expected = numpy.asarray(x), numpy.asarray(expected)
    for run in (function, tangrad.jit(function)):
        numpy.testing.assert_array_equal(run(x), expected)
        numpy.testing.assert_array_equal(run(x[-3:]), expected[-3:])
        for one, wanted in [*zip(x, expected, strict=True)][:: len(x) // 4 + 1]:
            assert run(one) == wanted


def powers(base, exponents, dtype):
    return numpy.array([float(f"1e{n}") if base == 10 else 2.0 ** int(n) for n in exponents]).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_logarithms_to_base_10(dtype, backend):
    info = numpy.finfo(dtype)
    exponents = numpy.arange(math.ceil(math.log10(float(info.tiny))), GREATEST[dtype] + 1)
    exact(tnp.log10, powers(10, exponents, dtype), exponents)


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers_of_2(dtype, backend):
    info = numpy.finfo(dtype)
    exponents = numpy.arange(info.minexp, info.maxexp)
    x = powers(2, exponents, dtype)
    exact(tnp.log2, x, exponents)
    exact(tnp.exp2, exponents.astype(dtype), x)
    exact(lax.exp2, exponents.astype(dtype), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cubic_roots(dtype, backend):
    bits = numpy.finfo(dtype).nmant + 1
    roots = numpy.arange(int(2 ** (bits / 3)), dtype="int64")
    roots = roots[:: len(roots) // 20_000 + 1]
    for sign in (1, -1):
        for scale in (1.0, 0.125):
            exact(tnp.cbrt, (sign * scale**3 * roots**3.0).astype(dtype), (sign * scale * roots).astype(dtype))


@pytest.mark.parametrize("size", [1024, 1025, 65_543, 140_001])
def test_whole_results_among_many(size):
    """Of the NumPy backend, whose functions of single precision compute these few again."""
    rng = numpy.random.default_rng(size)
    places = numpy.concatenate([rng.integers(0, size, 200), [0, size - 1]])
    whole = rng.integers(-30, 31, len(places))
    for function, inverse, greatest in (
        (tnp.log10, lambda n: 10.0**n, 8),
        (tnp.log2, lambda n: 2.0**n, 8),
        (tnp.cbrt, lambda n: n**3.0, 8),
        (tnp.exp2, numpy.log2, 126.9),
    ):
        y = 2.0**whole if function is tnp.exp2 else whole
        x = rng.uniform(0.1, greatest, size)
        x[places] = inverse(y.astype("float64"))
        x = x.astype("float32")
        grid = x[: size // 4 * 4].reshape(4, -1)
        with use_backend("numpy"):
            for array in (x, grid.T, numpy.repeat(x, 2)[::2], x[::-1]):
                found = numpy.asarray(function(array))
                exact = getattr(numpy, function.__name__)(array.astype("float64"))
                rounded = exact.astype("float32")
                ends = numpy.frexp(rounded)[0] * 256 % 1 == 0  # eight binary digits
                assert ends.sum() >= 100
                numpy.testing.assert_array_equal(found[ends], rounded[ends])
                numpy.testing.assert_allclose(found, exact, rtol=5e-7, atol=1e-9)


def test_numbers_of_python(backend):
    assert [int(tnp.log10(10.0**n)) for n in range(20)] == [*range(20)]
    assert [int(tnp.log2(2**n)) for n in range(20)] == [*range(20)]
    assert (float(tnp.log10(1000)), float(tnp.exp2(10)), float(tnp.cbrt(27))) == (3.0, 1024.0, 3.0)
    with enable_x64(False):
        assert [int(tnp.log10(10.0**n)) for n in range(20)] == [*range(20)]
        assert not tnp.log10(1000.0).weak_type and tnp.log2(8).dtype == "float32"


SPECIAL = [0.0, -0.0, -1.0, numpy.inf, -numpy.inf, numpy.nan, 1.0]


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_all_other_numbers(dtype, backend):
    rng = numpy.random.default_rng(0)
    info = tnp.finfo(dtype)
    spread = numpy.exp2(rng.uniform(int(info.minexp), int(info.maxexp) - 0.01, 500))
    x = numpy.asarray(tnp.asarray([*SPECIAL, *(1 + rng.normal(size=200) * 1e-2), *spread], dtype))
    with numpy.errstate(all="ignore"):
        for ours, theirs in ((tnp.log2, numpy.log2), (tnp.log10, numpy.log10)):
            close(ours(x), theirs(x.astype("float64")), float(info.eps))
        y = numpy.asarray(tnp.asarray([*SPECIAL, 2000.0, -2000.0, *rng.uniform(-13, 14, 500)], dtype))
        close(tnp.exp2(y), numpy.exp2(y.astype("float64")).astype(y.dtype).astype("float64"), float(info.eps))
        close(tnp.cbrt(x), numpy.cbrt(x.astype("float64")), float(info.eps))


def close(found, expected, eps):
    numpy.testing.assert_allclose(numpy.asarray(found).astype("float64"), expected, rtol=4 * eps, atol=0)


def test_derivatives(backend):
    for function, base in ((tnp.log2, 2), (tnp.log10, 10)):
        expected = lambda x, base=base: x / math.log(base)
        first, second = tangrad.grad(function), tangrad.grad(tangrad.grad(function))
        for x in (1.0, 3.0, 1e-300, 1e300, 0.7):
            numpy.testing.assert_allclose(first(x), expected(1 / x), rtol=1e-14)
        numpy.testing.assert_allclose(second(3.0), expected(-1 / 9), rtol=1e-14)
        assert float(first(0.0)) == numpy.inf
        assert float(first(numpy.inf)) == 0
        numpy.testing.assert_allclose(first(-2.0), expected(-0.5))
        numpy.testing.assert_allclose(tangrad.grad(first, holomorphic=False)(2.0), expected(-0.25))
