"""`nn.one_hot` along a mapped axis, with JAX's results."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn


def along(x, count, **options):
    """The vectors, of which each example of the axis "i" makes its elements."""
    return tangrad.vmap(lambda _: nn.one_hot(x, count, axis="i", **options), axis_name="i")(np.zeros(4))


def test_vectors_along_a_mapped_axis():
    x = np.array([3, 0, 7, -1])
    out = along(x, 4)
    assert out.dtype == np.float32
    numpy.testing.assert_array_equal(out, nn.one_hot(x, 4, axis=0))
    assert along(x, 4, dtype="int8").dtype == np.int8
    total = tangrad.vmap(lambda _: lax.psum(nn.one_hot(x, 4, axis="i"), "i"), axis_name="i")(np.zeros(4))
    assert total[0].tolist() == [1, 1, 0, 0]
    jax = pytest.importorskip("jax")
    numbers = jax.numpy.asarray(numpy.asarray(x))
    theirs = jax.vmap(lambda _: jax.nn.one_hot(numbers, 4, axis="i"), axis_name="i")(jax.numpy.zeros(4))
    numpy.testing.assert_array_equal(out, theirs)


def test_what_it_refuses():
    with pytest.raises(ValueError, match="the size of the axis 'i', 4, got 3"):
        along(np.arange(3), 3)
    with pytest.raises(NameError, match="'j'"):
        nn.one_hot(np.arange(3), 3, axis="j")
