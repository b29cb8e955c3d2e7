"""`scipy.stats` on both backends, against SciPy; derivatives against finite differences."""

import inspect

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tangrad._scipy import continuous_distributions, discrete_distributions
from tangrad._scipy.distribution_records import Distribution
from tangrad.scipy import stats
from tests.primitives import reference

scipy_stats = pytest.importorskip("scipy.stats")

WHERE = np.array([-7.0, -1.5, -0.2, 0.0, 0.3, 0.9, 1.0, 1.7, 4.0, 30.0])
COUNTS = np.array([-1.0, 0.0, 1.0, 2.0, 2.5, 5.0, 8.0, 40.0])
PROBABILITIES = np.array([0.0, 1e-9, 0.1, 0.5, 0.83, 1.0, 1.1])

RECORDS = {
    name: record
    for name, record in sorted({**vars(continuous_distributions), **vars(discrete_distributions)}.items())
    if isinstance(record, Distribution)
}
# distribution -> its parameters before loc and scale, as lists to be combined with each place.
PARAMETERS = {
    name: [list(one.domain.samples if one.samples is None else one.samples) for one in record.shapes]
    for name, record in RECORDS.items()
}
NAMES = [(name, part) for name, record in RECORDS.items() for part in record.results]
INVERSES = ("ppf", "isf")


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param):
        yield request.param


def places(name, part):
    """Arguments of a function of a distribution: parameters with places, in all combinations."""
    function = getattr(getattr(stats, name), part)
    first = next(iter(inspect.signature(function).parameters))
    where = PROBABILITIES if part in INVERSES else COUNTS if first == "k" else WHERE
    if (name, part) == ("poisson", "entropy"):
        return [np.array(PARAMETERS[name][0])]
    if part == "ppf" and name == "bernoulli":
        where = where[1:]  # SciPy's quantile at 0 is the number before the support
    parameters = [[0.3]] if (name, part) == ("bernoulli", "ppf") else PARAMETERS[name]
    return [x.ravel() for x in np.meshgrid(where, *parameters, indexing="ij")]


@pytest.mark.parametrize(("name", "part"), NAMES)
def test_values_agree_with_scipy(on, name, part):
    arguments = places(name, part)
    function, expected = [getattr(getattr(api, name), part) for api in (stats, scipy_stats)]
    options = {
        key: value
        for key, value in {"loc": 0.25, "scale": 1.5}.items()
        if key in inspect.signature(function).parameters
    }
    if "k" in inspect.signature(function).parameters or part == "entropy":
        options = {"loc": 1} if options and part != "entropy" else {}
    with np.errstate(all="ignore"):
        wanted = expected(*arguments, **options)
    with enable_x64(True):
        found = function(*arguments, **options)
        np.testing.assert_allclose(found, wanted, rtol=2e-11, atol=1e-13)
    single = function(*[np.float32(x) for x in arguments], **options)
    assert single.dtype == "float32" and single.shape == wanted.shape
    if part not in INVERSES:
        rounded = expected(*[np.float64(np.float32(x)) for x in arguments], **options)
        np.testing.assert_allclose(single, rounded, rtol=2e-4, atol=1e-6)


# Points within the supports, with the parameters.
INSIDE = {name: tuple([float(value) for value in record.at]) for name, record in RECORDS.items()}
SMOOTH = [one for one in NAMES if one != ("bernoulli", "cdf") and one != ("bernoulli", "ppf")]
# Derivatives of the incomplete beta function with respect to its parameters are not known in closed form.
HELD = {"beta": (1, 2)}


@pytest.mark.parametrize(("name", "part"), SMOOTH)
def test_derivatives_agree_with_finite_differences(name, part):
    function = getattr(getattr(stats, name), part)
    arguments = [0.3] if part in INVERSES else list(INSIDE[name])
    if part in INVERSES:
        arguments += INSIDE[name][1:]
    if part == "entropy":
        arguments = [2.7]
    discrete_distributions = next(iter(inspect.signature(function).parameters)) == "k"
    held = {0} if discrete_distributions else set()
    if part.endswith(("cdf", "sf")):
        held |= set(HELD.get(name, ()))
    if name in ("binom", "betabinom"):
        held.add(1)  # a number of trials
    moving = [place for place in range(len(arguments)) if place not in held]

    def run(*values):
        given = list(arguments)
        for place, value in zip(moving, values):
            given[place] = value
        return function(*given)

    with enable_x64(True), use_backend("numpy"):
        values = [np.array(arguments[place]) for place in moving]
        reference.check_finite_differences(run, values)
        slopes = tangrad.grad(run, tuple(range(len(values))))
        mapped = tangrad.vmap(slopes)(*[np.stack([value, value]) for value in values])
        reference.close([x[1] for x in mapped], list(slopes(*values)), 10)


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "part"), SMOOTH)
def test_derivatives_are_the_same_on_xla(name, part):
    function = getattr(getattr(stats, name), part)
    arguments = [2.7] if part == "entropy" else [*([0.3] if part in INVERSES else INSIDE[name][:1])]
    if part != "entropy":
        arguments += INSIDE[name][1:]
    place = len(arguments) - 1 if next(iter(inspect.signature(function).parameters)) == "k" else 0
    slope = tangrad.grad(function, place)
    with use_backend("numpy"):
        expected = np.asarray(slope(*arguments))
    with use_backend("xla"):
        reference.close(tangrad.jit(slope)(*arguments), expected, 10)


@pytest.mark.parametrize("name", ["norm", "gamma", "uniform", "pareto", "truncnorm", "binom", "poisson"])
def test_derivatives_outside_of_the_support_are_no_nan(name):
    arguments = (-3.0, *INSIDE[name][1:])
    part = "logpmf" if name in ("binom", "poisson") else "logpdf"
    slope = tangrad.grad(getattr(getattr(stats, name), part), len(arguments) - 1)(*arguments)
    assert np.isfinite(slope)


def test_nothing_chosen_of_nothing_is_certain(on):
    assert [float(stats.binom.logpmf(0, 0, p)) for p in (0.1, 0.8)] == [0, 0]
    assert [float(stats.betabinom.logpmf(0, 0, a, 5.0)) for a in (0.5, 10)] == [0, 0]


def test_programs_of_distributions_are_compiled_by_xla():
    def program(x):
        return [stats.norm.logcdf(x), stats.truncnorm.logpdf(x, -1.0, 2.0), stats.t.pdf(x, 3.0), stats.cauchy.ppf(x)]

    expected = tangrad.jit(program)(np.float32([0.1, 0.5]))
    with use_backend("xla"):
        reference.close(tangrad.jit(program)(np.float32([0.1, 0.5])), expected, 3)


# --- of vectors ----------------------------------------------------------------------------------------------------

COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 0.7]])
VECTORS = reference.normal((4, 3), "float64")
SHARES = np.array([0.2, 0.3, 0.5])


def of_vectors(api):
    return {
        "normal": lambda x, c: api.multivariate_normal.logpdf(x, VECTORS[0], c @ c.T),
        "normal, density": lambda x, c: api.multivariate_normal.pdf(x, VECTORS[0], c @ c.T),
        "normal, one variance": lambda x, c: api.multivariate_normal.logpdf(x, VECTORS[0], c[0, 0]),
        "dirichlet": lambda x, c: api.dirichlet.logpdf(SHARES, abs(x[0]) + 1),
        "dirichlet, density": lambda x, c: api.dirichlet.pdf(SHARES[:2], abs(x[0]) + 1),
        "multinomial": lambda x, c: api.multinomial.logpmf(
            np.array([[1, 2, 4], [1, 1, 4]]), 7, abs(x[0]) / abs(x[0]).sum()
        ),
        "multinomial, probability": lambda x, c: api.multinomial.pmf(
            np.array([1, 2, 4]), 7, abs(x[0]) / abs(x[0]).sum()
        ),
    }


@pytest.mark.parametrize("name", of_vectors(stats))
def test_distributions_of_vectors(on, name):
    with enable_x64(True):
        found = of_vectors(stats)[name](VECTORS, COVARIANCE)
        np.testing.assert_allclose(found, of_vectors(scipy_stats)[name](VECTORS, COVARIANCE), rtol=1e-10)
        if on == "numpy":
            finite = lambda x, c: tnp.where(tnp.isfinite(y := of_vectors(stats)[name](x, c)), y, 0)
            reference.check_finite_differences(finite, (VECTORS, COVARIANCE))


def test_normal_vectors_in_batches(on):
    covariances = np.stack([COVARIANCE, 2 * COVARIANCE])
    mapped = tangrad.vmap(lambda c: stats.multivariate_normal.logpdf(VECTORS, VECTORS[0], c))(covariances)
    found = stats.multivariate_normal.logpdf(VECTORS, VECTORS[0], covariances[:, None])
    np.testing.assert_allclose(found, mapped, rtol=1e-4)


# --- samples -------------------------------------------------------------------------------------------------------

SAMPLES = np.array([[3.0, 1, 3, 2, 2, 5], [1, 1, 1, 0, 7, 7], [np.nan, 2, 2, np.nan, 1, 0]])


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_ranks_errors_and_modes(on, axis):
    for method in ("average", "min", "max", "dense", "ordinal"):
        found = stats.rankdata(SAMPLES, method, axis=axis)
        expected = scipy_stats.rankdata(SAMPLES, method, axis=axis)
        np.testing.assert_allclose(found, expected)
    for policy in ("propagate", "omit"):
        with np.errstate(all="ignore"):
            expected = scipy_stats.sem(SAMPLES, axis, nan_policy=policy)
        np.testing.assert_allclose(stats.sem(SAMPLES, axis, nan_policy=policy), np.ma.filled(expected, np.nan), 1e-5)
    for keepdims in (False, True):
        found = stats.mode(SAMPLES[:2], axis, keepdims=keepdims)
        expected = scipy_stats.mode(SAMPLES[:2], axis, keepdims=keepdims)
        reference.close([np.float64(x) for x in found], [np.float64(x) for x in expected])


def test_modes_of_nothing_and_of_nan(on):
    assert np.isnan(stats.mode(np.array([1.0, np.nan, np.nan])).mode)
    empty = stats.mode(np.zeros((0, 2)))
    assert np.isnan(empty.mode).all() and not empty.count.any()


def test_standard_errors_have_derivatives():
    with enable_x64(True), use_backend("numpy"):
        reference.check_finite_differences(lambda x: stats.sem(x, 1), (SAMPLES[:2],))


@pytest.mark.parametrize("method", [None, "silverman", 0.4, lambda kde: 0.3 * kde.neff ** (-1 / (kde.d + 4))])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2, 3, 1])])
def test_estimated_densities(on, method, weights):
    wide = VECTORS.T[:2]
    with enable_x64(True):
        for dataset in (VECTORS[:, 0], wide):
            ours, theirs = [api.gaussian_kde(dataset, method, weights) for api in (stats, scipy_stats)]
            points = np.linspace(-1, 1, 6).reshape(ours.d, -1)
            close = lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9)
            close(ours.covariance, theirs.covariance)
            close(ours.inv_cov, theirs.inv_cov)
            close(ours(points), theirs(points))
            close(ours.logpdf(points), theirs.logpdf(points))
            close(ours.integrate_kde(ours), theirs.integrate_kde(theirs))
            close(
                ours.integrate_gaussian(points[:, 0], 0.3 * np.eye(ours.d)),
                theirs.integrate_gaussian(points[:, 0], 0.3 * np.eye(ours.d)),
            )
            if ours.d == 1:
                close(ours.integrate_box_1d(-1.0, 0.5), theirs.integrate_box_1d(-1.0, 0.5))
        samples = ours.resample(tangrad.random.key(0), (2000,))
        np.testing.assert_allclose(np.cov(samples), np.cov(theirs.resample(20000, 1)), rtol=0.2, atol=0.05)


def test_estimated_densities_are_transformed():
    points = np.float32([0.1, 0.4])
    with use_backend("numpy"):
        density = lambda data: stats.gaussian_kde(data).pdf(points).sum()
        data = VECTORS[:, 0]
        mapped = tangrad.jit(tangrad.vmap(tangrad.grad(density)))(np.float32([data, data]))
        np.testing.assert_allclose(mapped[0], tangrad.grad(density)(np.float32(data)), rtol=1e-4, atol=1e-6)
        with enable_x64(True):
            reference.check_finite_differences(density, (data,))
    leaves, structure = tangrad.tree.flatten(stats.gaussian_kde(data))
    assert len(leaves) == 5 and tangrad.tree.unflatten(structure, leaves).n == 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: stats.norm.pdf(1j), TypeError, "norm.pdf does not accept complex"),
        (lambda: stats.beta.cdf(np.ones(2), np.ones(3), 1.0), ValueError, "beta.cdf got shapes"),
        (lambda: stats.mode(np.ones(2), nan_policy="omit"), NotImplementedError, "nan_policy"),
        (lambda: stats.sem(np.ones(2), nan_policy="no"), ValueError, "nan_policy"),
        (lambda: stats.rankdata(np.ones(2), "no"), ValueError, "method"),
        (lambda: stats.gaussian_kde(np.ones(1)), ValueError, "dataset"),
        (lambda: stats.gaussian_kde(np.ones(3), "no"), ValueError, "bw_method"),
        (lambda: stats.gaussian_kde(np.ones(3), weights=np.ones(2)), ValueError, "weights"),
        (lambda: stats.gaussian_kde(np.eye(3)).pdf(np.ones(2)), ValueError, "3 rows"),
        (lambda: stats.dirichlet.pdf(np.ones(5), np.ones(3)), ValueError, "x must have 3 or 2 rows"),
        (lambda: stats.multivariate_normal.pdf(np.ones(3), np.ones(3), np.eye(2)), ValueError, "cov must be"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- What the functions of one distribution have to do with each other ---


LEVELS = np.linspace(0.02, 0.98, 13)
# Distribution -> (its parameters, places within its support); of counts all that are not next to impossible.
RELATION_WHERE = {
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
    ("ppf", "cdf"): lambda part, x, p: (
        part("cdf")(part("ppf")(LEVELS, *p), *p),
        LEVELS,
    ),
    ("isf", "sf"): lambda part, x, p: (part("sf")(part("isf")(LEVELS, *p), *p), LEVELS),
    ("pdf", "cdf"): lambda part, x, p: (slope_of_cdf(part, p)(x), part("pdf")(x, *p)),
    ("cdf", "pmf"): lambda part, x, p: (part("cdf")(x, *p), tnp.cumsum(part("pmf")(x, *p))),
    ("pmf",): lambda part, x, p: (part("pmf")(x, *p).sum(), np.ones(())),
}
CASES = [(kind, one) for kind in KINDS for one in RELATIONS if PARTS[kind] >= {*one}]
CASES.remove(("bernoulli", ("ppf", "cdf")))  # a step has no inverse


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on_doubles(request):
    with use_backend(request.param), enable_x64(True):
        yield request.param


def agree(program):
    for one, other in (program(), tangrad.jit(program)()):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("kind", "relation"), CASES)
def test_relations(on_doubles, kind, relation):
    parameters, places = RELATION_WHERE.get(kind, ANYWHERE)
    agree(lambda: RELATIONS[relation](lambda name: getattr(getattr(stats, kind), name), places, parameters))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if PARTS[kind] >= {"pdf"} and "cdf" not in PARTS[kind]])
def test_densities_integrate_to_one(on_doubles, kind):
    parameters, places = RELATION_WHERE[kind]
    density = getattr(stats, kind).pdf
    whole = tangrad.jit(lambda: tnp.trapezoid(density(places, *parameters), places))()
    np.testing.assert_allclose(whole, 1, rtol=1e-5)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "pdf" in PARTS[kind] and kind not in NOT_MOVED])
def test_place_and_scale(on_doubles, kind):
    """A density at a place that is moved and stretched is the density there, divided by the scale."""
    parameters, places = RELATION_WHERE.get(kind, ANYWHERE)
    density = getattr(stats, kind).pdf
    agree(lambda: (density(1.5 + 2 * places, *parameters, 1.5, 2.0), density(places, *parameters) / 2))
