"""Random numbers made of the kernel's bits: the same ones."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import random

PROGRAMS = {
    "bits": lambda key, shape: random.bits(key, shape),
    "bytes": lambda key, shape: random.bits(key, shape, "uint8"),
    "long": lambda key, shape: random.bits(key, shape, "uint64"),
    "uniform": lambda key, shape: random.uniform(key, shape, "float32", -1, 3),
    "double": lambda key, shape: random.uniform(key, shape, "float64"),
    "normal": lambda key, shape: random.normal(key, shape, "float32"),
    "integers": lambda key, shape: random.randint(key, shape, 0, 1000),
    "choices": lambda key, shape: random.categorical(key, np.zeros(3), shape=shape),
    "many keys": lambda key, shape: tangrad.vmap(lambda key: random.normal(key, shape[:1]))(random.split(key, 3)),
    "derivative": lambda key, shape: tangrad.grad(lambda x: np.sum(random.normal(key, shape) * x))(2.0),
}


@pytest.mark.parametrize("shape", [(4096,), (300, 331), (10,)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_those_of_before(backend, each_with_and_without, name, shape):
    seeds = [(numpy.uint32(seed),) for seed in (0, 2**31)]
    for make in (random.key, random.PRNGKey):
        draw = lambda seed, make=make: PROGRAMS[name](make(seed), shape)
        for ours, before in each_with_and_without(draw, *seeds):
            assert ours.dtype == before.dtype and ours.tobytes() == before.tobytes()


def test_without_a_partitionable_stream(backend, with_and_without):
    with tangrad.threefry_partitionable(False):
        ours, before = with_and_without(lambda seed: random.normal(random.key(seed), (5000,)), numpy.uint32(1))
    assert ours.tobytes() == before.tobytes()
