"""Mantissas and exponents of the numbers below the normal ones, which XLA takes for 0 when it computes."""

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

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
    sizes = [least, 3 * least, 5 * least, tiny / 2, tiny - least, tiny, 1.5, float(info.max), 0.0, numpy.inf]
    return numpy.array([*sizes, *[-x for x in sizes], numpy.nan]).astype(tnp.dtype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_mantissas_and_exponents(dtype, backend):
    x = subnormal(dtype)
    for run in (tnp.frexp, tangrad.jit(tnp.frexp), tangrad.vmap(tnp.frexp)):
        mantissa, exponent = run(x)
        expected = numpy.frexp(x.astype("float64"))
        numpy.testing.assert_array_equal(numpy.asarray(mantissa).astype("float64"), expected[0])
        numpy.testing.assert_array_equal(exponent, numpy.where(numpy.isfinite(expected[0]), expected[1], 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_moved_among_the_normal_ones(dtype, backend):
    x, step = subnormal(dtype)[:5], 30 if dtype != "float16" else 12
    expected = x.astype("float64") * 2.0**step
    moved = tnp.ldexp(x, step)
    normal = abs(expected) >= float(tnp.finfo(dtype).tiny)
    numpy.testing.assert_array_equal(numpy.asarray(moved).astype("float64")[normal], expected[normal])
    assert normal.any()


def test_the_slope_of_the_mantissa(backend):
    slope = tangrad.grad(lambda x: tnp.frexp(x)[0])
    assert float(slope(6.0)) == 0.125
    assert float(slope(numpy.float32(2.0**-127))) == 2.0**126
