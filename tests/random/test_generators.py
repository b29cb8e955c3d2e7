"""XLA's generators of bits, and the keys that draw by them: JAX's numbers on both backends."""

import numpy as np
import pytest

import tangrad
from tangrad import lax, random
from tests.random.support import BACKENDS, reference, same, using

ON_BOTH = pytest.mark.parametrize("backend", BACKENDS)
IMPLEMENTATIONS = pytest.mark.parametrize("impl", ["rbg", "unsafe_rbg"])
# The counter is about to carry into its upper half, and beyond.
STATE = np.array([1, 2, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
# Algorithm -> shapes: where words are paired, with dimensions of even size first and last, and of odd sizes alone.
SHAPES = {0: [(3, 5)], 1: [(), (3,), (2, 5), (3, 2), (3, 5), (5, 3)], 2: [(), (3, 2)]}


@ON_BOTH
@pytest.mark.parametrize("algorithm", SHAPES, ids=["default", "threefry", "philox"])
def test_bits_and_states(backend, algorithm):
    jax = reference()
    with using(backend):
        drawn = [(shape, "uint32") for shape in SHAPES[algorithm]] + [((4,), "uint8"), ((5,), "uint16")][algorithm:]
        for shape, dtype in drawn:
            theirs = jax.lax.rng_bit_generator(STATE, shape, dtype, jax.lax.RandomAlgorithm(algorithm))
            for one, other in zip(lax.rng_bit_generator(STATE, shape, dtype, algorithm), theirs):
                same(one, other)
        _, none = lax.rng_bit_generator(STATE, (0, 3), algorithm=algorithm)
        assert none.shape == (0, 3)


@ON_BOTH
@pytest.mark.parametrize("algorithm", [0, 1], ids=["default", "threefry"])
def test_wide_bits(backend, algorithm):
    jax = reference()
    with using(backend, x64=True):
        wide = STATE.view(np.uint64)
        for state in (STATE, wide):
            theirs = jax.lax.rng_bit_generator(state, (3, 5), "uint64", jax.lax.RandomAlgorithm(algorithm))
            for one, other in zip(lax.rng_bit_generator(state, (3, 5), "uint64", algorithm), theirs):
                same(one, other)


@ON_BOTH
def test_mapped_states_draw_each_for_itself(backend):
    states = np.stack([STATE, STATE + np.uint32(5)])
    with using(backend):
        found = tangrad.jit(tangrad.vmap(lambda state: lax.rng_bit_generator(state, (3, 5))))(states)
        for row, state in enumerate(states):
            for one, other in zip(lax.rng_bit_generator(state, (3, 5)), found):
                same(one, other[row])


@pytest.mark.parametrize(
    "state, dtype, error",
    [
        (STATE[:3], "uint32", TypeError),
        (STATE.astype(np.int32), "uint32", TypeError),
        (STATE, "int32", TypeError),
        (STATE, "float32", TypeError),
    ],
)
def test_bad_input(state, dtype, error):
    with pytest.raises(error, match="rng_bit_generator"):
        lax.rng_bit_generator(state, (3,), dtype)
    with pytest.raises(ValueError, match="7"):
        lax.rng_bit_generator(STATE, (3,), algorithm=7)


# --- keys ----------------------------------------------------------------------------------------------------------


@ON_BOTH
@IMPLEMENTATIONS
def test_keys(backend, impl):
    jax = reference()
    with using(backend):
        for seed in (0, 7, -1):
            key, theirs = random.key(seed, impl=impl), jax.random.key(seed, impl=impl)
            assert str(key.dtype) == str(theirs.dtype) and random.key_impl(key) == impl
            same(random.key_data(key), jax.random.key_data(theirs))
            same(random.key_data(random.split(key, (2, 3))), jax.random.key_data(jax.random.split(theirs, (2, 3))))
            same(random.key_data(random.fold_in(key, 5)), jax.random.key_data(jax.random.fold_in(theirs, 5)))
        same(random.PRNGKey(3, impl=impl), jax.random.PRNGKey(3, impl=impl))
        same(random.key_data(random.wrap_key_data(STATE, impl=impl)), STATE)


@ON_BOTH
@IMPLEMENTATIONS
def test_draws(backend, impl):
    """Both draw alike; what is made of bits is the same program for every generator."""
    jax = reference()
    with using(backend):
        key, theirs = random.key(7, impl=impl), jax.random.key(7, impl=impl)
        for dtype in ("uint8", "uint32")[impl == "rbg" :]:
            same(random.bits(key, (3, 5), dtype), jax.random.bits(theirs, (3, 5), dtype))
        np.testing.assert_allclose(random.normal(key, (4,)), jax.random.normal(theirs, (4,)), rtol=1e-6)


@ON_BOTH
@IMPLEMENTATIONS
def test_arrays_of_keys_draw_each_for_itself(backend, impl):
    """In JAX all of a mapped array of such keys draw from the first one."""
    with using(backend):
        keys = random.split(random.key(7, impl=impl), 3)
        drawn = tangrad.vmap(lambda key: random.bits(key, (2, 3)))(keys)
        folded = tangrad.vmap(random.fold_in, (0, 0))(keys, np.arange(3))
        for row in range(3):
            same(drawn[row], random.bits(keys[row], (2, 3)))
            same(random.key_data(folded[row]), random.key_data(random.fold_in(keys[row], row)))


def test_the_generator_of_keys_is_a_setting():
    with tangrad.default_prng_impl("rbg"):
        assert random.key(0).dtype == random.key_dtype("rbg")
        assert random.split(random.PRNGKey(0)).shape == (2, 4)
    assert random.key(0).dtype == random.key_dtype("threefry2x32")
    with pytest.raises(ValueError, match="there are: 'threefry2x32', 'rbg', 'unsafe_rbg'"):
        random.key(0, impl="lcg")


# --- vectors -------------------------------------------------------------------------------------------------------


@ON_BOTH
@pytest.mark.parametrize("method", ["cholesky", "svd", "eigh"])
def test_normal_vectors_by_each_method(backend, method):
    jax = reference()
    mean = np.array([1.0, 2.0, 3.0], np.float32)
    root = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 3.0]], np.float32)
    cov = root @ root.T
    with using(backend):
        found = random.multivariate_normal(random.key(0), mean, cov, (2,), method=method)
        theirs = jax.random.multivariate_normal(jax.random.key(0), mean, cov, (2,), method=method)
        np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5)
        if backend == "xla":
            return
        draw = lambda r, c: r.multivariate_normal(r.key(0), mean, c, (2,), method=method).sum()
        gradient = tangrad.grad(lambda c: draw(random, c))(cov)
        np.testing.assert_allclose(gradient, jax.grad(lambda c: draw(jax.random, c))(cov), rtol=1e-3, atol=1e-4)


def test_semidefinite_covariances_have_two_methods():
    flat = np.ones((2, 2), np.float32)
    for method in ("svd", "eigh"):
        drawn = random.multivariate_normal(random.key(0), np.zeros(2, np.float32), flat, (5,), method=method)
        np.testing.assert_allclose(drawn[:, 0], drawn[:, 1], rtol=1e-2, atol=1e-3)
    with pytest.raises(ValueError, match="'cholesky', 'svd' or 'eigh'"):
        random.multivariate_normal(random.key(0), np.zeros(2), flat, method="lu")
