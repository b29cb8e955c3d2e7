"""Samples along named axes: of one key, and of each example its own."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax, random, xmap
from tangrad.random import NamedShape

KEY = random.key(7)
SAMPLERS = [
    random.bits,
    random.uniform,
    random.normal,
    random.exponential,
    random.gumbel,
    random.laplace,
    random.logistic,
    random.cauchy,
    lambda key, shape: random.bernoulli(key, 0.5, shape),
    lambda key, shape: random.randint(key, shape, 0, 1000),
    lambda key, shape: random.truncated_normal(key, -1.0, 1.0, shape=shape),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_each_example_has_a_sample_of_its_own(sampler):
    mapped = tangrad.vmap(lambda _: sampler(KEY, NamedShape(5, i=3)), axis_name="i")(jnp.zeros(3))
    folded = [sampler(random.fold_in(KEY, index), (5,)) for index in range(3)]
    assert np.asarray(mapped).tolist() == [np.asarray(one).tolist() for one in folded]


def test_named_axes_are_those_that_are_named():
    """Along "j" examples share samples, along "i" they do not; where axes are computed makes no difference."""

    def noisy(x):
        return x + random.normal(KEY, NamedShape(2, i=4))

    mapped = xmap(noisy, in_axes=["j", "i", ...], out_axes=["j", "i", ...])(jnp.zeros((3, 4, 2)))
    assert np.array_equal(mapped[0], mapped[1]) and len(np.unique(mapped[0])) == 8
    again = tangrad.vmap(tangrad.vmap(noisy, axis_name="i"), axis_name="j")(jnp.zeros((3, 4, 2)))
    assert np.array_equal(mapped, again)
    renamed = xmap(lambda x: lax.pmean(noisy(x), "i"), in_axes={0: "i"}, out_axes={})(jnp.zeros((4, 2)))
    np.testing.assert_allclose(renamed, np.mean(mapped[0], 0), rtol=1e-6)


def test_shapes_are_tuples():
    shape = NamedShape(2, 3, i=4)
    assert tuple(shape) == (2, 3) and shape.named == {"i": 4} and repr(shape) == "NamedShape(2, 3, i=4)"
    assert shape == NamedShape(2, 3, i=4) and shape != NamedShape(2, 3) and NamedShape(2) == (2,)
    assert hash(shape) == hash(NamedShape(2, 3, i=4)) and hash(NamedShape(2)) == hash((2,))
    assert np.array_equal(random.uniform(KEY, NamedShape(2)), random.uniform(KEY, (2,)))


def test_axes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"NamedShape\(i=4\) says that axis 'i' has size 4, and it has size 3"):
        tangrad.vmap(lambda _: random.normal(KEY, NamedShape(i=4)), axis_name="i")(jnp.zeros(3))
    with pytest.raises(NameError, match=r"random\.normal: no mapped axis is named 'i'"):
        random.normal(KEY, NamedShape(i=4))
