"""Samples that loops draw until they are accepted, and what is made of them: JAX's on XLA, close on NumPy."""

import decimal
import math

import numpy as np
import pytest

import tangrad
from tangrad import random
from tangrad._random.distributions.counts import CORRECTIONS
from tests.random.support import reference, same, settings, slow_but, using

SHAPES = np.array([0.3, 1.0, 3.0, 40.0], "float32")
COVARIANCE = np.array([[2.0, 0.3], [0.3, 1.0]], "float32")

CONTINUOUS = {
    "gamma": lambda r, k: r.gamma(k, SHAPES, (50, 4)),
    "gamma of one number": lambda r, k: r.gamma(k, 2.5),
    "loggamma": lambda r, k: r.loggamma(k, SHAPES, (50, 4)),
    "beta": lambda r, k: r.beta(k, SHAPES, 2.0, (50, 4)),
    "dirichlet": lambda r, k: r.dirichlet(k, SHAPES, (20,)),
    "chisquare": lambda r, k: r.chisquare(k, SHAPES, (50, 4)),
    "f": lambda r, k: r.f(k, SHAPES, SHAPES + 1),
    "t": lambda r, k: r.t(k, SHAPES, (50, 4)),
    "generalized_normal": lambda r, k: r.generalized_normal(k, np.float32(1.5), (100,)),
    "ball": lambda r, k: r.ball(k, 3, np.float32(1.5), (50,)),
    "multivariate_normal": lambda r, k: r.multivariate_normal(k, np.ones(2, "float32"), COVARIANCE, (50,)),
    "multivariate_normal, several": lambda r, k: r.multivariate_normal(
        k, np.ones((3, 1, 2), "float32"), np.stack([COVARIANCE, COVARIANCE * 2])
    ),
}
COUNTS = {
    "poisson": lambda r, k: r.poisson(k, np.array([0, 0.5, 3, 9.9, 10, 50], "float32"), (50, 6)),
    "poisson of an integer": lambda r, k: r.poisson(k, 7, (20,), "int16"),
    "binomial": lambda r, k: r.binomial(k, np.float32(20), np.array([0.1, 0.5, 0.9], "float32"), (50, 3)),
    "binomial, many trials": lambda r, k: r.binomial(k, np.float32(1000), np.array([0.3, 0.7], "float32"), (50, 2)),
    "binomial of no numbers": lambda r, k: r.binomial(
        k, np.array([np.nan, -1, np.inf, 5, 5, 5], "float32"), np.array([0.5, 0.5, 0.5, np.nan, 0, 1], "float32")
    ),
    "multinomial": lambda r, k: r.multinomial(k, np.float32(20), np.array([[0.2, 0.3, 0.5], [0.1, 0, 0.9]], "float32")),
    "choice by weight": lambda r, k: r.choice(k, 4, (200,), p=np.array([0.1, 0.2, 0.3, 0.4], "float32")),
}


@pytest.mark.parametrize("name", slow_but(("gamma", "multivariate_normal"), CONTINUOUS))
def test_continuous(name):
    jax = reference()
    expected = np.asarray(CONTINUOUS[name](jax.random, jax.random.key(5)))
    with using("xla"):
        np.testing.assert_array_max_ulp(np.asarray(CONTINUOUS[name](random, random.key(5))), expected, 2)
    with using("numpy"):
        found = CONTINUOUS[name](random, random.key(5))
        # A small parameter is an exponent that magnifies every rounding.
        np.testing.assert_allclose(found, expected, rtol=3e-5, atol=2e-6)
        jitted = tangrad.jit(lambda key: CONTINUOUS[name](random, key))(random.key(5))
        np.testing.assert_allclose(jitted, found, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", slow_but(("poisson",), COUNTS))
def test_counts(name):
    jax = reference()
    expected = np.asarray(COUNTS[name](jax.random, jax.random.key(5)))
    for backend in ("numpy", "xla"):
        with using(backend):
            found = np.asarray(COUNTS[name](random, random.key(5)))
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            np.testing.assert_array_equal(found, expected)


PARAMETRISED = {
    "gamma": lambda r, k, a: r.gamma(k, a, (4, 3)),
    "loggamma": lambda r, k, a: r.loggamma(k, a, (4, 3)),
    "beta": lambda r, k, a: r.beta(k, a, a * 2, (4, 3)),
    "dirichlet": lambda r, k, a: r.dirichlet(k, a, (4,)),
    "t": lambda r, k, a: r.t(k, a, (4, 3)),
    "ball": lambda r, k, a: r.ball(k, 3, a[0], (4,)),
    "poisson": lambda r, k, a: r.poisson(k, a * 5, (4, 3)) * a,
    "multivariate_normal": lambda r, k, a: r.multivariate_normal(k, a, np.eye(3, dtype="float32") * a),
}


@pytest.mark.parametrize("name", slow_but(("loggamma",), PARAMETRISED))
def test_under_transformations(name):
    """How samples move with their parameters; many keys, many parameters."""
    jax = reference()
    rows = np.array([[1.3, 0.7, 2.2], [2.6, 1.4, 4.4]], "float32")
    with settings.backend("numpy"):
        words = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(1), 2)))

    def program(api, keys):
        def draw(a, key):
            return PARAMETRISED[name](api.random, key, a)

        return (
            api.vmap(draw)(rows, keys),
            api.vmap(draw, (None, 0))(rows[0], keys),
            api.grad(lambda a: draw(a, keys[0]).sum())(rows[0]),
            api.vmap(api.grad(lambda a, key: (draw(a, key) ** 2).sum()))(rows, keys),
        )

    expected = jax.tree.leaves(jax.jit(lambda: program(jax, jax.random.wrap_key_data(words)))())
    with using("numpy"):
        run = tangrad.jit(lambda: program(tangrad, random.wrap_key_data(words)))
        for one, other in zip(tangrad.tree.leaves(run()), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    with using("numpy"):
        eager = program(tangrad, random.wrap_key_data(words))
        for one, other in zip(tangrad.tree.leaves(eager), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_moments():
    with using("numpy"):
        key = random.key(9)
        for sample, mean, variance in (
            (random.gamma(key, 3.0, (20_000,)), 3, 3),
            (random.gamma(key, 0.2, (20_000,)), 0.2, 0.2),
            (random.beta(key, 2.0, 3.0, (20_000,)), 0.4, 0.04),
            (random.poisson(key, 4.0, (20_000,)), 4, 4),
            (random.poisson(key, 40.0, (20_000,)), 40, 40),
            (random.binomial(key, 50.0, 0.3, (20_000,)), 15, 10.5),
        ):
            sample = np.asarray(sample, "float64")
            np.testing.assert_allclose(sample.mean(), mean, rtol=0.03)
            np.testing.assert_allclose(sample.var(), variance, rtol=0.07)
        points = np.asarray(random.ball(key, 3, shape=(5000,)))
        radius = np.sqrt((points**2).sum(-1))
        assert radius.max() <= 1
        np.testing.assert_allclose((radius**3).mean(), 0.5, atol=0.02)
        normal = np.asarray(random.multivariate_normal(key, np.ones(2, "float32"), COVARIANCE, (20_000,)))
        np.testing.assert_allclose(np.cov(normal.T), COVARIANCE, atol=0.06)


def test_infinitely_many_trials_that_cannot_vary():
    """No proposal would ever be accepted for these: they must not be waited for."""
    for backend in ("numpy", "xla"):
        with using(backend):
            found = random.binomial(random.key(0), np.float32(np.inf), np.array([0, 0.3, 1], "float32"))
            np.testing.assert_array_equal(found, np.full(3, np.inf, "float32"))


def test_corrections_of_stirlings_formula():
    with decimal.localcontext(decimal.Context(prec=40)):
        log_circle = (2 * decimal.Decimal("3.14159265358979323846264338327950288")).ln()
        for k, correction in enumerate(CORRECTIONS):
            stirling = (k + decimal.Decimal("0.5")) * decimal.Decimal(k + 1).ln() - (k + 1) + log_circle / 2
            assert correction == float(decimal.Decimal(math.factorial(k)).ln() - stirling)


def test_older_stream():
    jax = reference()
    for backend in ("numpy", "xla"):
        with using(backend, partitionable=False):
            expected = COUNTS["poisson"](jax.random, jax.random.key(2))
            same(COUNTS["poisson"](random, random.key(2)), expected)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda k: random.gamma(k, 1.0, dtype="int32"), ValueError, "float dtype"),
        (lambda k: random.gamma(k, SHAPES, (3,)), ValueError, "do not broadcast"),
        (lambda k: random.dirichlet(k, 1.0), ValueError, "dimension"),
        (lambda k: random.poisson(k, 1.0, dtype="float32"), ValueError, "integer dtype"),
        (lambda k: random.binomial(k, 3, 0.5, dtype="int32"), ValueError, "float dtype"),
        (lambda k: random.ball(k, 2.5), TypeError, "integer"),
        (lambda k: random.multivariate_normal(k, SHAPES, COVARIANCE), ValueError, "shape"),
        (lambda k: random.multivariate_normal(k, SHAPES[:2], COVARIANCE, method="lu"), ValueError, "method"),
    ],
)
def test_bad_arguments(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call(random.key(0))
