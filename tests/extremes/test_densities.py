"""Densities and distribution functions as SciPy has them: at parameters that are none, at infinity, at NaN."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tangrad.numpy as tnp
from tangrad import enable_x64, random, use_backend
from tangrad._scipy import continuous_distributions, discrete_distributions
from tangrad._scipy.distribution_records import Distribution
from tangrad.scipy import stats

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
