"""Complex functions at signed zeros, infinities, NaN and along branch cuts: as in C, whose functions NumPy has."""

import itertools

import numpy
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

BACKENDS = ("numpy", "xla")
NUMBERS = (0.0, 0.5, 1.0, 1.6, 2.0, 4.0, numpy.inf)
PARTS = (*NUMBERS, *[-x for x in NUMBERS], numpy.nan)


def joined(real, imaginary):
    """As a sum, `1j * y` would make NaN of infinities."""
    z = numpy.empty(numpy.shape(real), complex)
    z.real, z.imag = real, imaginary
    return z


def by_parts(function):
    return lambda z: joined(function(z.real), function(z.imag))


ARGUMENTS = joined(*numpy.array(list(itertools.product(PARTS, PARTS))).T)
FUNCTIONS = {
    **{
        name: getattr(numpy, name)
        for name in (
            *("exp", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
            *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "absolute", "angle"),
        )
    },
    "expm1": lambda z: joined(numpy.exp(z).real - 1, numpy.exp(z).imag),
    "exp2": lambda z: numpy.exp(joined(z.real * numpy.log(2), z.imag * numpy.log(2))),
    "log1p": lambda z: numpy.log(joined(z.real + 1, z.imag)),
}


def check(name, dtype, found):
    """Where a part of the result is NaN, C leaves the sign of the other open."""
    with numpy.errstate(all="ignore"):
        expected = numpy.asarray(FUNCTIONS[name](ARGUMENTS))
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    unsigned = numpy.isnan(expected.real) | numpy.isnan(expected.imag)
    for part in ("real", "imag"):
        ours, theirs = [numpy.where(unsigned, abs(x), x) for x in (getattr(found, part), getattr(expected, part))]
        numpy.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=name)
        zeros = theirs == 0
        numpy.testing.assert_array_equal(numpy.signbit(ours)[zeros], numpy.signbit(theirs)[zeros], err_msg=name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name, dtype, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(backend), enable_x64(True):
        function = getattr(tnp, name)
        for run in (function, tangrad.jit(function)):
            check(name, dtype, numpy.asarray(run(ARGUMENTS.astype(dtype))))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_ordinary_values(name, backend):
    """Of the tables nothing is used between."""
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    rng = numpy.random.default_rng(0)
    z = rng.normal(size=500) * 3 + 1j * rng.normal(size=500) * 3
    with use_backend(backend), enable_x64(True):
        found = numpy.asarray(getattr(tnp, name)(z))
        numpy.testing.assert_allclose(found, FUNCTIONS[name](z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["sinh", "cosh", "sin", "cos"])
def test_between_the_overflow_of_exp_and_of_the_function(name):
    pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    z = numpy.array([89.0 + 1j, -89.0 + 1j, 29.9 + 2j, 30.1 + 2j])
    if name in ("sin", "cos"):
        z = z * 1j
    with use_backend("xla"):
        found = numpy.asarray(getattr(tnp, name)(z.astype("complex64")))
    numpy.testing.assert_allclose(found, getattr(numpy, name)(z), rtol=1e-5)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize(
    ("name", "z", "part", "true"),
    [
        ("sinh", 90 + 0.001j, "imag", 6.10201e35),
        ("sinh", 100 + 1e-30j, "imag", 1.344058e13),
        ("cosh", 100 + 1e-30j, "imag", 1.344058e13),
        ("sin", 1e-30 + 100j, "real", 1.344058e13),
        ("cos", 1e-30 + 100j, "imag", -1.344058e13),
    ],
)
def test_one_part_overflows_and_the_other_does_not(name, z, part, true, jitted):
    with tangrad.use_backend("xla"):
        function = getattr(tangrad.numpy, name)
        found = numpy.asarray((tangrad.jit(function) if jitted else function)(numpy.complex64(z)))
    assert getattr(found, part) == pytest.approx(true, rel=1e-4)
