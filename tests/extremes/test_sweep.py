"""Values, first and second derivatives of the table's functions, at all points, in four dtypes, on both backends.

Densities and distribution functions are as in SciPy: at parameters that are none, at infinity, at NaN.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, random, use_backend
from tangrad._scipy import continuous_distributions, discrete_distributions
from tangrad._scipy.distribution_records import Distribution
from tangrad.scipy import stats
from tests.extremes import reference
from tests.extremes.rows import MODULES, OUT_OF_REACH, REASONS, formula_names, rows

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
