"""Samples are JAX's: uniforms, integers and orders bit for bit, all of them on XLA, and within 4 units in the last
place on NumPy.

Where a sample is a difference of larger numbers (Gumbel's, say, near 0), the units are those of 1.
"""

import numpy as np
import pytest

import tangrad
from tangrad import random
from tests.random.support import reference, same, settings, slow_but, units_apart, using

SHAPE = (1001,)
LOGITS = np.random.default_rng(0).normal(size=(5, 7)).astype("float32")
TABLE = np.arange(12.0, dtype="float32").reshape(4, 3)
WEIGHTS = np.array([0.1, 0.2, 0.3, 0.4], "float32")

# Programs of (random module, key).
EXACT = {
    "uniform": lambda r, k: r.uniform(k, SHAPE),
    "uniform, one number": lambda r, k: r.uniform(k),
    "uniform, none": lambda r, k: r.uniform(k, (3, 0)),
    "uniform between": lambda r, k: r.uniform(k, (20_001,), minval=-2.0, maxval=5.0),
    "uniform in a narrow range": lambda r, k: r.uniform(k, SHAPE, minval=3.3, maxval=3.9),
    "uniform between arrays": lambda r, k: r.uniform(k, (3, 4), None, np.arange(4.0, dtype="float32"), np.float32(9.3)),
    "uniform, nothing between": lambda r, k: r.uniform(k, (5,), minval=2.0, maxval=-1.0),
    "uniform bfloat16": lambda r, k: r.uniform(k, SHAPE, "bfloat16", -1, 3),
    "bernoulli": lambda r, k: r.bernoulli(k, 0.3, SHAPE),
    "bernoulli of an array": lambda r, k: r.bernoulli(k, WEIGHTS),
    "bernoulli, fine": lambda r, k: r.bernoulli(k, 0.3, SHAPE, "high"),
    "rademacher": lambda r, k: r.rademacher(k, SHAPE, "int8"),
    "randint": lambda r, k: r.randint(k, SHAPE, 0, 10),
    "randint, many": lambda r, k: r.randint(k, (67, 79), -3, 997),
    "randint, many of 8 bits": lambda r, k: r.randint(k, (5001,), 0, 256, "uint8"),
    "randint, wide": lambda r, k: r.randint(k, SHAPE, -100_000, 2**31 - 1),
    "randint uint8, all": lambda r, k: r.randint(k, SHAPE, 0, 256, "uint8"),
    "randint int16": lambda r, k: r.randint(k, SHAPE, -5, 5, "int16"),
    "randint uint32": lambda r, k: r.randint(k, SHAPE, 3, 2**31 - 1, "uint32"),
    "randint, nothing between": lambda r, k: r.randint(k, (5,), 7, 3),
    "randint between arrays": lambda r, k: r.randint(k, (2, 3), np.array([0, 5, 10]), np.array([[30], [20]])),
    "permutation of integers": lambda r, k: r.permutation(k, 100),
    "permutation, two rounds": lambda r, k: r.permutation(k, 2000),
    "permutation of rows": lambda r, k: r.permutation(k, TABLE),
    "permutation of columns": lambda r, k: r.permutation(k, TABLE, axis=1),
    "permutation, independent": lambda r, k: r.permutation(k, TABLE, axis=-1, independent=True),
    "permutation of nothing": lambda r, k: r.permutation(k, 0),
    "permutation of no rows": lambda r, k: r.permutation(k, np.zeros((0, 3), "float32")),
    "choice": lambda r, k: r.choice(k, 9, (5,)),
    "choice of one": lambda r, k: r.choice(k, 9),
    "choice without replacement": lambda r, k: r.choice(k, 9, (5,), replace=False),
    "choice by weight, no replacement": lambda r, k: r.choice(k, 4, (3,), replace=False, p=WEIGHTS),
    "choice of columns": lambda r, k: r.choice(k, TABLE, (5, 2), axis=1),
    "choice of some columns": lambda r, k: r.choice(k, TABLE, (2,), False, axis=1),
    "choice of rows by weight": lambda r, k: r.choice(k, TABLE, (2, 2), False, p=WEIGHTS),
    "choice of none": lambda r, k: r.choice(k, TABLE, (0, 3)),
    "categorical": lambda r, k: r.categorical(k, LOGITS),
    "categorical along an axis": lambda r, k: r.categorical(k, LOGITS, axis=0),
    "categorical of a shape": lambda r, k: r.categorical(k, LOGITS, shape=(11, 5)),
    "categorical, no replacement": lambda r, k: r.categorical(k, LOGITS, shape=(3, 5), replace=False),
    "geometric": lambda r, k: r.geometric(k, 0.2, SHAPE),
}
CLOSE = {
    "normal": lambda r, k: r.normal(k, SHAPE),
    "normal, one number": lambda r, k: r.normal(k),
    "normal, many": lambda r, k: r.normal(k, (40_001,)),
    "normal float16": lambda r, k: r.normal(k, SHAPE, "float16"),
    "normal bfloat16": lambda r, k: r.normal(k, SHAPE, "bfloat16"),
    "normal complex64": lambda r, k: r.normal(k, SHAPE, "complex64"),
    "truncated": lambda r, k: r.truncated_normal(k, -2.0, 2.0, SHAPE),
    "lognormal": lambda r, k: r.lognormal(k, 0.5, SHAPE),
    "exponential": lambda r, k: r.exponential(k, SHAPE),
    "laplace": lambda r, k: r.laplace(k, SHAPE),
    "cauchy": lambda r, k: r.cauchy(k, SHAPE),
    "pareto": lambda r, k: r.pareto(k, 2.5, SHAPE),
    "rayleigh": lambda r, k: r.rayleigh(k, np.float32(2.5), SHAPE),
    "weibull": lambda r, k: r.weibull_min(k, 1.5, 2.5, SHAPE),
    "triangular": lambda r, k: r.triangular(k, 0.0, 0.7, 2.0, SHAPE),
}
DIFFERENCES = {
    "gumbel": lambda r, k: r.gumbel(k, SHAPE),
    "gumbel, high": lambda r, k: r.gumbel(k, SHAPE, mode="high"),
    "gumbel, highest": lambda r, k: r.gumbel(k, SHAPE, mode="highest"),
    "truncated by arrays": lambda r, k: r.truncated_normal(k, -WEIGHTS, WEIGHTS[:, None] * 3, (3, 4, 4)),
    "logistic": lambda r, k: r.logistic(k, SHAPE),
}


def check(program, allowed, floor=0.0, x64=False, seed=42, allowed_on_xla=0):
    """JAX's numbers on XLA; at most `allowed` units apart on NumPy, where jit makes no difference."""
    jax = reference()
    with using("xla", x64):
        expected = np.asarray(program(jax.random, jax.random.key(seed)))
        assert units_apart(program(random, random.key(seed)), expected, floor) <= allowed_on_xla
    with using("numpy", x64):
        eager = np.asarray(program(random, random.key(seed)))
        assert units_apart(eager, expected, floor) <= allowed
        same(tangrad.jit(lambda key: program(random, key))(random.key(seed)), eager, "NumPy, jitted")


@pytest.mark.parametrize("name", EXACT)
def test_exact(name):
    check(EXACT[name], 0)


@pytest.mark.parametrize("name", CLOSE)
def test_close(name):
    check(CLOSE[name], 4)


@pytest.mark.parametrize("name", DIFFERENCES)
def test_differences(name):
    check(DIFFERENCES[name], 8, floor=1.0)


def test_uniform_in_half_precision():
    """XLA rounds `low + x * width` once where the processor computes with float16, and else twice, as NumPy does."""
    check(lambda r, k: r.uniform(k, SHAPE, "float16", -0.1, 0.7), 2, floor=0.1)


def test_maxwell():
    """In the loop of a sum XLA rounds as it sees fit."""
    check(lambda r, k: r.maxwell(k, SHAPE), 4, allowed_on_xla=2)
    check(lambda r, k: r.double_sided_maxwell(k, WEIGHTS, 2.0, (50,)), 8, floor=1.0, allowed_on_xla=4)


def test_wald():
    """A difference of numbers that are much larger."""
    check(lambda r, k: r.wald(k, np.float32(1.5), SHAPE), 8, floor=32.0)


def test_jitted_on_xla():
    """Parameters are constants there, which XLA folds."""
    with using("xla"):
        for name in ("uniform between", "randint", "permutation of integers", "choice of columns"):
            expected = EXACT[name](random, random.key(1))
            same(tangrad.jit(lambda key, draw=EXACT[name]: draw(random, key))(random.key(1)), expected, name)
        jitted = tangrad.jit(lambda key: random.normal(key, SHAPE))(random.key(1))
        same(jitted, random.normal(random.key(1), SHAPE))


@pytest.mark.parametrize(
    "program, allowed",
    [
        (lambda r, k: r.uniform(k, SHAPE, minval=-2.0, maxval=5.3), 0),
        (lambda r, k: r.uniform(k, SHAPE, "float32", 0.1, 0.3), 0),
        (lambda r, k: r.randint(k, SHAPE, -(2**62), 2**63 - 1), 0),
        (lambda r, k: r.randint(k, SHAPE, -5, 2**31, "int32"), 0),
        (lambda r, k: r.permutation(k, 50), 0),
        (lambda r, k: r.normal(k, SHAPE, "float32"), 4),
        # XLA's inverse of erf loses digits in double precision where NumPy's does not.
        (lambda r, k: r.normal(k, SHAPE), 2000),
        (lambda r, k: r.normal(k, SHAPE, "complex128"), 2000),
    ],
)
def test_wide(program, allowed):
    check(program, allowed, x64=True)


def test_signs_follow_the_width_at_the_time_of_the_call():
    """A sign is decided by a number of the default width, whatever the dtype, and whatever was drawn before."""
    for program in (
        lambda r, k: r.double_sided_maxwell(k, 0.5, 2.0, (50,), "float32"),
        lambda r, k: r.generalized_normal(k, 1.5, (50,), "float32"),
        lambda r, k: r.ball(k, 3, shape=(20,), dtype="float32"),
    ):
        for x64 in (False, True, False):
            check(program, 200, floor=1.0, x64=x64, allowed_on_xla=4)


def test_older_stream():
    jax = reference()
    for backend in ("numpy", "xla"):
        with using(backend, partitionable=False):
            for program in (EXACT["uniform between"], EXACT["randint"], EXACT["permutation of integers"]):
                same(program(random, random.key(3)), program(jax.random, jax.random.key(3)))
            assert units_apart(random.normal(random.key(3), (7,)), jax.random.normal(jax.random.key(3), (7,))) <= 4


def test_legacy_keys_draw_the_same():
    with using("numpy"):
        for name in ("uniform", "randint", "permutation of integers", "choice", "categorical"):
            same(EXACT[name](random, random.PRNGKey(4)), EXACT[name](random, random.key(4)))


# --- parameters: derivatives, mapping ------------------------------------------------------------------------------

POSITIVE = np.array([1.3, 0.7, 2.2], "float32")
PARAMETRISED = {
    "uniform": lambda r, k, a: r.uniform(k, (4, 3), minval=a, maxval=a * a + 2),
    "truncated_normal": lambda r, k, a: r.truncated_normal(k, -a, a, (4, 3)),
    "lognormal": lambda r, k, a: r.lognormal(k, a, (4, 3)),
    "double_sided_maxwell": lambda r, k, a: r.double_sided_maxwell(k, a, a * 2, (4,)),
    "pareto": lambda r, k, a: r.pareto(k, a, (4, 3)),
    "rayleigh": lambda r, k, a: r.rayleigh(k, a, (4, 3)),
    "weibull_min": lambda r, k, a: r.weibull_min(k, a, a * 2, (4, 3)),
    "wald": lambda r, k, a: r.wald(k, a, (4, 3)),
    "triangular": lambda r, k, a: r.triangular(k, 0.0, a, 3 * a, (4, 3)),
    "normal": lambda r, k, a: r.normal(k, (3,)) * a,
    "gumbel": lambda r, k, a: r.gumbel(k, (3,)) * a,
    "randint": lambda r, k, a: r.randint(k, (4, 3), 0, 10) * a,
    "bernoulli": lambda r, k, a: r.bernoulli(k, a / 4, (4, 3)) * a,
    "permutation": lambda r, k, a: r.permutation(k, a) * a,
    "permutation of rows": lambda r, k, a: r.permutation(k, a * TABLE, axis=1, independent=True) * a,
    "choice": lambda r, k, a: r.choice(k, a, (4,)) * 2,
    "categorical": lambda r, k, a: r.categorical(k, a, shape=(5,)) * a[0],
}

USUAL = ("uniform", "lognormal", "gumbel", "randint", "permutation", "choice")
ON_XLA_TOO = ("uniform", "truncated_normal", "permutation")


@pytest.mark.parametrize("name", slow_but(USUAL, PARAMETRISED))
def test_under_transformations(name):
    jax = reference()
    draw = PARAMETRISED[name]
    rows = np.stack([POSITIVE, POSITIVE * 2, POSITIVE / 2])

    def program(api, keys):
        def loss(a, key):
            return draw(api.random, key, a).sum()

        mapped = api.vmap(lambda a, key: draw(api.random, key, a))
        return (
            mapped(rows, keys),
            api.vmap(api.value_and_grad(loss))(rows, keys),
            api.vmap(api.grad(loss), (0, None))(rows, keys[1]),
            api.jvp(lambda a: draw(api.random, keys[0], a), (POSITIVE,), (rows[1],))[1],
        )

    with settings.backend("numpy"):
        words = np.asarray(jax.random.key_data(jax.random.split(jax.random.key(1), 3)))
    expected = jax.tree.leaves(jax.jit(lambda: program(jax, jax.random.wrap_key_data(words)))())
    # XLA sees the same equations; a few of them are enough for it.
    for backend in ("numpy", "xla") if name in ON_XLA_TOO else ("numpy",):
        with using(backend):
            run = tangrad.jit(lambda: program(tangrad, random.wrap_key_data(words)))
            found = [tangrad.tree.leaves(run())]
            if backend == "numpy":
                found.append(tangrad.tree.leaves(program(tangrad, random.wrap_key_data(words))))
            for leaves in found:
                for one, other in zip(leaves, expected, strict=True):
                    assert np.asarray(one).dtype == other.dtype
                    np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_one_equation():
    """A distribution is one step of a program."""
    with using("numpy"):
        jaxpr = tangrad.make_jaxpr(lambda key: random.normal(key, (3,)))(random.key(0))
    assert [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns] == ["random_normal"]


# --- what comes of it ----------------------------------------------------------------------------------------------


def test_moments():
    """Means and variances of large samples, in case both sides should be wrong."""
    expected = {
        "uniform": (random.uniform, 1 / 2, 1 / 12),
        "normal": (random.normal, 0, 1),
        "exponential": (random.exponential, 1, 1),
        "gumbel": (random.gumbel, 0.5772, np.pi**2 / 6),
        "laplace": (random.laplace, 0, 2),
        "logistic": (random.logistic, 0, np.pi**2 / 3),
        "rademacher": (random.rademacher, 0, 1),
        "maxwell": (random.maxwell, np.sqrt(8 / np.pi), 3 - 8 / np.pi),
    }
    with using("numpy"):
        for name, (draw, mean, variance) in expected.items():
            sample = np.asarray(draw(random.key(9), (100_000,)))
            np.testing.assert_allclose(sample.mean(), mean, atol=0.02, err_msg=name)
            np.testing.assert_allclose(sample.var(), variance, rtol=0.03, err_msg=name)


def test_bounds_are_kept():
    with using("numpy"):
        sample = np.asarray(random.truncated_normal(random.key(0), 1.0, 1.0001, (1000,)))
        assert (sample > 1).all() and (sample < np.float32(1.0001)).all()
        sample = np.asarray(random.randint(random.key(0), (1000,), 3, 5))
        assert set(sample.tolist()) == {3, 4}


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda k: random.uniform(k, (2,), "int32"), ValueError, "float dtype"),
        (lambda k: random.uniform(k, (2,), minval=np.zeros(3, "float32")), ValueError, "do not broadcast"),
        (lambda k: random.uniform(k, (2,), minval="low"), TypeError, "minval"),
        (lambda k: random.uniform(k, (-2,)), ValueError, "negative"),
        (lambda k: random.uniform(k, out_sharding="x"), TypeError, "out_sharding"),
        (lambda k: random.normal(k, (2,), "int32"), ValueError, "float or complex"),
        (lambda k: random.randint(k, (2,), 0, 3, "float32"), TypeError, "integer dtype"),
        (lambda k: random.bernoulli(k, 1), TypeError, "float dtype"),
        (lambda k: random.bernoulli(k, np.ones(3, "float32"), (2,)), ValueError, "do not broadcast"),
        (lambda k: random.bernoulli(k, mode="medium"), ValueError, "medium"),
        (lambda k: random.gumbel(k, mode="medium"), ValueError, "medium"),
        (lambda k: random.permutation(k, 3.5), TypeError, "integer"),
        (lambda k: random.permutation(k, TABLE, axis=2), ValueError, "out of bounds"),
        (lambda k: tangrad.jit(lambda n: random.permutation(k, n))(3), TypeError, "traced"),
        (lambda k: random.choice(k, 5, 3), TypeError, "sequence"),
        (lambda k: random.choice(k, 0, (3,)), ValueError, "nothing to choose"),
        (lambda k: random.choice(k, 3, (4,), replace=False), ValueError, "4 of 3"),
        (lambda k: random.choice(k, 3, (4,), p=WEIGHTS), ValueError, "3 elements"),
        (lambda k: random.categorical(k, LOGITS, shape=(4,)), ValueError, "do not broadcast"),
        (lambda k: random.categorical(k, LOGITS, shape=(9, 5), replace=False), ValueError, "9 of 7"),
        (lambda k: random.pareto(k, np.complex64(1)), ValueError, "without loss"),
        (lambda k: random.geometric(k, 0.5, dtype="float32"), ValueError, "integer dtype"),
        (lambda k: random.ball(k, 2.0), TypeError, "d must be an integer, got 2.0"),
        (lambda k: random.multinomial(k, 5, np.float32(0.5)), ValueError, "p must have a dimension at least"),
    ],
)
def test_bad_arguments(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call(random.key(0))


@pytest.mark.parametrize(("n", "m", "dtype"), [(3, None, "float32"), (2, 4, "float32"), (4, 2, "complex64")])
def test_orthogonal_matrices(n, m, dtype):
    jax = pytest.importorskip("jax")
    expected = jax.random.orthogonal(jax.random.key(5), n, (6,), dtype, m)
    for backend in ("numpy", "xla"):
        with tangrad.use_backend(backend):
            found = np.asarray(tangrad.random.orthogonal(tangrad.random.key(5), n, (6,), dtype, m))
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        tall = found if found.shape[1] >= found.shape[2] else found.swapaxes(1, 2)
        product = tall.conj().swapaxes(1, 2) @ tall
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(tall.shape[2]), product.shape), atol=1e-5)


def test_a_shape_of_zero_is_infinite_or_nothing():
    """As of an array: 1 / 0 is infinite."""
    with using("numpy"):
        found = np.asarray(random.weibull_min(random.key(0), 1.0, 0.0, (8,)))
        np.testing.assert_array_equal(found, random.weibull_min(random.key(0), 1.0, np.float32(0.0), (8,)))
        assert set(found.tolist()) <= {0.0, np.inf}
