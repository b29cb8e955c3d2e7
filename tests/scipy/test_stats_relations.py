"""What the functions of one distribution have to do with each other: logarithms, complements, inverses, derivatives,
sums and integrals; on both backends, jitted."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tangrad.scipy import stats

from .test_stats import NAMES

PROBABILITIES = np.linspace(0.02, 0.98, 13)
# Distribution -> (its parameters, places within its support); of counts all that are not next to impossible.
WHERE = {
    "bernoulli": ((0.3,), np.arange(2.0)),
    "beta": ((2.0, 3.0), np.linspace(0.05, 0.95, 9)),
    "betabinom": ((9.0, 0.7, 3.0), np.arange(10.0)),
    "binom": ((9.0, 0.2), np.arange(10.0)),
    "chi2": ((4.5,), np.linspace(0.1, 12, 9)),
    "expon": ((), np.linspace(0.1, 4, 9)),
    "gamma": ((2.2,), np.linspace(0.1, 7, 9)),
    "geom": ((0.4,), np.arange(1.0, 80)),
    "nbinom": ((7.5, 0.6), np.arange(90.0)),
    "pareto": ((2.5,), np.linspace(1.1, 6, 9)),
    "poisson": ((5.3,), np.arange(50.0)),
    "t": ((3.5,), np.tan(np.linspace(-1.57, 1.57, 20_001))),
    "truncnorm": ((-1.0, 2.0), np.linspace(-0.9, 1.9, 9)),
    "uniform": ((), np.linspace(0.1, 0.9, 9)),
    "vonmises": ((2.0,), np.linspace(-np.pi, np.pi, 4001)),
    "wrapcauchy": ((0.4,), np.linspace(0, 2 * np.pi, 4001)),
    "gennorm": ((1.5,), np.linspace(-3, 3, 8)),
}
ANYWHERE = ((), np.linspace(-3, 3, 9))
NOT_MOVED = ("gennorm", "vonmises", "wrapcauchy")  # as in JAX
KINDS = sorted({name for name, _ in NAMES})
PARTS = {kind: {part for name, part in NAMES if name == kind} for kind in KINDS}


def slope_of_cdf(part, parameters):
    return tangrad.vmap(tangrad.grad(lambda x: part("cdf")(x, *parameters)))


# (what is related, to what) -> both, given a function of names of parts, places and parameters.
RELATIONS = {
    ("logpdf", "pdf"): lambda part, x, p: (tnp.exp(part("logpdf")(x, *p)), part("pdf")(x, *p)),
    ("logpmf", "pmf"): lambda part, x, p: (tnp.exp(part("logpmf")(x, *p)), part("pmf")(x, *p)),
    ("logcdf", "cdf"): lambda part, x, p: (tnp.exp(part("logcdf")(x, *p)), part("cdf")(x, *p)),
    ("logsf", "sf"): lambda part, x, p: (tnp.exp(part("logsf")(x, *p)), part("sf")(x, *p)),
    ("sf", "cdf"): lambda part, x, p: (part("sf")(x, *p) + part("cdf")(x, *p), np.ones(len(x))),
    ("ppf", "cdf"): lambda part, x, p: (part("cdf")(part("ppf")(PROBABILITIES, *p), *p), PROBABILITIES),
    ("isf", "sf"): lambda part, x, p: (part("sf")(part("isf")(PROBABILITIES, *p), *p), PROBABILITIES),
    ("pdf", "cdf"): lambda part, x, p: (slope_of_cdf(part, p)(x), part("pdf")(x, *p)),
    ("cdf", "pmf"): lambda part, x, p: (part("cdf")(x, *p), tnp.cumsum(part("pmf")(x, *p))),
    ("pmf",): lambda part, x, p: (part("pmf")(x, *p).sum(), np.ones(())),
}
CASES = [(kind, one) for kind in KINDS for one in RELATIONS if PARTS[kind] >= {*one}]
CASES.remove(("bernoulli", ("ppf", "cdf")))  # a step has no inverse


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param), enable_x64(True):
        yield request.param


def agree(program):
    for one, other in (program(), tangrad.jit(program)()):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("kind", "relation"), CASES)
def test_relations(on, kind, relation):
    parameters, places = WHERE.get(kind, ANYWHERE)
    agree(lambda: RELATIONS[relation](lambda name: getattr(getattr(stats, kind), name), places, parameters))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if PARTS[kind] >= {"pdf"} and "cdf" not in PARTS[kind]])
def test_densities_integrate_to_one(on, kind):
    parameters, places = WHERE[kind]
    density = getattr(stats, kind).pdf
    whole = tangrad.jit(lambda: tnp.trapezoid(density(places, *parameters), places))()
    np.testing.assert_allclose(whole, 1, rtol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "pdf" in PARTS[kind] and kind not in NOT_MOVED])
def test_place_and_scale(on, kind):
    """A density at a place that is moved and stretched is the density there, divided by the scale."""
    parameters, places = WHERE.get(kind, ANYWHERE)
    density = getattr(stats, kind).pdf
    agree(lambda: (density(1.5 + 2 * places, *parameters, 1.5, 2.0), density(places, *parameters) / 2))
