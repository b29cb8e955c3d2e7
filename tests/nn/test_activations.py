"""Activations: values, derivatives (at kinks and far out too), dtypes, beside JAX."""

import numpy as np
import pytest

import tangrad
from tangrad import nn
from tests.nn.support import BACKENDS, check, close, reference, using

SPREAD = np.linspace(-6, 6, 25).astype("float32")  # with every kink in it
FAR = np.array([-1000, -100, 0, 100, 1000], "float32")
POSITIVE = np.array([1e-3, 0.1, 0.5, 0.7, 1, 30], "float32")
PLAIN = [
    *("celu", "elu", "gelu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity", "leaky_relu"),
    *("log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softplus", "sparse_plus"),
    *("sparse_sigmoid", "squareplus", "swish", "tanh"),
]


@pytest.mark.parametrize("name", PLAIN)
def test_against_jax(name):
    check(lambda api, x: getattr(api.nn, name)(x), SPREAD, slack=4)


@pytest.mark.parametrize("name", [name for name in PLAIN if name != "squareplus"])
def test_far_out(name):
    """Finite derivatives where the formula would overflow. JAX's squareplus cancels there."""
    jax = reference()
    for direction in (lambda api, x: getattr(api.nn, name)(x), lambda api, x: api.grad(getattr(api.nn, name))(x)):
        expected = jax.vmap(lambda x, f=direction: f(jax, x))(FAR)
        with using("numpy"):
            close(tangrad.vmap(lambda x, f=direction: f(tangrad, x))(FAR), expected)


def test_with_parameters():
    check(lambda api, x: api.nn.elu(x, 2.0), SPREAD)
    check(lambda api, x: api.nn.celu(x, 0.5), SPREAD)
    check(lambda api, x: api.nn.leaky_relu(x, 0.3), SPREAD)
    check(lambda api, x: api.nn.squareplus(x, 0.5), SPREAD, slack=4)
    check(lambda api, x: api.nn.gelu(x, approximate=False), SPREAD, slack=4)
    check(lambda api, x: api.nn.log1mexp(x), POSITIVE, slack=4)
    check(lambda api, x: api.nn.glu(x), SPREAD[:24].reshape(4, 6))
    check(lambda api, x: api.nn.glu(x, axis=0), SPREAD[:24].reshape(4, 6))


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_at_kinks(backend):
    with using(backend):
        for name, at in (("relu", 0.0), ("relu", -0.0), ("relu6", 0.0), ("relu6", 6.0)):
            assert float(tangrad.grad(getattr(nn, name))(at)) == 0
        assert np.isnan(nn.relu(np.float32(np.nan)))
        assert float(tangrad.grad(nn.softplus)(0.0)) == 0.5
        assert float(tangrad.grad(nn.softplus)(np.inf)) == 1
        assert float(tangrad.grad(nn.softplus)(-np.inf)) == 0


@pytest.mark.parametrize("name", PLAIN)
def test_dtypes(name):
    """Results and weak types of integers, booleans, Python numbers, narrow floats; the same errors."""
    jax = reference()
    values = (np.array([1, 2]), np.array([1, 2], "int8"), np.array([True, False]), 1, 1.5, np.ones(2, "float16"), True)
    with using("numpy"):
        for value in values:
            try:
                expected = getattr(jax.nn, name)(value)
            except (TypeError, OverflowError) as error:
                with pytest.raises(type(error)):
                    getattr(nn, name)(value)
            else:
                close(getattr(nn, name)(value), expected)
        with pytest.raises(TypeError):
            getattr(nn, name)([1.0, 2.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_mapped(backend):
    rows = SPREAD[:24].reshape(4, 6)
    with using(backend):
        for name in ("relu", "relu6", "softplus", "log1mexp"):
            function = getattr(nn, name)
            close_to = np.stack([np.asarray(function(row)) for row in abs(rows.T) + 0.1], 1)
            np.testing.assert_allclose(tangrad.vmap(function, 1, 1)(abs(rows) + 0.1), close_to, rtol=1e-6)
        for axes in (0, 1):
            found = tangrad.vmap(lambda x, axes=axes: nn.softmax(x.reshape(2, 3), axes), 1, 2)(rows.T)
            expected = np.stack([np.asarray(nn.softmax(row.reshape(2, 3), axes)) for row in rows], 2)
            np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_equation():
    with using("numpy"):
        for name in ("relu", "relu6", "softplus", "softmax", "log1mexp"):
            jaxpr = tangrad.make_jaxpr(getattr(nn, name))(SPREAD)
            assert [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns] == [name]


@pytest.mark.parametrize("backend", BACKENDS)
def test_unsigned_integers_are_not_below_minus_one(backend):
    with using(backend):
        found = nn.hard_tanh(np.array([3, 1, 0, 255], "uint8"))
        assert found.dtype == "uint8" and found.tolist() == [1, 1, 0, 1]


def test_bad_arguments():
    with using("numpy"):
        for axis, error in ((1.0, TypeError), (5, ValueError)):
            with pytest.raises(error, match="one_hot: axis"):
                nn.one_hot(np.array([0, 1]), 3, axis=axis)
        for count, error in ((3.0, TypeError), (-3, ValueError)):
            with pytest.raises(error, match="one_hot: num_classes"):
                nn.one_hot(np.array([0, 1]), count)
        with pytest.raises(ValueError, match="even size"):
            nn.glu(SPREAD)
        with pytest.raises(ValueError, match="out of bounds"):
            nn.glu(SPREAD, axis=1)
        with pytest.raises(TypeError):
            nn.sigmoid("x")


def test_hard_tanh_of_unsigned_integers():
    """None of which is below -1, and none is -1."""
    assert tangrad.nn.hard_tanh(tangrad.numpy.asarray([0, 1, 200], "uint8")).tolist() == [0, 1, 1]
