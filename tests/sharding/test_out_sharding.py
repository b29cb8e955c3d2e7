"""`out_sharding` of functions that make arrays, given as the sharding of a type."""

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_the_sharding_of_a_plain_type_constrains_nothing(backend):
    with tangrad.use_backend(backend):
        x, key = np.ones((2, 3)), tangrad.random.key(0)

        def f(x):
            plain = tangrad.typeof(x).sharding
            mask = tangrad.random.bernoulli(key, 0.5, x.shape, out_sharding=plain)
            return np.where(mask, np.zeros(x.shape, out_sharding=plain), np.reshape(x, x.shape, out_sharding=plain))

        assert f(x).tolist() == tangrad.jit(f)(x).tolist()
        with pytest.raises(ValueError, match="empty mesh"):
            lax.with_sharding_constraint(x, tangrad.typeof(x).sharding)
