"""The special functions against JAX on both backends, and on NumPy against values of many digits."""

import math

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tangrad._lax.special.primitives import special
from tests.primitives.reference import (
    BACKENDS,
    check_derivatives,
    check_finite_differences,
    check_mapped,
    close,
    normal,
    using,
)

jax = pytest.importorskip("jax")

# name -> a domain for each argument
UNARY = {
    "erf": (-4, 4),
    "erfc": (-3, 5),
    "erf_inv": (-0.99, 0.99),
    "lgamma": (-5.3, 20),
    "digamma": (0.1, 20),
    "bessel_i0e": (-20, 20),
    "bessel_i1e": (-20, 20),
}
NARY = {
    "polygamma": (None, (0.3, 15)),
    "zeta": ((1.5, 9), (0.3, 15)),
    "igamma": ((0.1, 15), (0.1, 15)),
    "igammac": ((0.1, 15), (0.1, 15)),
    "igamma_grad_a": ((0.1, 15), (0.1, 15)),
    "random_gamma_grad": ((0.1, 15), (0.1, 15)),
    "betainc": ((0.2, 9), (0.2, 9), (0.05, 0.95)),
}
# With respect to which arguments there are derivatives.
SMOOTH = {"polygamma": (1,), "zeta": (1,), "igamma": (0, 1), "igammac": (0, 1), "betainc": (2,)}
SMOOTH |= {"igamma_grad_a": (1,), "random_gamma_grad": (1,)} | dict.fromkeys(UNARY, (0,))
# JAX has these with fewer digits, in single precision.
ROUGH = {"polygamma": 30, "igamma": 10, "igammac": 10, "igamma_grad_a": 10, "random_gamma_grad": 30, "betainc": 10}
ROUGH |= {"digamma": 10, "lgamma": 10, "zeta": 3}


def arguments(name, dtype="float32", shape=(4, 5)):
    domains = [UNARY[name]] if name in UNARY else NARY[name]
    rng = np.random.default_rng(3)
    args = [rng.integers(1, 5, shape) if domain is None else rng.uniform(*domain, size=shape) for domain in domains]
    return [arg.astype(tangrad.core.dtypes.as_dtype(dtype)) for arg in args]


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*UNARY, *NARY])
def test_values(name, dtype):
    args, x64 = arguments(name, dtype), dtype == "float64"
    slack = ROUGH.get(name, 2) * (10 if x64 else 1)
    with using("numpy", x64):
        expected = jax.jit(getattr(jax.lax, name))(*args)
    for backend in BACKENDS:
        with using(backend, x64):
            close(tangrad.jit(getattr(lax, name))(*args), expected, slack, backend)
            if backend == "numpy":
                close(getattr(lax, name)(*args), expected, slack, "eager")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes(backend, dtype):
    """Rounded once: what float32 gives for the same numbers."""
    with using(backend):
        for name in (*UNARY, "igamma", "betainc", "zeta"):
            args = arguments(name, dtype, (6,))
            wide = np.asarray(getattr(lax, name)(*[arg.astype(np.float32) for arg in args]))
            close(getattr(lax, name)(*args), wide.astype(args[0].dtype), 2)


@pytest.mark.parametrize("name", [*UNARY, *NARY])
def test_derivatives(name):
    args = arguments(name, shape=(4,))

    def function(api):
        def of_smooth(*values):
            given = [api.lax.stop_gradient(value) for value in args]
            for position, value in zip(SMOOTH[name], values):
                given[position] = value
            return getattr(api.lax, name)(*given)

        return of_smooth

    smooth = [args[position] for position in SMOOTH[name]]
    if name in ("zeta", "igamma_grad_a", "random_gamma_grad"):  # JAX has no rule, or one through its loops
        check_finite_differences_in_double(name)
    else:
        check_derivatives(function, smooth, slack=30)


def check_finite_differences_in_double(name):
    args = arguments(name, "float64", (4,))
    (position,) = SMOOTH[name]
    with using("numpy", x64=True):
        check_finite_differences(
            lambda value: getattr(lax, name)(*args[:position], value, *args[position + 1 :]), [args[position]]
        )


def test_derivatives_in_double_precision():
    with using("numpy", x64=True):
        for name, positions in SMOOTH.items():
            args = arguments(name, "float64", (6,))

            def function(*values, name=name, args=args, positions=positions):
                given = list(args)
                for position, value in zip(positions, values):
                    given[position] = value
                return getattr(lax, name)(*given)

            check_finite_differences(function, [args[position] for position in positions])
        at_zero = tangrad.grad(lax.bessel_i1e)(0.0)
        assert float(at_zero) == 0.5


@pytest.mark.parametrize("name", [*UNARY, *NARY])
def test_mapping(name):
    args = arguments(name, shape=(3,))
    with using("numpy"):
        for axes in [(0,) * len(args), (1,) + (None,) * (len(args) - 1)]:
            check_mapped(getattr(lax, name), args, axes, jit=False)
        scalar = [np.asarray(args[0][0]), *args[1:]]
        check_mapped(getattr(lax, name), scalar, (0,) + (None,) * (len(args) - 1), jit=False)


# Computed with 40 digits (mpmath 1.3).
EXACT = {
    "erf": [
        ((0.5,), 0.52049987781304653768),
        ((-1.125,), -0.88838823170170776407),
        ((2.0,), 0.99532226501895273416),
        ((1e-30,), 1.1283791670955125739e-30),
    ],
    "erfc": [
        ((0.5,), 0.47950012218695346232),
        ((5.0,), 1.5374597944280348502e-12),
        ((20.0,), 5.3958656116079009289e-176),
        ((-1.0,), 1.8427007929497148693),
    ],
    "erf_inv": [
        ((0.5,), 0.47693627620446987338),
        ((0.9999999999999998,), 5.8050186831934533002),
        ((2.409919865102884e-181,), 2.1357358726376543315e-181),
        ((-0.9375,), -1.3171503349861307489),
    ],
    "lgamma": [
        ((9.5367431640625e-07,), 13.862943060723899573),
        ((2.5,), 0.28468287047291915963),
        ((-2.5,), -0.056243716497674050673),
        ((100000.0,), 1051287.7089736568949),
        ((1.0000000009313226,), -5.3757397843110444569e-10),
    ],
    "digamma": [
        ((1.0,), -0.57721566490153286061),
        ((0.0078125,), -128.56443747297672764),
        ((50.0,), 3.901989673427892197),
        ((-3.25,), 4.4662758723502799671),
    ],
    "bessel_i0e": [
        ((1.0,), 0.4657596075936404365),
        ((8.0,), 0.14343178185685031071),
        ((300.0,), 0.023042558415085461794),
    ],
    "bessel_i1e": [
        ((1.0,), 0.20791041534970844887),
        ((-8.0,), -0.13414249329269817831),
        ((300.0,), 0.023004122040268950902),
    ],
    "polygamma": [
        (
            (
                1.0,
                1.0,
            ),
            1.6449340668482264365,
        ),
        (
            (
                4.0,
                3.5,
            ),
            -0.067995999506731363375,
        ),
        (
            (
                3.0,
                0.125,
            ),
            24580.143419063566219,
        ),
    ],
    "zeta": [
        (
            (
                2.0,
                1.0,
            ),
            1.6449340668482264365,
        ),
        (
            (
                3.5,
                0.25,
            ),
            128.54695896428434578,
        ),
        (
            (
                3.0,
                -2.5,
            ),
            0.054102025820863701502,
        ),
    ],
    "igamma": [
        (
            (
                0.5,
                0.25,
            ),
            0.52049987781304653768,
        ),
        (
            (
                20.0,
                15.0,
            ),
            0.1247812150325248227,
        ),
        (
            (
                5000.0,
                5100.0,
            ),
            0.92067111892238102324,
        ),
        (
            (
                20000.0,
                19800.0,
            ),
            0.078300495012177347528,
        ),
        (
            (
                30.0,
                0.125,
            ),
            2.6984104515210987674e-60,
        ),
    ],
    "igammac": [
        (
            (
                0.5,
                0.25,
            ),
            0.47950012218695346232,
        ),
        (
            (
                20.0,
                40.0,
            ),
            0.0001763028977385682789,
        ),
        (
            (
                9.094947017729282e-13,
                0.5,
            ),
            5.0911111864154703573e-13,
        ),
        (
            (
                20000.0,
                20300.0,
            ),
            0.01729355127790344644,
        ),
    ],
    "igamma_grad_a": [
        (
            (
                0.5,
                0.25,
            ),
            -0.79794731678322294051,
        ),
        (
            (
                20.0,
                15.0,
            ),
            -0.048513768094200504058,
        ),
        (
            (
                20.0,
                25.0,
            ),
            -0.046727804534347564194,
        ),
        (
            (
                300.0,
                310.0,
            ),
            -0.019253838374701428694,
        ),
    ],
    "betainc": [
        (
            (
                0.5,
                2.5,
                0.25,
            ),
            0.74683000489967737047,
        ),
        (
            (
                50.0,
                30.0,
                0.625,
            ),
            0.49230806910878549276,
        ),
        (
            (
                3000.0,
                2000.0,
                0.59375,
            ),
            0.18340534409118878741,
        ),
        (
            (
                1000.0,
                0.5,
                0.9375,
            ),
            6.6299760267147939846e-30,
        ),
    ],
}


@pytest.mark.parametrize("name", EXACT)
def test_digits(name):
    function = getattr(lax, name)
    with using("numpy", x64=True):
        for args, expected in EXACT[name]:
            found = float(function(*[np.float64(arg) for arg in args]))
            assert found == pytest.approx(expected, rel=4e-14, abs=0), args
    with using("numpy"):
        for args, expected in EXACT[name]:
            if all(float(np.float32(arg)) == arg for arg in args) and abs(expected) > 1e-37:
                found = np.float32(function(*[np.float32(arg) for arg in args]))
                places = abs(float(found) - expected) / float(np.spacing(np.float32(abs(expected))))
                assert places <= 2.5, args


def test_normal_samples_are_those_of_xla():
    """The inverse of the error function in single precision, which makes them, within 4 units in the last place."""
    x = np.concatenate([normal((2000,)) % 1, 1 - np.exp2(-np.arange(1.0, 25)), [1e-30, 0.0]]).astype(np.float32)
    x = np.concatenate([x, -x])[np.abs(np.concatenate([x, -x])) < 1]
    with using("numpy"):
        ours = np.asarray(lax.erf_inv(x))
    theirs = np.asarray(jax.lax.erf_inv(x))
    assert np.max(np.abs(ours - theirs) / np.spacing(np.abs(theirs))) <= 4


INF, NAN = math.inf, math.nan
CORNERS = {
    "erf": [((INF,), 1.0), ((-INF,), -1.0), ((NAN,), NAN), ((0.0,), 0.0)],
    "erfc": [((INF,), 0.0), ((-INF,), 2.0), ((NAN,), NAN)],
    "erf_inv": [((1.0,), INF), ((-1.0,), -INF), ((1.5,), NAN), ((NAN,), NAN)],
    "lgamma": [((0.0,), INF), ((-3.0,), INF), ((INF,), INF), ((-INF,), INF), ((NAN,), NAN), ((1.0,), 0.0)],
    "digamma": [((-3.0,), NAN), ((INF,), INF), ((NAN,), NAN)],
    "bessel_i0e": [((INF,), 0.0), ((0.0,), 1.0), ((NAN,), NAN)],
    "bessel_i1e": [((INF,), 0.0), ((0.0,), 0.0), ((NAN,), NAN)],
    "zeta": [((1.0, 2.0), INF), ((0.5, 2.0), NAN), ((2.0, 0.0), INF), ((2.5, -0.5), NAN), ((2.0, -1.0), INF)],
    "polygamma": [((-1.0, 2.0), NAN), ((1.5, 2.0), NAN)],
    "igamma": [((1.0, 0.0), 0.0), ((1.0, INF), 1.0), ((-1.0, 1.0), NAN), ((1.0, -1.0), NAN), ((NAN, 1.0), NAN)]
    + [((0.0, 1.0), 1.0), ((0.0, INF), 1.0), ((0.0, 0.0), NAN), ((0.0, NAN), NAN)],
    "igammac": [((1.0, 0.0), 1.0), ((1.0, INF), 0.0), ((0.0, 1.0), 0.0), ((0.0, 0.0), NAN), ((1.0, NAN), NAN)],
    "betainc": [((1.0, 2.0, 0.0), 0.0), ((1.0, 2.0, 1.0), 1.0), ((0.0, 1.0, 0.5), 1.0), ((1.0, 1.0, 2.0), NAN)],
}


def test_corners(backend):
    with using(backend):
        for name, rows in CORNERS.items():
            columns = [np.array(column, np.float32) for column in zip(*[args for args, _ in rows])]
            found = np.asarray(getattr(lax, name)(*columns))
            expected = np.array([value for _, value in rows], np.float32)
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6, err_msg=name)


BAD = {
    "integers": (lambda: lax.erf(1), TypeError, "erf does not accept dtype int32"),
    "complex numbers": (lambda: lax.lgamma(1j), TypeError, "lgamma does not accept dtype complex64"),
    "dtypes": (lambda: lax.igamma(np.float32(1), np.float16(1)), TypeError, "one dtype, got float32 and float16"),
    "shapes": (lambda: lax.betainc(1.0, np.ones(2), np.ones(3)), ValueError, "one shape"),
    "order of polygamma": (lambda: tangrad.grad(lax.polygamma)(1.0, 2.0), NotImplementedError, "respect to m"),
    "exponent of zeta": (lambda: tangrad.grad(lax.zeta)(2.0, 2.0), NotImplementedError, "respect to x"),
    "parameter of betainc": (lambda: tangrad.grad(lax.betainc)(1.0, 2.0, 0.5), NotImplementedError, "respect to a"),
    "slope again": (lambda: tangrad.grad(lax.igamma_grad_a)(1.0, 2.0), NotImplementedError, "stop_gradient"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, message = BAD[name]
    with using("numpy"), pytest.raises(kind, match=message):
        call()


def test_every_primitive_is_tested():
    names = {"betainc" if name == "regularized_incomplete_beta" else name for name in special.primitives}
    assert names == set(UNARY) | set(NARY)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "name", ["igamma", "igammac", "igamma_grad_a", "random_gamma_grad", "polygamma", "zeta", "lgamma"]
)
def test_of_nothing(name, backend):
    """No elements give no elements: methods that call each other for other elements must come to an end."""
    with using(backend):
        nothing = lax.full((0, 3), 1.0)
        result = getattr(lax, name)(*[nothing] * (1 if name == "lgamma" else 2))
    assert (result.shape, result.dtype) == ((0, 3), np.float32)
