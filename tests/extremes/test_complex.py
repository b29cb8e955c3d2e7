"""Complex functions and their derivatives far out, close to poles and on both sides of cuts, against mpmath."""

from __future__ import annotations

import itertools
import math
import warnings

import mpmath as m
import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

I = m.mpc(0, 1)
# The function, its derivative, and where it has poles: what either is there is in `tests/backends`.
FUNCTIONS = {
    "exp": (m.exp, m.exp, ()),
    "expm1": (lambda z: m.exp(z) - 1, m.exp, ()),
    "log": (m.log, lambda z: 1 / z, (0,)),
    "log1p": (lambda z: m.log(1 + z), lambda z: 1 / (1 + z), (-1,)),
    "sqrt": (m.sqrt, lambda z: 1 / (2 * m.sqrt(z)), (0,)),
    "sin": (m.sin, m.cos, ()),
    "cos": (m.cos, lambda z: -m.sin(z), ()),
    "sinh": (m.sinh, m.cosh, ()),
    "cosh": (m.cosh, m.sinh, ()),
    "tan": (m.tan, None, ()),
    "tanh": (m.tanh, None, ()),
    "arcsin": (m.asin, lambda z: 1 / (m.sqrt(1 - z) * m.sqrt(1 + z)), (1, -1)),
    "arccos": (m.acos, lambda z: -1 / (m.sqrt(1 - z) * m.sqrt(1 + z)), (1, -1)),
    "arctan": (m.atan, lambda z: 1 / (1 + z * z), (1j, -1j)),
    "arcsinh": (m.asinh, lambda z: 1 / (m.sqrt(1 - I * z) * m.sqrt(1 + I * z)), (1j, -1j)),
    "arccosh": (m.acosh, lambda z: 1 / (m.sqrt(z - 1) * m.sqrt(z + 1)), (1, -1)),
    "arctanh": (m.atanh, lambda z: 1 / (1 - z * z), (1, -1)),
    "sign": (lambda z: z / abs(z), None, (0,)),
}
SHORT = (0.0, 1.0, 0.3, 2.0, 20.0, 88.5, 89.5, 1e-5, 1e-20, 1e-30, 1e4, 1e18, 3e38)
LONG = (0.0, 1.0, 0.3, 2.0, 20.0, 709.5, 710.0, 1e-5, 1e-20, 1e-160, 1e-300, 1e4, 1e160, 1e300)
# In the ordinary suite: those that XLA's own formulas have wrong, at few points.
SAMPLE = ("expm1", "log1p", "arctanh", "arctan", "sign", "arcsin", "arcsinh", "arccosh")
FEW = (0.0, 1.0, 1e-30, 1e30)


def arguments(sizes, dtype):
    """Every pair of parts, of either sign."""
    part = np.dtype(dtype).type(0).real.dtype
    parts = [float(part.type(sign * x)) for x in sizes for sign in (1, -1)]
    return np.array([complex(*pair) for pair in itertools.product(parts, parts)], dtype)


def true_parts(function, z):
    """Both parts of a function; where an argument has a zero, from the side of its sign."""
    least = min([abs(x) for x in (z.real, z.imag) if x], default=1.0)
    digits = 100 if least > 1e-40 else 350
    found = []
    with m.workdps(5 * digits // 2):
        for nudge in (m.mpf(10) ** -(2 * digits), m.mpf(10) ** -(2 * digits + 20)):
            a, b = [m.mpf(float(x)) if x else math.copysign(1, x) * nudge for x in (z.real, z.imag)]
            value = m.mpc(function(m.mpc(a, b)))
            found.append((value.real, value.imag))
            if z.real and z.imag:
                return found[0]
        # What shrinks with the nudge is 0.
        return [near * 0 if abs(nearer) < abs(near) * m.mpf(10) ** -5 else nearer for near, nearer in zip(*found)]


def agrees(found, true, size, info):
    if abs(true) > 0.97 * float(info.max):
        return (found > 0) == (true > 0) and abs(found) > 0.5 * float(info.max)
    allowed = 200 * float(info.eps) * min(size, float(info.max)) + 4 * float(info.tiny)
    return bool(np.isfinite(found) and abs(m.mpf(float(found)) - true) <= allowed)


def faults(found, z, function):
    """The arguments with a wrong result: by more than 200 units of its size."""
    info = np.finfo(z.dtype)
    for value, argument in zip(found, z, strict=True):
        true = true_parts(function, complex(argument))
        size = m.hypot(*true)
        if not all(agrees(part, each, size, info) for part, each in zip((value.real, value.imag), true, strict=True)):
            yield f"{complex(argument)}: {value}, not {m.nstr(m.mpc(*true), 8)}"


def check(name, z, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    function, slope, poles = FUNCTIONS[name]
    z = z[~np.isin(z, np.array([*poles], z.dtype))]
    ours = getattr(tnp, name)
    along = lambda x: tangrad.jvp(ours, (x,), (tnp.ones_like(x),))[1]
    with enable_x64(True), use_backend(backend), warnings.catch_warnings():
        values, slopes = [np.asarray(tangrad.jit(each)(tnp.asarray(z))) for each in (ours, along)]
    wrong = [*faults(values, z, function)]
    # NumPy's product of 1 and what is infinite in one part is NaN in the other.
    bounded = np.isfinite(values) if name in ("exp", "expm1") and backend == "numpy" else np.ones(z.shape, bool)
    wrong += [*faults(slopes[bounded], z[bounded], slope)] if slope else []
    assert not wrong, f"{name}: {len(wrong)} are wrong\n" + "\n".join(wrong[:6])


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name, backend):
    z = arguments(FEW, "complex64")
    check(name, z, backend)


@pytest.mark.sweep
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_all_points(name, dtype, backend):
    z = arguments(SHORT if dtype == "complex64" else LONG, dtype)
    if (name, backend) == ("log1p", "numpy"):  # its hypot overflows where both parts nearly do
        z = z[np.maximum(np.abs(z.real), np.abs(z.imag)) < np.finfo(dtype).max / 2]
    check(name, z, backend)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_directions_of_infinite_numbers(backend, jitted):
    """As NumPy 2 has them: along the one part that is infinite, and none where both are."""
    infinity, nan = math.inf, math.nan
    rows = {(infinity, 0.0): 1, (-infinity, 3.0): -1, (0.0, -infinity): -1j, (2.0, infinity): 1j, (infinity, nan): 1}
    sign = tangrad.jit(tnp.sign) if jitted else tnp.sign
    with use_backend(backend):
        found = np.asarray(sign(tnp.asarray([complex(*parts) for parts in rows], "complex64")))
        none = np.asarray(sign(tnp.asarray([complex(infinity, infinity), complex(nan, 0)], "complex64")))
    np.testing.assert_array_equal(found, [*rows.values()])
    assert np.isnan(none).all()


# --- Complex functions at signed zeros, infinities, NaN and along branch cuts ---


BACKENDS = ("numpy", "xla")
NUMBERS = (0.0, 0.5, 1.0, 1.6, 2.0, 4.0, np.inf)
PARTS = (*NUMBERS, *[-x for x in NUMBERS], np.nan)


def joined(real, imaginary):
    """As a sum, `1j * y` would make NaN of infinities."""
    z = np.empty(np.shape(real), complex)
    z.real, z.imag = real, imaginary
    return z


def by_parts(function):
    return lambda z: joined(function(z.real), function(z.imag))


ARGUMENTS = joined(*np.array(list(itertools.product(PARTS, PARTS))).T)
SPECIAL_FUNCTIONS = {
    **{
        name: getattr(np, name)
        for name in (
            *("exp", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan"),
            *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "absolute", "angle"),
        )
    },
    "expm1": lambda z: joined(np.exp(z).real - 1, np.exp(z).imag),
    "exp2": lambda z: np.exp(joined(z.real * np.log(2), z.imag * np.log(2))),
    "log1p": lambda z: np.log(joined(z.real + 1, z.imag)),
}


def check_special(name, dtype, found):
    """Where a part of the result is NaN, C leaves the sign of the other open."""
    with np.errstate(all="ignore"):
        expected = np.asarray(SPECIAL_FUNCTIONS[name](ARGUMENTS))
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    unsigned = np.isnan(expected.real) | np.isnan(expected.imag)
    for part in ("real", "imag"):
        ours, theirs = [np.where(unsigned, abs(x), x) for x in (getattr(found, part), getattr(expected, part))]
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance, err_msg=name)
        zeros = theirs == 0
        np.testing.assert_array_equal(np.signbit(ours)[zeros], np.signbit(theirs)[zeros], err_msg=name)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_special_values(name, dtype, backend):
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(backend), enable_x64(True):
        function = getattr(tnp, name)
        for run in (function, tangrad.jit(function)):
            check_special(name, dtype, np.asarray(run(ARGUMENTS.astype(dtype))))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SPECIAL_FUNCTIONS)
def test_ordinary_values(name, backend):
    """Of the tables nothing is used between."""
    if backend == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    rng = np.random.default_rng(0)
    z = rng.normal(size=500) * 3 + 1j * rng.normal(size=500) * 3
    with use_backend(backend), enable_x64(True):
        found = np.asarray(getattr(tnp, name)(z))
        np.testing.assert_allclose(found, SPECIAL_FUNCTIONS[name](z), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["sinh", "cosh", "sin", "cos"])
def test_between_the_overflow_of_exp_and_of_the_function(name):
    pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    z = np.array([89.0 + 1j, -89.0 + 1j, 29.9 + 2j, 30.1 + 2j])
    if name in ("sin", "cos"):
        z = z * 1j
    with use_backend("xla"):
        found = np.asarray(getattr(tnp, name)(z.astype("complex64")))
    np.testing.assert_allclose(found, getattr(np, name)(z), rtol=1e-5)


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
        found = np.asarray((tangrad.jit(function) if jitted else function)(np.complex64(z)))
    assert getattr(found, part) == pytest.approx(true, rel=1e-4)
