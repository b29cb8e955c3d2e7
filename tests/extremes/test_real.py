"""Derivatives where numbers end: a sweep over all, and one line for each that was wrong."""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
import tangrad.scipy.special as special
from tangrad import enable_x64, nn, random, use_backend
from tangrad._scipy import continuous_distributions, discrete_distributions
from tangrad._scipy.distribution_records import Distribution
from tangrad.scipy import stats
from tests.extremes import reference
from tests.extremes.rows import MODULES, OUT_OF_REACH, REASONS, formula_names, rows

INFINITY = np.inf


@pytest.fixture(params=["numpy", "xla"])
def on(request):
    with use_backend(request.param):
        yield request.param


# function, where, order, the derivative
SINGLE = [
    (special.log_ndtr, 13.5, 2, 0.0),
    (special.log_ndtr, -100.0, 2, -0.99990006),
    (special.log_ndtr, -INFINITY, 2, -1.0),
    (tnp.sinc, 1e4, 2, -2e-8),
    (tnp.sinc, 3e38, 2, 0.0),
    (tnp.sinc, INFINITY, 0, 0.0),
    (tnp.sinc, 1e3, 1, 1e-3),
    (tnp.arctan, 1e10, 2, -2e-30),
    (tnp.arctan, INFINITY, 2, 0.0),
    (tnp.arcsinh, 1e30, 1, 1e-30),
    (tnp.arcsinh, 3e38, 2, 0.0),
    (tnp.expm1, -20.0, 1, 2.0611536e-9),
    (special.erf, 3e38, 2, 0.0),
    (special.ndtr, -INFINITY, 2, 0.0),
    (special.erfcx, 50.0, 2, 9.0162343e-6),
    (special.dawsn, 1e20, 1, -5e-41),
    (special.gammaln, 0.0, 1, -INFINITY),
    (special.gammaln, INFINITY, 2, 0.0),
    (special.gamma, INFINITY, 2, INFINITY),
    (special.digamma, 0.0, 1, INFINITY),
    (special.i0, 200.0, 2, INFINITY),
    (special.i0e, 1e6, 1, -1.9947119e-10),
    (special.i1e, 1.2e-38, 1, 0.5),
    (special.expi, 100.0, 2, INFINITY),
    (special.exp1, INFINITY, 2, 0.0),
    (special.spence, 1e-30, 1, -69.077553),
    (special.entr, 0.0, 1, INFINITY),
    (special.logit, 1e-30, 2, -INFINITY),
    (special.zeta, 1.0, 1, -INFINITY),
    (special.expit, 20.0, 1, 2.0611536e-9),
    (nn.softplus, 20.0, 2, 2.0611536e-9),
    (nn.log_sigmoid, -20.0, 2, -2.0611536e-9),
    (nn.silu, INFINITY, 1, 1.0),
    (nn.silu, -INFINITY, 0, 0.0),
    (nn.mish, -INFINITY, 2, 0.0),
    (nn.gelu, 1e30, 1, 1.0),
    (nn.soft_sign, INFINITY, 0, 1.0),
    (nn.soft_sign, 1e10, 1, 1e-20),
    (nn.squareplus, -3e38, 0, 3.3333333e-39),
    (nn.log1mexp, 100.0, 2, 0.0),
    (nn.hard_silu, -INFINITY, 0, 0.0),
    (nn.sparse_plus, 3e38, 1, 1.0),
]


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("function, point, order, expected", SINGLE)
def test_single_precision(function, point, order, expected):
    for _ in range(order):
        function = tangrad.grad(function)
    np.testing.assert_allclose(function(np.float32(point)), np.float32(expected), rtol=1e-4, atol=2e-38)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("name", ["sinc", "arctan", "arcsinh"])
def test_half_precision(name):
    second = tangrad.grad(tangrad.grad(getattr(tnp, name)))
    assert np.isfinite(second(np.float16(300.0))) and second(np.float16(np.inf)) == 0


@pytest.mark.usefixtures("on")
def test_zeta_of_half_precision_numbers_far_out():
    x = np.float16([13.5, 30.5, 300.0])
    np.testing.assert_array_equal(special.zeta(x), np.float16([1, 1, 1]))
    slopes = tangrad.vmap(tangrad.grad(special.zeta))(x)
    np.testing.assert_allclose(slopes, [-6.02e-5, 0, 0], atol=1e-6)
    np.testing.assert_allclose(special.zeta(x, np.float16(1.0)), np.float16([1, 1, 1]))


@pytest.mark.usefixtures("on")
def test_gelu_of_large_half_precision_numbers():
    assert tangrad.grad(nn.gelu)(np.float16(200.0)) == 1 and tangrad.grad(nn.gelu)(np.float16(-200.0)) == 0


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    "a, b, value, slope", [(2.0, 0.0, 0.0, 0.0), (0.0, 2.0, 1.0, 0.0), (1.0, 1.0, 0.3, 1.0), (np.inf, 2.0, 0.0, 0.0)]
)
def test_incomplete_beta_at_degenerate_parameters(a, b, value, slope):
    function = lambda x: special.betainc(a, b, x)
    np.testing.assert_allclose(function(0.3), value, rtol=1e-6)
    np.testing.assert_allclose(tangrad.grad(function)(0.3), slope, rtol=1e-6)
    np.testing.assert_allclose(tangrad.grad(tangrad.grad(function))(0.3), 0, atol=1e-6)


@pytest.mark.usefixtures("on")
def test_incomplete_functions_at_the_edges():
    first = tangrad.grad(special.gammainc, 1)
    np.testing.assert_allclose(first(1.0, 0.0), 1, rtol=1e-6)
    assert first(2.0, 0.0) == 0 and first(2.0, np.inf) == 0
    slope = lambda x: special.betainc(2.0, 1.0, x)
    assert tangrad.grad(slope)(0.0) == 0
    np.testing.assert_allclose([tangrad.grad(slope)(1.0), tangrad.grad(tangrad.grad(slope))(0.0)], 2, rtol=1e-6)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    "a, b, expected", [(-2.0, 2.0, 0.5), (2.0, -2.0, 0.5), (-1.0, 2.0, np.inf), (2.0, np.inf, 0.0)]
)
def test_beta_at_poles(a, b, expected):
    np.testing.assert_allclose(special.beta(a, b), expected, rtol=1e-6)


@pytest.mark.usefixtures("on")
def test_beta_where_only_the_sum_is_a_pole():
    assert special.beta(-0.5, -0.5) == 0 and special.betaln(-0.5, -0.5) == -np.inf


@pytest.mark.usefixtures("on")
def test_pieces_that_are_not_taken_leave_derivatives_alone():
    function = lambda x: tnp.piecewise(x, [x > 0], [tnp.log, lambda x: 3 * x])
    assert tangrad.grad(function)(0.0) == 3 and tangrad.grad(tangrad.grad(function))(0.0) == 0
    assert tangrad.grad(function)(2.0) == 0.5 and tangrad.jvp(function, (0.0,), (1.0,))[1] == 3
    several = lambda x: tnp.piecewise(x, [x <= 0, x == 0], [tnp.sqrt, 7.0, tnp.sin]).sum()
    np.testing.assert_allclose(tangrad.grad(several)(np.float32([0.0, 1.0])), [0, np.cos(1)], rtol=1e-6)


@pytest.mark.usefixtures("on")
def test_lengths_and_angles_at_zero_and_far_out():
    gradient = tangrad.grad(tnp.hypot, (0, 1))
    assert gradient(0.0, 0.0) == (0, 0) and gradient(-np.inf, 1.0) == (-1, 0)
    np.testing.assert_allclose(gradient(np.float32(3e-30), np.float32(4e-30)), [0.6, 0.8], rtol=1e-6)
    angle = tangrad.grad(tnp.arctan2, (0, 1))
    assert angle(0.0, 0.0) == (0, 0)
    np.testing.assert_allclose(angle(np.float32(1e30), np.float32(1.0)), [0, -1e-30], rtol=1e-6)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("order", [None, 2, 3, 2.5])
def test_norms_at_zero(order):
    norm = lambda x: tnp.linalg.norm(x, order)
    assert not np.any(tangrad.grad(norm)(tnp.zeros(2))) and not np.any(tangrad.hessian(norm)(tnp.zeros(2)))
    np.testing.assert_allclose(tangrad.grad(norm)(tnp.array([3.0, 0.0])), [1, 0], rtol=1e-6)


# --- Derivatives of powers at 0, to the third order: the limits from above ---


FAR = math.inf
DTYPES = ("float16", "bfloat16", "float32", "float64")
# By the exponent: the power of 0, and its derivatives by the base.
AT_ZERO = {
    -1.0: (FAR, -FAR, FAR, -FAR),
    -0.5: (FAR, -FAR, FAR, -FAR),
    0.0: (1, 0, 0, 0),
    0.5: (0, FAR, -FAR, FAR),
    1.0: (0, 1, 0, 0),
    1.5: (0, 0, FAR, -FAR),
    2.0: (0, 0, 2, 0),
    2.5: (0, 0, 0, FAR),
    3.0: (0, 0, 0, 6),
}


def _along(x, y, argument):
    """What is held, and the other."""
    return (lambda moved: (moved, y), x) if argument == 0 else (lambda moved: (x, moved), y)


def forward(function, argument):
    def derivative(x, y):
        both, moved = _along(x, y, argument)
        return tangrad.jvp(lambda value: function(*both(value)), (moved,), (tnp.ones_like(moved),))[1]

    return derivative


def reverse(function, argument):
    def derivative(x, y):
        both, moved = _along(x, y, argument)
        return tangrad.grad(lambda value: function(*both(value)).sum())(moved)

    return derivative


@pytest.fixture(params=["numpy", "xla"])
def on_doubles(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


@pytest.mark.usefixtures("on_doubles")
@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_by_the_base_at_zero(dtype, mode):
    exponents, expected = [*AT_ZERO], np.array([*AT_ZERO.values()])
    x, y = tnp.zeros(len(exponents), dtype), tnp.asarray(exponents, dtype)
    function = tnp.power
    for order in range(4):
        found = np.asarray(function(x, y), "float64")
        np.testing.assert_array_equal(found, expected[:, order], err_msg=f"order {order}")
        function = mode(function, 0)


@pytest.mark.usefixtures("on_doubles")
@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_by_the_exponent_at_zero(dtype, mode):
    """Of 0 to a positive power nothing changes; of 0 to a negative one everything is infinite."""
    x, y = tnp.zeros(4, dtype), tnp.asarray([-1.0, -0.5, 0.5, 2.0], dtype)
    function = mode(tnp.power, 1)
    for sign in (-1, 1, -1):
        np.testing.assert_array_equal(np.asarray(function(x, y), "float64"), [sign * FAR] * 2 + [0, 0])
        function = mode(function, 1)


# Which arguments, in order; and the derivative at (4, 0).
MIXED = {
    (0, 1): 1 / 4,
    (1, 0): 1 / 4,
    (0, 0, 1): -1 / 16,
    (0, 1, 0): -1 / 16,
    (1, 0, 0): -1 / 16,
    (0, 1, 1): 2 * math.log(4) / 4,
    (1, 0, 1): 2 * math.log(4) / 4,
    (1, 1, 0): 2 * math.log(4) / 4,
}


@pytest.mark.usefixtures("on_doubles")
@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("order", MIXED)
def test_mixed_derivatives_at_exponent_zero(order, mode):
    function = tnp.power
    for argument in order:
        function = mode(function, argument)
    np.testing.assert_allclose(function(np.float64([4.0]), np.float64([0.0])), [MIXED[order]], rtol=1e-12)


@pytest.mark.usefixtures("on_doubles")
def test_a_negative_base_and_none():
    for base in (-2.0, math.nan, math.inf, -math.inf):
        assert tangrad.grad(tnp.power)(base, 0.0) == 0
    assert tangrad.grad(tangrad.grad(tnp.power))(-2.0, 0.0) == 0


TABLE = {row.name: row for row in rows()}
# A few of each kind, in the ordinary suite.
SAMPLE = ("numpy.sinc", "numpy.arctan", "special.log_ndtr", "special.erf", "special.expit", "nn.softplus", "nn.silu")


def faults(row, dtype, backend):
    beyond = OUT_OF_REACH.get((row.name, dtype), ())
    kept = [x for x in reference.real_points(dtype) if not row.skipped(x) and abs(x) not in beyond]
    expected = reference.table(row.reference, tuple(kept))
    with enable_x64(True), use_backend(backend), warnings.catch_warnings():
        found = tangrad.jit(reference.all_orders(row.function))(tnp.asarray(np.array(kept), dtype))
        found = {order: np.asarray(values.astype("float64")) for order, values in found.items()}
    return list(reference.faults(kept, found, expected, kept, dtype, row.ulps, row.floor))


def report(wrong):
    return "\n".join([str(fault) for fault in wrong[:8]])


def first_of_each_formula():
    """The rows but for those that are another name of one before them."""
    return list({row.reference: name for name, row in reversed(TABLE.items())}.values())[::-1]


@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(set(TABLE) - set(first_of_each_formula())))
def test_other_names(name):
    wrong = faults(TABLE[name], "float32", "numpy")
    assert not wrong, report(wrong)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", reference.DTYPES)
@pytest.mark.parametrize("name", first_of_each_formula())
def test_all_points(name, dtype):
    for backend in ("numpy", "xla"):
        wrong = faults(TABLE[name], dtype, backend)
        assert not wrong, f"{name} on {backend}: {len(wrong)} values are wrong\n{report(wrong)}"


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name):
    wrong = faults(TABLE[name], "float32", "numpy")
    assert not wrong, report(wrong)


def test_a_wrong_derivative_is_seen():
    """The square root of a square, which overflows, in place of the absolute value."""
    row = TABLE["numpy.abs"]._replace(function=lambda x: tnp.sqrt(x * x))
    wrong = faults(row, "float32", "numpy")
    assert {fault.order[0] for fault in wrong} == {"0", "1", "2"}


# --- no function without a row -------------------------------------------------------------------------------------

X, ORDER = np.float32([0.2, 0.7, 0.45, 0.31, 0.62]), [3, 0, 4, 1, 2]
ON_FILES_AND_SETTINGS = ("set", "from", "save", "load", "print", "get")


def is_elementwise(function):
    """Whether a function of an array gives floats of its shape, each of them from its own element."""
    try:
        inspect.signature(function).bind(X)
        whole, moved, alone = [function(tnp.asarray(x)) for x in (X, X[ORDER], X[:1])]
    except Exception:  # for other arguments, whatever they are
        return False
    results = (whole, moved, alone)
    if not all(isinstance(result, tangrad.Array) and result.dtype.kind == "f" for result in results):
        return False
    if whole.shape != X.shape or alone.shape != (1,):
        return False
    return bool(
        np.array_equal(np.asarray(whole)[ORDER], moved, equal_nan=True)
        and np.array_equal(whole[:1], alone, equal_nan=True)
    )


@pytest.mark.parametrize("module", MODULES)
def test_each_elementwise_function_has_a_row_or_a_reason(module):
    names = [name for name in dir(MODULES[module]) if not name.startswith(("_", *ON_FILES_AND_SETTINGS))]
    public = {name: getattr(MODULES[module], name) for name in names}
    functions = {name for name, value in public.items() if callable(value) and not inspect.isclass(value)}
    found = {name for name in functions if is_elementwise(public[name])}
    assert len(found) > 15
    missing = sorted(found - set(formula_names(module)) - set(REASONS))
    assert not missing, f"elementwise functions without a row or a reason: {missing}"


# --- The distributions, with ordinary parameters of each: what is compared with SciPy at parameters that are none.


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -1.0)
POINTS = (np.nan, np.inf, -np.inf, -2.0, -0.5, 0.0, 0.3, 1.0, 2.0, 2.5, 7.0)
PROBABILITIES = (np.nan, np.inf, -np.inf, -0.5, 0.0, 1e-9, 0.3, 0.5, 0.9, 1.0, 1.5)
# Shape parameters, those of the examples; where and scale are the same for all.
SHAPES: dict[str, dict[str, float]] = {
    name: {one.name: float(value) for one, value in zip(record.shapes, record.at[1:])}
    for name, record in sorted({**vars(continuous_distributions), **vars(discrete_distributions)}.items())
    if isinstance(record, Distribution)
}
# Of vectors, in tests of their own.
VECTORS = frozenset(["dirichlet", "multinomial", "multivariate_normal", "gaussian_kde", "mode", "rankdata", "sem"])


def functions() -> list[tuple[str, str]]:
    """Each function of each distribution of numbers. Raises AssertionError for one that has no row here."""
    missing = {name for name in dir(stats) if not name.startswith("_")} - set(SHAPES) - VECTORS
    assert not missing, f"distributions without ordinary parameters: {sorted(missing)}"
    return [(name, each) for name in SHAPES for each in dir(getattr(stats, name)) if not each.startswith("_")]


def cases(name: str, function: str) -> Iterator[dict[str, Any]]:
    """Arguments at every point, one parameter at a time being none of the distribution's."""
    given = list(inspect.signature(getattr(getattr(stats, name), function)).parameters)
    ordinary = {**SHAPES[name], **{key: value for key, value in (("loc", 0.0), ("scale", 1.0)) if key in given}}
    points = PROBABILITIES if function in ("ppf", "isf") else POINTS
    places = [{}, *[{key: value} for key in ordinary for value in SPECIAL]]
    if "loc" in ordinary:
        places += [{"loc": 1.0}, {"loc": np.inf, **({"scale": np.inf} if "scale" in ordinary else {})}]
    if "scale" in ordinary:
        places += [{"scale": 2.5}, {"scale": 1e-3}]
    for point in points if function != "entropy" else ():
        for changed in places:
            yield {"x": point, **ordinary, **changed}


# --- Densities and distribution functions as SciPy has them: at parameters that are none, at infinity, at NaN -------


scipy_stats = pytest.importorskip("scipy.stats")

# Where the two differ on purpose, by (function, x, parameters that differ from the ordinary ones).
# JAX and we give the number 0 for the quantile of 0; SciPy -1, one below the support, and at p = 0 the number 1 for 1.
QUANTILE_OF_ZERO = {("bernoulli", "ppf", 0.0), ("bernoulli", "ppf", 1.0)}
# The density of no finite place is 0; SciPy's formula has inf - inf at one x.
INFINITE_DEGREES = {("chi2", "pdf", 1.0), ("chi2", "logpdf", 1.0)}
KNOWN = QUANTILE_OF_ZERO | INFINITE_DEGREES


@pytest.mark.parametrize("name, function", functions())
@pytest.mark.parametrize("backend", ["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def test_parameters_that_are_none(name, function, backend):
    rows = [case for case in cases(name, function) if (name, function, case["x"]) not in KNOWN]
    if not rows:
        assert function == "entropy"
        return
    columns = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    shapes = {key: column for key, column in columns.items() if key != "x"}
    with np.errstate(all="ignore"):
        expected = getattr(getattr(scipy_stats, name), function)(columns["x"], **shapes)
    with enable_x64(True), use_backend(backend):
        found = getattr(getattr(stats, name), function)(*[tnp.asarray(column) for column in columns.values()])
    found = np.asarray(found)
    # SciPy takes some logarithms of numbers that have underflowed.
    expected = np.where((expected == -np.inf) & (found < -700), found, expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_short_floats_far_out(backend):
    with use_backend(backend):
        x = tnp.asarray([300.0, -6e4], "float16")
        np.testing.assert_allclose(stats.t.logpdf(x, 1.0), [-12.55, -23.14], rtol=2e-3)
        np.testing.assert_allclose(stats.cauchy.logpdf(x), [-12.55, -23.14], rtol=2e-3)


def test_the_normal_distribution_as_student_has_it():
    x = np.float32([-2.0, 0.0, 0.5])
    np.testing.assert_allclose(stats.t.logpdf(x, np.inf), stats.norm.logpdf(x), rtol=1e-6)
    sample = random.t(random.key(0), np.inf, (2000,))
    np.testing.assert_allclose([float(sample.mean()), float(sample.std())], [0, 1], atol=0.06)
