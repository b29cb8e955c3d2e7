"""Functions that guard against NaN: their derivatives to the third order are those of the function, not of the guard.

The reference is Cauchy's integral, for each argument: the mean of the function over a circle around the point, times a
power of the circle's coordinate. It looks at the function around the point alone, so what it finds is the limit, and it
has twelve digits for each order. Every order of the arguments and every mix of forward and reverse must find the same.
"""

import itertools
import math

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, lax, use_backend
from tangrad.scipy import special

TURNS = 64
CIRCLE = numpy.exp(2j * math.pi * (numpy.arange(TURNS) + 0.5) / TURNS)
MODES = {"forward": tangrad.jacfwd, "reverse": tangrad.jacrev}


def contour(function, point, counts, radius):
    """The derivative of a function of complex NumPy arrays, `counts` times by each argument."""
    grids = numpy.meshgrid(*[p + radius * CIRCLE for p in point], indexing="ij")
    values = function(*grids)
    for count in counts:
        values = numpy.tensordot(CIRCLE ** -float(count), values, 1) / TURNS * math.factorial(count) / radius**count
    return values.real


def softplus_far(x, y):
    return numpy.log(numpy.exp(x) + numpy.exp(y))


def log2_of_sum(x, y):
    return numpy.log(2**x + 2**y) / math.log(2)


def relative(p, q):
    return p * numpy.log(p / q)


def length(x, y):
    return numpy.sqrt(x * x + y * y)


def bars(x, lmbda):
    return (x**lmbda - 1) / lmbda


# Name -> the function, its extension to complex arguments, the radius of the circle, and points inside of which it is
# analytic: where the guards are, beside them, and far from them.
TWO = {
    "pow": (lax.pow, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (0.5, 0), (4, 1), (4, 2), (2, -1), (3, 0.5), (9, 3)]),
    "power": (tnp.power, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (2, 1), (2, 2), (0.7, 3)]),
    "float_power": (tnp.float_power, lambda x, y: x**y, 0.3, [(4, 0), (1, 0), (2, 1), (2, 2)]),
    "xlogy": (special.xlogy, lambda x, y: x * numpy.log(y), 0.3, [(0, 2), (0, 1), (1, 1), (-1, 3)]),
    "xlog1py": (special.xlog1py, lambda x, y: x * numpy.log1p(y), 0.3, [(0, 0), (0, 1), (1, 0), (-1, 2), (0, -0.5)]),
    "logaddexp": (tnp.logaddexp, softplus_far, 0.3, [(0, 0), (1, 1), (0, 2), (-3, 2), (5, 5)]),
    "logaddexp2": (tnp.logaddexp2, log2_of_sum, 0.3, [(0, 0), (1, 1), (0, 2), (-3, 2)]),
    "rel_entr": (special.rel_entr, relative, 0.3, [(1, 1), (0.5, 2), (2, 0.5)]),
    "kl_div": (special.kl_div, lambda p, q: relative(p, q) - p + q, 0.3, [(1, 1), (0.5, 2), (2, 0.5)]),
    "hypot": (tnp.hypot, length, 0.1, [(1, 1), (3, 4), (1, 0), (0, 2)]),
    "arctan2": (tnp.arctan2, lambda y, x: numpy.arctan(y / x), 0.1, [(0, 1), (1, 1), (-1, 2)]),
    "boxcox": (special.boxcox, bars, 0.3, [(2, 0), (1, 0), (3, 1), (1, 1), (0.6, 2)]),
    "divide": (tnp.divide, lambda x, y: x / y, 0.3, [(0, 1), (1, -2)]),
}  # fmt: skip
ONE = {
    "sinc": (tnp.sinc, numpy.sinc, 0.3, [0, 1, 0.5, -2, 1e-3, 1e-9]),
    "entr": (special.entr, lambda x: -x * numpy.log(x), 0.3, [1, 0.5, 2]),
    "expit": (special.expit, lambda x: 1 / (1 + numpy.exp(-x)), 0.3, [0, 1, -3]),
    "logit": (special.logit, lambda x: numpy.log(x / (1 - x)), 0.1, [0.5, 0.25]),
    "cbrt": (tnp.cbrt, lambda x: x ** (1 / 3), 0.3, [1, 8]),
    "i0": (tnp.i0, lambda x: _bessel(x), 0.3, [0, 1, -1]),
    "square root of a square": (lambda x: tnp.sqrt(x * x), lambda x: x, 0.3, [1, 2]),
    "norm": (lambda x: tnp.linalg.norm(tnp.stack([x, 2 * x])), lambda x: x * 5**0.5, 0.3, [1, 2]),
    **{
        f"integer_pow {n}": (lambda x, n=n: lax.integer_pow(x, n), lambda x, n=n: x ** float(n), 0.3, points)
        for n in (-2, -1, 0, 1, 2, 3, 4)
        for points in ([1, -2] if n < 0 else [0, 1, -2],)
    },
    **{
        f"pow to {n}": (lambda x, n=n: lax.pow(x, float(n)), lambda x, n=n: x**n, 0.3, [0, 1, -2])
        for n in (0, 1, 2, 3, 4)
    },
    **{f"pow to int {n}": (lambda x, n=n: lax.pow(x, n), lambda x, n=n: x**n, 0.3, [0, 1, -2]) for n in (0, 1, 2, 3)},
    "where": (lambda x: tnp.where(x > 0, tnp.log(tnp.where(x > 0, x, 1)), 3 * x), lambda x: 3 * x, 0.3, [0, -1]),
    "select": (lambda x: tnp.select([x > 1, x > -9], [x**3, x * x]), lambda x: x * x, 0.3, [0, 1, -2]),
}


def _bessel(x):
    return sum((x * x / 4) ** k / math.factorial(k) ** 2 for k in range(30))


TABLE = {**TWO, **{name: (*row[:3], [(point,) for point in row[3]]) for name, row in ONE.items()}}
SIZES = (1, 2, 3)
BACKENDS = ("numpy", "xla")


def derivatives(function, count, sizes):
    """Each way to derive a function of `count` arguments so often: ((argument, …), (mode, …)) -> the derivative."""
    found = {((), ()): function}
    for size in range(1, max(sizes) + 1):
        for order, modes in [key for key in found if len(key[0]) == size - 1]:
            for argument, mode in itertools.product(range(count), MODES):
                inner = found[order, modes]
                found[(*order, argument), (*modes, mode)] = MODES[mode](inner, argument)
    return {key: derivative for key, derivative in found.items() if len(key[0]) in sizes}


def check(name, points, sizes, wrap):
    """All of them at all the points against the limit; mixed ones, being compared with one number, are symmetric."""
    function, reference, radius, _ = TABLE[name]
    count = len(points[0])
    ways = derivatives(function, count, sizes)
    found = wrap(lambda *point: [way(*point) for way in ways.values()])(*numpy.transpose(points).astype(float))
    for (order, modes), values in zip(ways, found, strict=True):
        counts = [order.count(at) for at in range(count)]
        expected = [contour(reference, point, counts, radius) for point in points]
        message = f"{name} by {order}, {modes}, at {points}"
        numpy.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8, err_msg=message)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", TABLE)
def test_derivatives_to_the_third_order(name, backend):
    with use_backend(backend), enable_x64(True):
        check(name, TABLE[name][3], SIZES, lambda f: tangrad.jit(tangrad.vmap(f)))


@pytest.mark.parametrize("name", TABLE)
def test_first_and_second_derivatives(name):
    with use_backend("numpy"), enable_x64(True):
        check(name, TABLE[name][3], SIZES[:2], tangrad.vmap)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_mixed_derivatives_of_a_power_at_exponent_zero(dtype, backend):
    base, exponent = numpy.asarray(4, dtype), numpy.asarray(0, dtype)
    holomorphic = dtype == "complex64"
    with use_backend(backend), enable_x64(True):
        for order in ((0, 1), (1, 0)):
            inner = tangrad.grad(lax.pow, order[0], holomorphic=holomorphic)
            assert complex(tangrad.grad(inner, order[1], holomorphic=holomorphic)(base, exponent)) == 0.25


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_power_at_exponent_zero_is_constant_in_its_base(backend):
    bases = numpy.array([0, -0.0, numpy.nan, numpy.inf, -2, 1e-3, 1e-15, -1e12], numpy.float32)
    with use_backend(backend):
        for exponent in (numpy.float32(0), numpy.int32(0)):
            derivative = lambda x, exponent=exponent: lax.pow(x, exponent)
            for _ in range(3):
                derivative = tangrad.grad(derivative)
                numpy.testing.assert_array_equal(tangrad.vmap(derivative)(bases), 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_powers_of_zero(backend):
    """The slope by the base, to the third order, of the powers that are polynomials there."""
    with use_backend(backend), enable_x64(True):
        for exponent in range(6):
            derivative = lambda x, exponent=exponent: lax.pow(x, float(exponent))
            for order in range(1, 4):
                derivative = tangrad.grad(derivative)
                assert float(derivative(0.0)) == (math.factorial(exponent) if order == exponent else 0)
