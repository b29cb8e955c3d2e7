"""`scipy.special` on both backends, against SciPy; derivatives against finite differences, and JAX's."""

import math

import numpy as np
import pytest
import scipy.special

import tangrad
import tangrad.numpy as tnp
import tangrad.scipy.special as special
from tangrad import enable_x64, use_backend
from tests.primitives import reference

scipy_special = pytest.importorskip("scipy.special")

INFINITE = np.inf
LINE = np.array([-30.0, -6.2, -2.5, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.2, 0.9, 1.0, 1.7, 3.9, 4.1, 12.0, 60.0])
RAY = np.array([0.0, 1e-8, 0.01, 0.3, 0.5, 0.99, 1.0, 1.4, 2.0, 2.1, 4.0, 9.0, 25.0, 41.0, 300.0])
UNIT = np.array([0.0, 1e-12, 1e-4, 0.02, 0.3, 0.5, 0.7, 0.999, 1.0])
SHAPES = np.array([0.1, 0.5, 1.0, 2.3, 7.0, 15.0, 80.0])
PAIRS = tuple([part.ravel() for part in np.meshgrid(SHAPES, SHAPES[1:], indexing="ij")])
TRIPLES = tuple([part.ravel() for part in np.meshgrid([0.4, 1.0, 2.5], [0.7, 2.0], UNIT, indexing="ij")])
PLANE = np.array([0.3 + 0.4j, -0.3 + 2j, 5 - 0.1j, -2.5 - 1.5j, -7.3 + 0.2j, 20 + 30j, -1.5 + 0j, 0.5j, -0.25j, 3.0])
KUMMER = tuple(
    np.array(c)
    for c in zip(
        *[
            (a, b, x)
            for a, b in ((0.5, 1.5), (2.0, 0.7), (-3.0, 2.0), (1.3, 4.2))
            for x in (-700.0, -40, -2, -0.1, 0, 0.5, 30)
        ]
    )
)
GAUSS = tuple(
    np.array(c)
    for c in zip(
        *[
            (a, b, c, x)
            for a, b, c in ((0.5, 1.5, 2.2), (1.0, 1.0, 2.0), (0.3, 0.4, 2.7), (-2.0, 1.2, 0.6), (1.5, 0.5, 1.0))
            for x in (-50.0, -1.0, -0.3, 0.0, 0.4, 0.65, 0.8, 0.99)
        ]
    )
)

# name -> the arguments at which it is compared with SciPy, in 64 bits.
VALUES = {
    "erf": (LINE,),
    "erfc": (LINE,),
    "erfcinv": (np.array([0.0, 1e-30, 1e-5, 0.5, 1.0, 1.5, 1.99, 2.0]),),
    "erfinv": (np.array([-1.0, -0.9, 0.0, 1e-5, 0.5, 1.0]),),
    "erfcx": (LINE[2:],),
    "dawsn": (LINE,),
    "wofz": (PLANE,),
    "fresnel": (np.append(LINE, [INFINITE, -INFINITE, 101.7]),),
    "ndtr": (LINE,),
    "log_ndtr": (np.append(LINE, [-INFINITE, INFINITE, -1e4]),),
    "ndtri": (np.append(UNIT, [1e-300, 2.0, -1.0]),),
    "owens_t": (
        np.array([0, 0.1, 1.0, 2.5, 9.0, -1.0, 0.0, 30.0]),
        np.array([0.5, 0.9, 3.0, -0.2, 0.8, INFINITE, 2, 1]),
    ),
    "exp1": (RAY,),
    "expi": (np.append(LINE, [39.9, 40.1, 700.0, -INFINITE, INFINITE]),),
    "expn": (
        np.array([0, 1, 2, 3, 10, 1, 4, 50, 1, 2]),
        np.array([0.5, 0.3, 0.0, 1.0, 1.1, 30.0, 2.0, 0.7, 0.0, 0.999]),
    ),
    "sici": (np.append(LINE, [INFINITE, -INFINITE, 1e4]),),
    "spence": (np.append(RAY, [-1.0]),),
    "gamma": (np.append(LINE[2:], [-0.0, 170.0, 171.7, 0.5]),),
    "gammaln": (LINE,),
    "loggamma": (PLANE,),
    "gammasgn": (np.append(LINE, [-0.0, -3.0]),),
    "digamma": (RAY,),
    "factorial": (np.array([-1.0, 0, 3, 3.5, 20]),),
    "beta": PAIRS,
    "betaln": PAIRS,
    "betainc": TRIPLES,
    "gammainc": PAIRS,
    "gammaincc": PAIRS,
    "poch": (np.array([1.0, -2, -2.5, 0, 3.2, 0.5, -5]), np.array([3.0, 2, 1.5, 0, -1.1, 100.0, -1])),
    "comb": (np.array([5, 5.5, 3, -2, 1000, 0]), np.array([2.0, 2, 4, 1, 500, 0])),
    "polygamma": (np.array([0, 1, 2, 5]), np.array([0.3, 1.0, 7.7, 2.0])),
    "zeta": (np.array([1.0, 1.01, 2, 7.7, 30]), np.array([1.0, 0.3, 4.0, 20.0, 0.9])),
    "xlogy": (np.array([0.0, 0, 2, -1, np.nan]), np.array([0.0, np.nan, 3, 2, 1])),
    "xlog1py": (np.array([0.0, 0, 2, -1, 1]), np.array([-1.0, np.nan, 3, 1e-10, -1])),
    "entr": (np.array([-1.0, 0, 0.5, 2, np.nan]),),
    "rel_entr": (np.array([0.0, 1, -1, 1, 2, 0]), np.array([0.0, 0, 1, 2, 0.1, 3])),
    "kl_div": (np.array([0.0, 1, -1, 1, 2, 0]), np.array([0.0, 0, 1, 2, 0.1, 3])),
    "expit": (LINE,),
    "logit": (np.append(UNIT, [1.1, -1]),),
    "boxcox": (np.array([0.0, 0.5, 1, 2, 2, -1]), np.array([2.0, 0.3, 5, 0, 1e-12, 1])),
    "boxcox1p": (np.array([-1.0, 1e-12, 1, 2, 2]), np.array([2.0, 0.3, 5, 0, 1e-12])),
    "i0": (LINE,),
    "i0e": (LINE,),
    "i1": (LINE,),
    "i1e": (LINE,),
    "hyp1f1": KUMMER,
    "hyp2f1": GAUSS,
}
LOOSE = {"hyp2f1": 1e-10, "gamma": 1e-11, "comb": 1e-11, "hyp1f1": 1e-10, "factorial": 1e-12, "beta": 1e-11}
LOOSE_SINGLE = {"hyp2f1": 1e-4, "beta": 3e-5, "gamma": 3e-5, "comb": 3e-5}


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def agree(found, expected, tolerance):
    for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
        assert one.shape == other.shape
        with np.errstate(over="ignore"):
            other = np.asarray(other).astype(one.dtype)
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("name", VALUES)
def test_values_agree_with_scipy_in_both_widths(on, name):
    arguments, function = VALUES[name], getattr(special, name)
    narrow = [x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in arguments]
    with np.errstate(all="ignore"):
        expected = getattr(scipy_special, name)(*arguments)
        rounded = getattr(scipy_special, name)(*[x.astype(np.result_type(x, np.float64)) for x in narrow])
    with enable_x64(True):
        agree(function(*arguments), expected, LOOSE.get(name, 1e-13))
    single = function(*narrow)
    assert all(leaf.dtype in ("float32", "complex64") for leaf in tangrad.tree.leaves(single))
    agree(single, rounded, LOOSE_SINGLE.get(name, 1e-5))


def test_programs_of_special_functions_are_compiled_by_xla():
    names = ("erfcx", "fresnel", "sici", "expn", "spence", "loggamma", "hyp1f1", "owens_t", "ndtri", "zeta", "poch")
    values = {
        name: [x[:4].astype("complex64" if x.dtype.kind == "c" else "float32") for x in VALUES[name]] for name in names
    }
    program = lambda values: {name: tangrad.tree.leaves(getattr(special, name)(*values[name])) for name in names}
    with use_backend("numpy"):
        expected = tangrad.jit(program)(values)
    with use_backend("xla"):
        reference.close(tangrad.jit(program)(values), expected, 3)


# --- derivatives ---------------------------------------------------------------------------------------------------

# Points away from ends and jumps, in the regions that different formulas serve.
WAVES = np.array([-3.1, -0.7, 0.4, 1.2, 1.7, 4.5])
ABOVE = np.array([0.2, 0.8, 1.3, 3.7, 11.0])
INSIDE = np.array([0.01, 0.3, 0.6, 0.98])
DERIVATIVES = {
    **dict.fromkeys(
        (
            "erf",
            "erfc",
            "erfcx",
            "dawsn",
            "fresnel",
            "ndtr",
            "log_ndtr",
            "expi",
            "sici",
            "i0",
            "i0e",
            "i1",
            "i1e",
            "expit",
        ),
        (WAVES,),
    ),
    **dict.fromkeys(("exp1", "spence", "gamma", "gammaln", "digamma", "factorial", "loggamma", "entr"), (ABOVE,)),
    **dict.fromkeys(
        ("beta", "betaln", "gammainc", "gammaincc", "poch", "rel_entr", "kl_div", "xlogy", "xlog1py"),
        (np.append(ABOVE, 20.0), np.append(ABOVE[::-1], 15.0)),
    ),
    **dict.fromkeys(("erfcinv", "erfinv", "ndtri", "logit"), (INSIDE,)),
    "boxcox": (ABOVE, np.array([0.0, 1e-3, 0.5, -2.0, 0.1])),
    "boxcox1p": (ABOVE, np.array([0.0, 1e-3, 0.5, -2.0, 0.1])),
    "comb": (np.array([5.0, 7.7, 30.0]), np.array([2.0, 1.5, 11.0])),
    "owens_t": (np.array([0.3, 1.5, -2.0]), np.array([0.5, 3.0, -0.7])),
    "zeta": (np.array([1.1, 2.0, 7.7]), np.array([0.4, 3.0, 1.0])),
    "hyp1f1": (np.array([0.5, 2.0, 1.3]), np.array([1.5, 0.7, 4.2]), np.array([0.5, 4.0, -3.0])),
    "hyp2f1": (
        np.array([0.5, 1.0, 0.3]),
        np.array([1.5, 1.1, 0.6]),
        np.array([2.2, 2.1, 2.0]),
        np.array([-2.0, 0.4, 0.8]),
    ),
    "zeta, of one argument": (np.array([-2.3, 0.4, 1.5, 6.0]),),
    "betainc": (INSIDE,),
    "expn": (ABOVE,),
    "polygamma": (ABOVE,),
    "multigammaln": (ABOVE + 1,),
    "bessel_jn": (WAVES,),
    "sph_harm_y": (ABOVE[:3], ABOVE[1:4]),
    "wofz": (WAVES,),
    "softmax": (WAVES,),
    "log_softmax": (WAVES,),
    "logsumexp": (WAVES,),
}
WITH_OPTIONS = {
    "zeta, of one argument": special.zeta,
    "betainc": lambda x: special.betainc(1.5, 2.5, x),
    "expn": lambda x: special.expn(np.arange(5), x),
    "polygamma": lambda x: special.polygamma(np.arange(5), x),
    "multigammaln": lambda x: special.multigammaln(x, 3),
    "bessel_jn": lambda x: special.bessel_jn(x, v=3),
    "sph_harm_y": lambda t, p: special.sph_harm_y(np.array([2, 0, 3]), np.array([-1, 0, 2]), t, p, n_max=3),
}


def real_parts(name):
    """The function, with complex results and tuples as one real array."""
    function = WITH_OPTIONS.get(name) or getattr(special, name)

    def run(*args):
        leaves = tangrad.tree.leaves(function(*args))
        parts = [part for x in leaves for part in ((x.real, x.imag) if np.dtype(x.dtype).kind == "c" else (x,))]
        return tnp.stack(parts)

    return run


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_agree_with_finite_differences(name):
    with enable_x64(True), use_backend("numpy"):
        reference.check_finite_differences(real_parts(name), DERIVATIVES[name])


@pytest.mark.sweep
@pytest.mark.parametrize("name", DERIVATIVES)
def test_transformations_combine(on, name):
    """Mapped gradients, compiled or not, are the rows of the Jacobian."""
    function, args = real_parts(name), [x.astype("float32") for x in DERIVATIVES[name]]
    slopes = tangrad.grad(lambda *args: function(*args).sum())
    expected = slopes(*args)
    reference.close(tangrad.jit(slopes)(*args), expected, 10)
    if name not in ("softmax", "log_softmax", "logsumexp", "sph_harm_y", "expn", "polygamma"):
        reference.close(tangrad.jit(tangrad.vmap(slopes))(*args), expected, 10)


@pytest.mark.parametrize("name", ["erfcx", "log_ndtr", "ndtri", "expi", "i1", "spence", "gamma", "owens_t", "hyp1f1"])
def test_second_derivatives_agree_with_finite_differences(name):
    function = real_parts(name)
    last = len(DERIVATIVES[name]) - 1
    with enable_x64(True), use_backend("numpy"):
        reference.check_finite_differences(
            lambda x: tangrad.grad(lambda x: function(*DERIVATIVES[name][:last], x).sum())(x), DERIVATIVES[name][last:]
        )


# --- what SciPy has otherwise --------------------------------------------------------------------------------------


def test_bessel_functions_of_several_orders(on):
    z = np.array([0.0, 0.1, -1.0, 2.404825557695773, 14.0])
    with enable_x64(True):
        agree(special.bessel_jn(z, v=4), np.stack([scipy_special.jv(k, z) for k in range(5)]), 1e-12)


def test_series_run_without_jit(on):
    names = ("expi", "exp1", "sici", "fresnel", "i0", "owens_t", "expn", "hyp2f1", "gammainc", "zeta")
    with tangrad.disable_jit():
        found = [getattr(special, name)(*[np.float32(x[:3]) for x in VALUES[name]]) for name in names]
    for one, name in zip(found, names, strict=True):
        same = getattr(special, name)(*[np.float32(x[:3]) for x in VALUES[name]])
        tangrad.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), one, same)
    n, m, angle = np.array([2, 3]), np.array([1, 0]), np.float32([0.5, 2])
    with tangrad.disable_jit():
        found = special.sph_harm_y(n, m, angle, angle)
    np.testing.assert_allclose(found, special.sph_harm_y(n, m, angle, angle), rtol=1e-5)


def test_the_poles_of_the_complex_gamma_function(on):
    found = np.asarray(special.gamma(np.array([0, -1, -5, -0.5], "complex64")))
    assert np.isnan(found[:3].real).all() and np.isnan(found[:3].imag).all() and np.isfinite(found[3])


def test_spherical_harmonics(on):
    n, m = [np.array(x) for x in zip(*[(n, m) for n in range(5) for m in range(-5, 6)])]
    theta, phi = np.linspace(0, np.pi, len(n)), np.linspace(-4, 9, len(n))
    with enable_x64(True):
        for polar in (theta, theta - 2):
            agree(special.sph_harm_y(n, m, polar, phi), scipy_special.sph_harm_y(n, m, polar, phi), 1e-12)
        assert special.sph_harm_y(n[:, None], 1, 0.3, phi, n_max=4).shape == (len(n), len(n))


def test_functions_of_one_argument_and_options(on):
    with enable_x64(True):
        x = np.array([-7.5, -4.0, -1.0, 0.0, 0.3, 1.0, 2.0, 60.0])
        agree(special.zeta(x), scipy_special.zeta(x), 1e-12)
        agree(special.bernoulli(30), scipy_special.bernoulli(30), 1e-7)
        agree(special.comb(np.array([3, 0]), 2, repetition=True), np.array([6.0, 0.0]), 1e-13)
        agree(special.multigammaln(x[-1], 4), np.asarray(scipy_special.multigammaln(60.0, 4)), 1e-13)
        for name in ("softmax", "log_softmax", "logsumexp"):
            agree(getattr(special, name)(x[:6]), np.asarray(getattr(scipy_special, name)(x[:6])), 1e-13)


def test_half_precision_is_that_of_its_rounding(on):
    found = special.erfcx(np.float16([0.5, 2.0, 30.0]))
    assert found.dtype == "float16"
    np.testing.assert_allclose(found, scipy_special.erfcx([0.5, 2.0, 30.0]).astype("float16"), rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: special.erf(1j), TypeError, "erf does not accept complex"),
        (lambda: special.erf("a"), TypeError, "erf requires arrays"),
        (lambda: special.beta(np.ones(2), np.ones(3)), ValueError, "beta got shapes"),
        (lambda: special.factorial(3, exact=True), NotImplementedError, "exact"),
        (lambda: special.log_ndtr(0.0, series_order=-1), ValueError, "series_order"),
        (lambda: special.bessel_jn(1.0, v=-1), ValueError, "v and n_iter"),
        (lambda: special.bernoulli(-1), ValueError, "n must not be negative"),
        (lambda: special.sph_harm_y(1.0, 0, 0.0, 0.0), TypeError, "n must be integers"),
        (lambda: special.multigammaln(3.0, 1.5), TypeError, "d must be an integer"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- `special.lpmn` and `lpmn_values`, against SciPy and spherical harmonics ---


Z = np.float32([0, 0.3, -0.5, 0.99, 1, -1])


def expected(order: int, degree: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By SciPy, with the derivatives: for each order and degree."""
    if not hasattr(scipy.special, "assoc_legendre_p_all"):
        pytest.skip("SciPy before 1.15 has other functions")
    values, slopes = scipy.special.assoc_legendre_p_all(degree, order, z.astype(np.float64), diff_n=1)
    return values.transpose(1, 0, 2)[: order + 1], slopes.transpose(1, 0, 2)[: order + 1]


@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize(("order", "degree"), [(0, 0), (2, 2), (3, 5), (4, 2)])
def test_values_and_derivatives(order: int, degree: int, backend: str) -> None:
    values, slopes = expected(order, degree, Z)
    found, rising = tangrad.jit(lambda z: special.lpmn(order, degree, z), backend=backend)(Z)
    np.testing.assert_allclose(found, values, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(rising, slopes, rtol=2e-5, atol=2e-5)


def test_normalised_functions_are_those_of_spherical_harmonics() -> None:
    polar = np.float32([0.1, 1.0, 2.5])
    found = special.lpmn_values(3, 4, tnp.cos(polar), True)
    for order in range(4):
        for degree in range(order, 5):
            wanted = special.sph_harm_y(np.array(degree), np.array(order), polar, np.zeros(3, np.float32)).real
            np.testing.assert_allclose(found[order, degree], wanted, rtol=1e-4, atol=1e-5)
    assert np.isfinite(special.lpmn_values(80, 80, tnp.cos(polar), True)).all()
    factor = math.sqrt(5 / (4 * math.pi) / 24)
    both = [special.lpmn_values(2, 2, Z, normalized)[2, 2] for normalized in (False, True)]
    np.testing.assert_allclose(both[0] * factor, both[1], rtol=1e-5)


def test_gradients_are_the_derivatives() -> None:
    z = Z[:4]
    for normalized in (False, True):
        jacobian = tangrad.jacfwd(lambda z, kind=normalized: special.lpmn_values(2, 3, z, kind))(z)
        np.testing.assert_allclose(
            tnp.sum(jacobian, -1)[2, 2], special.lpmn(2, 3, z)[1][2, 2] * (math.sqrt(5 / (96 * math.pi)) ** normalized),
            rtol=1e-4,
        )  # fmt: skip
    assert tangrad.vmap(lambda z: special.lpmn_values(1, 2, z, True))(np.stack([z, z])).shape == (2, 2, 3, 4)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.5, 2, Z), TypeError, "m"),
        ((-1, 2, Z), ValueError, "must not be negative"),
        ((1, 2, np.arange(3)), TypeError, "z must be of floats"),
        ((1, 2, np.float32(0.3)), ValueError, "z must have one dimension"),
    ],
)
def test_refused(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        special.lpmn(*arguments)
    with pytest.raises(error, match=message):
        special.lpmn_values(*arguments, True)
