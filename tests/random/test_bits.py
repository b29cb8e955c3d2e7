"""Keys and bits: those of JAX, bit for bit, on both backends and in both streams."""

import numpy as np
import pytest

import tangrad
from tangrad import random
from tests.random.support import BACKENDS, reference, same, using

STREAMS = pytest.mark.parametrize("partitionable", [True, False], ids=["by number", "of a range"])
ON_BOTH = pytest.mark.parametrize("backend", BACKENDS)
# 160 is where NumPy's lowering changes its method; an odd number where the older stream fills up its range.
SHAPES = [(), (1,), (2, 3), (160,), (161,), (0,), (3, 0, 2)]


@ON_BOTH
@STREAMS
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_bits(backend, partitionable, dtype):
    jax = reference()
    with using(backend, partitionable=partitionable):
        for seed, shape in zip((0, 7, -1, 2**31 - 1, 5, 6, 8), SHAPES):
            same(random.bits(random.key(seed), shape, dtype), jax.random.bits(jax.random.key(seed), shape, dtype))


@ON_BOTH
@STREAMS
def test_wide_bits(backend, partitionable):
    jax = reference()
    with using(backend, x64=True, partitionable=partitionable):
        for seed in (3, 2**40 + 5, -(2**50)):
            key, theirs = random.key(seed), jax.random.key(seed)
            same(key, theirs)
            same(random.bits(key, (3, 5), "uint64"), jax.random.bits(theirs, (3, 5), "uint64"))
            same(random.bits(key, (5,)), jax.random.bits(theirs, (5,)))


@ON_BOTH
@STREAMS
def test_many_bits(backend, partitionable):
    """More than one block of NumPy's lowering."""
    jax = reference()
    with using(backend, partitionable=partitionable):
        same(random.bits(random.key(3), (40_001,)), jax.random.bits(jax.random.key(3), (40_001,)))


@ON_BOTH
@STREAMS
def test_split_and_fold(backend, partitionable):
    jax = reference()
    with using(backend, partitionable=partitionable):
        ours, theirs = random.key(11), jax.random.key(11)
        for count in (2, 1, 0, 5, 200, (2, 3)):
            same(random.split(ours, count), jax.random.split(theirs, count))
        for number in (0, 1, 2**32 - 1):
            same(random.fold_in(ours, number), jax.random.fold_in(theirs, np.uint32(number)))
        same(random.fold_in(ours, np.int32(-3)), jax.random.fold_in(theirs, np.int32(-3)))


@ON_BOTH
def test_legacy_keys(backend):
    jax = reference()
    with using(backend):
        ours, theirs = random.PRNGKey(5), jax.random.PRNGKey(5)
        same(ours, theirs)
        same(random.split(ours, 3), jax.random.split(theirs, 3))
        same(random.fold_in(ours, 3), jax.random.fold_in(theirs, 3))
        same(random.bits(ours, (4,)), jax.random.bits(theirs, (4,)))
        same(random.key_data(ours), theirs)
        same(random.wrap_key_data(ours), jax.random.key(5))
        assert random.key_impl(ours) == "threefry2x32"


@ON_BOTH
def test_traced_seeds_and_numbers(backend):
    jax = reference()

    def program(api):
        def run(seed, number):
            key = api.random.key(seed)
            return api.random.key_data(api.random.fold_in(key, number)), api.random.bits(key, (3,))

        return run

    seeds, numbers = np.arange(-2, 3, dtype="int32"), np.arange(5, dtype="uint32")
    with using(backend):
        expected = jax.jit(jax.vmap(program(jax)))(seeds, numbers)
        for found in (tangrad.vmap(program(tangrad)), tangrad.jit(tangrad.vmap(program(tangrad)))):
            for one, other in zip(found(seeds, numbers), expected):
                same(one, other)


@ON_BOTH
@STREAMS
def test_mapped_over_keys(backend, partitionable):
    jax = reference()

    def program(api):
        def run(key):
            first, second = api.random.split(key)
            return api.random.bits(first, (3,)), api.random.bits(second, (5,), "uint8"), api.random.key_data(second)

        return run

    with using(backend, partitionable=partitionable):
        theirs = jax.random.split(jax.random.key(2), (2, 3))
        ours = random.wrap_key_data(np.asarray(jax.random.key_data(theirs)))
        expected = jax.vmap(jax.vmap(program(jax)), 1, 1)(theirs)
        for one, other in zip(tangrad.vmap(tangrad.vmap(program(tangrad)), 1, 1)(ours), expected):
            same(one, other)


def test_the_two_streams_differ():
    with using("numpy"):
        newer = np.asarray(random.bits(random.key(0), (4,)))
    with using("numpy", partitionable=False):
        assert (np.asarray(random.bits(random.key(0), (4,))) != newer).any()


def test_settings_of_the_stream_recompile():
    drawn = []
    program = tangrad.jit(lambda key: random.bits(key, (4,)))
    for partitionable in (True, False, True):
        with using("numpy", partitionable=partitionable):
            drawn.append(np.asarray(program(random.key(0))).tolist())
    assert drawn[0] == drawn[2] != drawn[1]


@ON_BOTH
def test_a_number_as_shape(backend):
    jax = reference()
    with using(backend):
        for program in (lambda r, k: r.bits(k, 3), lambda r, k: r.gamma(k, 1.0, 3), lambda r, k: r.randint(k, 3, 0, 9)):
            assert program(random, random.key(0)).shape == program(jax.random, jax.random.key(0)).shape == (3,)


@ON_BOTH
def test_numbers_of_other_kinds(backend):
    jax = reference()
    with using(backend):
        for seed in (True, np.uint64(2**64 - 1), np.uint64(1 << 63), np.int8(-3), np.uint32(2**32 - 1)):
            same(random.PRNGKey(seed), jax.random.PRNGKey(seed), f"a seed {seed!r}")
        for number in (True, 0, 2**32 - 1, np.int64(-5), np.uint8(200)):
            expected = jax.random.fold_in(jax.random.key(1), number)
            same(random.fold_in(random.key(1), number), expected, f"a number {number!r}")


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: random.key(0.5), TypeError, "integer seed"),
        (lambda: random.key(np.arange(2)), ValueError, "vmap"),
        (lambda: random.key(1 << 70), OverflowError, "64 bits"),
        (lambda: random.key(0, impl="mersenne"), ValueError, "mersenne"),
        (lambda: random.split(random.split(random.key(0))), ValueError, "one key"),
        (lambda: random.split(3), TypeError, "random keys"),
        (lambda: random.split(np.zeros(3, "uint32")), TypeError, "random keys"),
        (lambda: random.bits(random.key(0), (2,), "int32"), ValueError, "unsigned"),
        (lambda: random.bits(random.key(0), (2.5,)), TypeError, "integers"),
        (lambda: random.normal(random.key(0), 2.5), TypeError, "sequence of integers"),
        (lambda: random.fold_in(random.key(0), np.arange(2)), TypeError, "one number"),
        (lambda: random.fold_in(random.key(0), -1), OverflowError, "2\\*\\*32"),
        (lambda: random.fold_in(random.key(0), 1 << 32), OverflowError, "2\\*\\*32"),
        (lambda: random.wrap_key_data(np.zeros(3, "uint32")), TypeError, "key data"),
        (lambda: random.wrap_key_data(np.zeros(2, "int32")), TypeError, "uint32"),
        (lambda: random.normal(random.split(random.key(0))), ValueError, "one key"),
    ],
)
def test_bad_arguments(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call()
