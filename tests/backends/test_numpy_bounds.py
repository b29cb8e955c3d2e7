"""Extrema with one number, and clamping, of long arrays on NumPy: as of short ones, NaN and signs of zeros included."""

import itertools

import numpy
import pytest

from tangrad import enable_x64, jit, lax, use_backend
from tangrad._backend_numpy.bounds import FEWEST

NUMBERS = [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf, 1.0, -1.0, 3.0, -3.0, 7.0]


@pytest.fixture(autouse=True)
def _backend():
    with use_backend("numpy"), enable_x64(True):
        yield


def agree(function, x, signs=True):
    few = numpy.asarray(function(x[: len(NUMBERS)]))
    for run in (function, jit(function)):
        many = numpy.asarray(run(x))
        assert many.dtype == x.dtype
        assert many.shape == x.shape
        numpy.testing.assert_array_equal(many[: len(few)], few)
        known = ~numpy.isnan(few) & signs
        assert (numpy.signbit(many[: len(few)]) == numpy.signbit(few))[known].all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_long_arrays(dtype):
    x = numpy.resize(numpy.array(NUMBERS, dtype), FEWEST + 7)
    kind = x.dtype.type
    for bound in NUMBERS:
        for function in (lax.max, lax.min):
            # Of zeros of both signs NumPy takes either.
            agree(lambda x, function=function, bound=bound: function(x, kind(bound)), x, signs=bound != 0)
            swapped = numpy.asarray(function(kind(bound), x))
            numpy.testing.assert_array_equal(swapped, numpy.asarray(function(x, kind(bound))))
    for low, high in itertools.product(NUMBERS, NUMBERS):
        signs = low != 0 and high != 0
        agree(lambda x, low=low, high=high: lax.clamp(kind(low), x, kind(high)), x, signs)


@pytest.mark.parametrize("bound", [0.0, -0.0])
def test_zeros_with_signs(bound):
    zeros = numpy.resize(numpy.array([0.0, -0.0], "float32"), FEWEST)
    both = numpy.signbit(zeros) & numpy.signbit(numpy.float32(bound))
    numpy.testing.assert_array_equal(
        numpy.signbit(numpy.asarray(jit(lambda x: lax.max(x, numpy.float32(bound)))(zeros))), both
    )


def test_columns_and_bounds_for_each_element():
    x = numpy.resize(numpy.array(NUMBERS), (FEWEST, len(NUMBERS)))
    twos = numpy.full(x.T.shape, 2.0)
    numpy.testing.assert_array_equal(jit(lambda x: lax.max(x.T, twos))(x), numpy.maximum(x, 2.0).T)
    numpy.testing.assert_array_equal(jit(lambda x: lax.max(x.T, lax.full_like(x.T, 2.0)))(x), numpy.maximum(x, 2.0).T)
    integers = numpy.arange(-FEWEST, FEWEST)
    numpy.testing.assert_array_equal(lax.clamp(-3, integers, 5), numpy.clip(integers, -3, 5))
