"""Samples follow their distributions: by the test of Kolmogorov and Smirnov where these are continuous, by chi-square
where they are discrete; on both backends, eager and jitted.

The columns of a sample belong to several parameters. Each must follow its own distribution and not that of the next
column, which shows that there are samples enough to distinguish them.
"""

import inspect

import numpy as np
import pytest

import tangrad
from tangrad import numpy as tnp
from tangrad import random, use_backend

stats = pytest.importorskip("scipy.stats")

# Seeds are fixed, so a test passes always or never; of other seeds, one in 100 would have a test below the bound.
UNLIKELY = 1e-4
IMPOSSIBLE = 1e-6


def row(*values):
    return np.array(values, "float32")


PLACES, SCALES = row(-2, 0, 3), row(0.5, 1, 4)
FEW, MANY = row(0.3, 1, 3, 40), row(2, 5, 0.7, 11)
CHANCES = row(0.05, 0.3, 0.5, 0.9)
SHARES = row(0.1, 0.2, 0.3, 0.4)
RATES = row(0.5, 3, 9.9, 10, 60)
ROOT = np.array([[1, 0, 0], [0.5, 2, 0], [-1, 0.3, 0.7]], "float32")
COVARIANCE = ROOT @ ROOT.T
DIRECTIONS = np.array([[1, 0, 0], [1, 1, 0], [0.5, -1, 2]], "float32").T


def double_sided_maxwell(loc, scale):
    folded = stats.maxwell(0, scale)
    return lambda x: (1 + np.sign(x - loc) * folded.cdf(abs(x - loc))) / 2


def parts(x):
    return tnp.concatenate([x.real, x.imag], -1)


def polar(points):
    """The cubes of distances from the middle, and the heights of directions, as Archimedes measured the sphere."""
    distances = tnp.linalg.norm(points, axis=-1, keepdims=True)
    return tnp.concatenate([distances**3, points / distances], -1)


# Name -> (a draw of n rows by a key, the cumulative distribution functions of the columns).
CONTINUOUS = {
    "uniform": (
        lambda k, n: random.uniform(k, (n, 3), minval=PLACES, maxval=PLACES + SCALES),
        [stats.uniform(a, b).cdf for a, b in zip(PLACES, SCALES)],
    ),
    "normal": (lambda k, n: random.normal(k, (n, 1)), [stats.norm.cdf]),
    "complex normal": (
        lambda k, n: parts(random.normal(k, (n, 1), "complex64")),
        [stats.norm(0, 0.5**0.5).cdf] * 2,
    ),
    "truncated_normal": (
        lambda k, n: random.truncated_normal(k, PLACES, PLACES + SCALES, (n, 3)),
        [stats.truncnorm(a, a + b).cdf for a, b in zip(PLACES, SCALES)],
    ),
    "lognormal": (lambda k, n: random.lognormal(k, SCALES, (n, 3)), [stats.lognorm(s).cdf for s in SCALES]),
    "maxwell": (lambda k, n: random.maxwell(k, (n, 1)), [stats.maxwell.cdf]),
    "double_sided_maxwell": (
        lambda k, n: random.double_sided_maxwell(k, PLACES, SCALES, (n,)),
        [double_sided_maxwell(a, b) for a, b in zip(PLACES, SCALES)],
    ),
    "exponential": (lambda k, n: random.exponential(k, (n, 1)), [stats.expon.cdf]),
    "gumbel": (lambda k, n: random.gumbel(k, (n, 1)), [stats.gumbel_r.cdf]),
    "gumbel, high": (lambda k, n: random.gumbel(k, (n, 1), mode="high"), [stats.gumbel_r.cdf]),
    "gumbel, highest": (lambda k, n: random.gumbel(k, (n, 1), mode="highest"), [stats.gumbel_r.cdf]),
    "laplace": (lambda k, n: random.laplace(k, (n, 1)), [stats.laplace.cdf]),
    "logistic": (lambda k, n: random.logistic(k, (n, 1)), [stats.logistic.cdf]),
    "cauchy": (lambda k, n: random.cauchy(k, (n, 1)), [stats.cauchy.cdf]),
    "pareto": (lambda k, n: random.pareto(k, SCALES, (n, 3)), [stats.pareto(b).cdf for b in SCALES]),
    "rayleigh": (lambda k, n: random.rayleigh(k, SCALES, (n, 3)), [stats.rayleigh(0, s).cdf for s in SCALES]),
    "weibull_min": (
        lambda k, n: random.weibull_min(k, SCALES, FEW[:3], (n, 3)),
        [stats.weibull_min(c, 0, s).cdf for s, c in zip(SCALES, FEW)],
    ),
    "wald": (lambda k, n: random.wald(k, SCALES, (n, 3)), [stats.invgauss(m).cdf for m in SCALES]),
    "triangular": (
        lambda k, n: random.triangular(k, PLACES, PLACES + SCALES / 4, PLACES + SCALES, (n, 3)),
        [stats.triang(0.25, a, b).cdf for a, b in zip(PLACES, SCALES)],
    ),
    "gamma": (lambda k, n: random.gamma(k, FEW, (n, 4)), [stats.gamma(a).cdf for a in FEW]),
    "loggamma": (lambda k, n: random.loggamma(k, FEW, (n, 4)), [stats.loggamma(a).cdf for a in FEW]),
    "beta": (lambda k, n: random.beta(k, FEW, MANY, (n, 4)), [stats.beta(a, b).cdf for a, b in zip(FEW, MANY)]),
    "chisquare": (lambda k, n: random.chisquare(k, FEW, (n, 4)), [stats.chi2(a).cdf for a in FEW]),
    "f": (lambda k, n: random.f(k, FEW, MANY, (n, 4)), [stats.f(a, b).cdf for a, b in zip(FEW, MANY)]),
    "t": (lambda k, n: random.t(k, FEW[:3], (n, 3)), [stats.t(a).cdf for a in FEW[:3]]),
    "generalized_normal": (
        lambda k, n: tnp.stack([random.generalized_normal(k, p, (n,)) for p in (0.7, 3.0)], -1),
        [stats.gennorm(p).cdf for p in (0.7, 3.0)],
    ),
    # Of vectors the components, or what determines them.
    "dirichlet": (
        lambda k, n: random.dirichlet(k, FEW, (n,)),
        [stats.beta(a, FEW.sum() - a).cdf for a in FEW],
    ),
    "ball": (
        lambda k, n: polar(random.ball(k, 3, shape=(n,))),
        [stats.uniform(0, 1).cdf, *[stats.uniform(-1, 2).cdf] * 3],
    ),
    "multivariate_normal": (
        lambda k, n: random.multivariate_normal(k, PLACES, COVARIANCE, (n,)) @ DIRECTIONS,
        [stats.norm(PLACES @ w, np.sqrt(w @ COVARIANCE @ w)).cdf for w in DIRECTIONS.T],
    ),
    "orthogonal": (
        lambda k, n: random.orthogonal(k, 3, (n,))[:, 0] ** 2,
        [stats.beta(0.5, 1).cdf] * 3,
    ),
}


def evenly(count):
    return lambda outcomes: np.where(outcomes < count, 1 / count, 0.0)


def of_weights(weights):
    weights = np.ravel(np.float64(weights) / np.sum(weights, dtype="float64"))
    return lambda outcomes: np.where(outcomes < len(weights), weights[np.minimum(outcomes, len(weights) - 1)], 0.0)


# Two elements taken one after the other, numbered 4 * first + second.
PAIRS = of_weights([[SHARES[i] * SHARES[j] / (1 - SHARES[i]) * (i != j) for j in range(4)] for i in range(4)])


def numbered(pairs, count):
    """One number for the first two elements of each row."""
    return (pairs[..., 0] * count + pairs[..., 1])[..., None]


def of_each_key(draw):
    return lambda k, n: tangrad.vmap(draw)(random.split(k, n))


# Name -> (a draw of n rows of numbers from 0 on, the probability mass functions of the columns).
DISCRETE = {
    "bits": (
        lambda k, n: (random.bits(k, (n, 1)) >> np.array([0, 8, 16, 24], "uint32")) & np.uint32(255),
        [evenly(256)] * 4,
    ),
    "bits of 8": (lambda k, n: random.bits(k, (n, 1), "uint8"), [evenly(256)]),
    "bernoulli": (
        lambda k, n: random.bernoulli(k, CHANCES, (n, 4)).astype(int),
        [stats.bernoulli(p).pmf for p in CHANCES],
    ),
    "bernoulli, high": (
        lambda k, n: random.bernoulli(k, CHANCES, (n, 4), mode="high").astype(int),
        [stats.bernoulli(p).pmf for p in CHANCES],
    ),
    "rademacher": (lambda k, n: (random.rademacher(k, (n, 1)) + 1) // 2, [evenly(2)]),
    "randint": (
        lambda k, n: random.randint(k, (n, 3), np.array([0, -5, 90]), np.array([10, 2, 97])) - np.array([0, -5, 90]),
        [evenly(10), evenly(7), evenly(7)],
    ),
    "randint of 8 bits": (lambda k, n: random.randint(k, (n, 1), 3, 40, "uint8") - 3, [evenly(37)]),
    "geometric": (lambda k, n: random.geometric(k, CHANCES, (n, 4)), [stats.geom(p).pmf for p in CHANCES]),
    "poisson": (lambda k, n: random.poisson(k, RATES, (n, 5)), [stats.poisson(rate).pmf for rate in RATES]),
    "binomial": (
        lambda k, n: random.binomial(k, row(7, 20, 20, 1000), CHANCES, (n, 4)).astype(int),
        [stats.binom(count, p).pmf for count, p in zip((7, 20, 20, 1000), CHANCES)],
    ),
    "multinomial": (
        lambda k, n: random.multinomial(k, np.float32(30), SHARES, shape=(n, 4)).astype(int),
        [stats.binom(30, p).pmf for p in SHARES],
    ),
    "categorical": (
        lambda k, n: random.categorical(k, np.log(np.stack([SHARES, SHARES[::-1]])), shape=(n, 2)),
        [of_weights(SHARES), of_weights(SHARES[::-1])],
    ),
    "categorical, without replacement": (
        of_each_key(lambda k: numbered(random.categorical(k, np.log(SHARES), shape=(2,), replace=False), 4)),
        [PAIRS],
    ),
    "choice": (lambda k, n: random.choice(k, 9, (n, 1)), [evenly(9)]),
    "choice by weight": (lambda k, n: random.choice(k, 4, (n, 1), p=SHARES), [of_weights(SHARES)]),
    "choice without replacement": (
        of_each_key(lambda k: numbered(random.choice(k, 4, (2,), replace=False), 4)),
        [of_weights(1 - np.eye(4))],
    ),
    "choice by weight, without replacement": (
        of_each_key(lambda k: numbered(random.choice(k, 4, (2,), replace=False, p=SHARES), 4)),
        [PAIRS],
    ),
    "permutation": (of_each_key(lambda k: numbered(random.permutation(k, 3), 3)), [of_weights(1 - np.eye(3))]),
    "permutation, independent": (
        lambda k, n: numbered(random.permutation(k, np.tile(np.arange(3), (n, 1)), 1, independent=True), 3),
        [of_weights(1 - np.eye(3))],
    ),
}
NOT_SAMPLERS = {
    *("PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split", "wrap_key_data"),
}


def test_every_sampler_is_tested():
    tested = {name.split(",")[0].split(" ")[0] for name in (*CONTINUOUS, *DISCRETE)} - {"complex"}
    assert tested == {name for name in dir(random) if inspect.isfunction(getattr(random, name))} - NOT_SAMPLERS


def chi_square(sample, pmf):
    """The p-value of the counts of outcomes, with rare outcomes as one."""
    sample = sample.astype(int)
    outcomes = np.arange(sample.max() + 1000)  # those that are expected, too
    expected = pmf(outcomes) * len(sample)
    found = np.bincount(sample, minlength=len(outcomes))
    if found[expected == 0].any():
        return 0.0
    rare = expected < 5
    rest = len(sample) - expected[~rare].sum()
    found, expected = [np.append(x[~rare], last) for x, last in ((found, found[rare].sum()), (expected, rest))]
    if rest < 5:  # with the rarest of the others
        place = expected[:-1].argmin()
        found[place] += found[-1]
        expected[place] += rest
        found, expected = found[:-1], expected[:-1]
    return stats.chisquare(found, expected).pvalue


def kolmogorov_smirnov(sample, cdf):
    return stats.kstest(sample.astype("float64"), cdf).pvalue


def check(name, count, seed, jitted):
    draw, expected = (CONTINUOUS | DISCRETE)[name]
    p_value = kolmogorov_smirnov if name in CONTINUOUS else chi_square
    program = lambda key: draw(key, count)
    sample = np.asarray((tangrad.jit(program) if jitted else program)(random.key(seed)))
    assert sample.shape == (count, len(expected))
    for column, own in zip(sample.T, expected, strict=True):
        assert p_value(column, own) > UNLIKELY
    points = np.quantile(sample, [0.1, 0.4, 0.7]) if name in CONTINUOUS else np.arange(50)
    for column, other, own in zip(sample.T, expected[1:], expected):
        if np.abs(own(points) - other(points)).max() > 0.1:
            assert p_value(column, other) < IMPOSSIBLE


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_samples_on_numpy(name, jitted):
    with use_backend("numpy"):
        check(name, 3000, 11 + jitted, jitted)


# XLA compiles loops, matrices and sorts for longer than all that is left takes.
LONG_TO_COMPILE = """
    double_sided_maxwell gamma loggamma beta chisquare f t generalized_normal dirichlet ball multivariate_normal
    orthogonal poisson binomial multinomial wald
"""
QUICK = [name for name in (*CONTINUOUS, *DISCRETE) if name not in LONG_TO_COMPILE.split() and "," not in name]


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.sweep) for name in (*CONTINUOUS, *DISCRETE)],
)
def test_samples_on_xla(name):
    with use_backend("xla"):
        check(name, 3000, 13, True)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backend", ["numpy", "xla"])
@pytest.mark.parametrize("name", [*CONTINUOUS, *DISCRETE])
def test_many_samples(name, backend, seed):
    with use_backend(backend):
        check(name, 100_000, seed, False)
