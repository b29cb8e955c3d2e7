"""Initializers: JAX's numbers for the same keys, scales by fan in and fan out, dtypes."""

import importlib

import numpy as np
import pytest

import tangrad
from tangrad import random
from tangrad.nn import initializers
from tests.nn.support import BACKENDS, close, reference, using

MAKERS = {
    "zeros": lambda i: i.zeros,
    "ones": lambda i: i.ones,
    "constant": lambda i: i.constant(0.5),
    "constant row": lambda i: i.constant(np.arange(6.0, dtype="float32")),
    "uniform": lambda i: i.uniform(),
    "normal": lambda i: i.normal(0.1),
    "truncated_normal": lambda i: i.truncated_normal(0.1),
    "truncated_normal, own bounds": lambda i: i.truncated_normal(0.1, lower=-1.0, upper=0.5),
    **{
        name: lambda i, name=name: getattr(i, name)()
        for kind in ("glorot", "xavier", "lecun", "he", "kaiming")
        for name in (f"{kind}_uniform", f"{kind}_normal")
    },
    "fan_out": lambda i: i.variance_scaling(3.0, "fan_out", "normal"),
    "fan_geo_avg": lambda i: i.variance_scaling(3.0, "fan_geo_avg", "uniform", in_axis=0, out_axis=(1, 2)),
    "orthogonal": lambda i: i.orthogonal(2.0),
    "orthogonal, another axis": lambda i: i.orthogonal(column_axis=1),
    "delta_orthogonal": lambda i: i.delta_orthogonal(0.5),
    "batch axis": lambda i: i.variance_scaling(1.0, "fan_in", "truncated_normal", batch_axis=0),
}
SHAPE = (4, 5, 6)


@pytest.mark.parametrize("name", MAKERS)
def test_against_jax(name):
    jax = reference()
    expected = MAKERS[name](jax.nn.initializers)(jax.random.key(3), SHAPE)
    for backend in BACKENDS:
        with using(backend):
            close(MAKERS[name](initializers)(random.key(3), SHAPE), expected)


@pytest.mark.parametrize("name", ["uniform", "normal", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_dtypes(name, dtype):
    jax = reference()
    expected = jax.nn.initializers.variance_scaling(2.0, "fan_avg", name)(jax.random.key(3), (4, 5), dtype)
    with using("numpy"):
        found = initializers.variance_scaling(2.0, "fan_avg", name, dtype="float32")(random.key(3), (4, 5), dtype)
        close(found, expected, slack=4)


@pytest.mark.parametrize("name", ["normal", "truncated_normal", "uniform"])
def test_variance(name):
    with using("numpy"):
        sample = np.asarray(initializers.variance_scaling(2.0, "fan_in", name)(random.key(0), (400, 200)))
    np.testing.assert_allclose(sample.var(), 2 / 400, rtol=0.02)
    np.testing.assert_allclose(sample.mean(), 0, atol=1e-3)


def test_is_a_module():
    assert importlib.import_module("tangrad.nn.initializers") is tangrad.nn.initializers
    assert isinstance(initializers.he_normal(), initializers.Initializer)
    for name in initializers.__all__:
        assert hasattr(initializers, name)


def test_in_programs():
    with using("numpy"):
        init = initializers.he_normal()
        jitted = tangrad.jit(lambda key: init(key, (3, 4)))(random.key(1))
        np.testing.assert_array_equal(jitted, init(random.key(1), (3, 4)))
        keys = random.split(random.key(2), 3)
        mapped = tangrad.vmap(lambda key: init(key, (3, 4)))(keys)
        np.testing.assert_allclose(mapped[1], init(keys[1], (3, 4)), rtol=1e-6)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: initializers.variance_scaling(1.0, "fan", "normal"), ValueError, "mode"),
        (lambda: initializers.variance_scaling(1.0, "fan_in", "cauchy"), ValueError, "distribution"),
        (lambda: initializers.he_normal()(random.key(0), (3,)), ValueError, "two dimensions"),
        (lambda: initializers.he_normal()(random.key(0), (3, 2), "int32"), ValueError, "got dtype int32"),
        (lambda: initializers.he_normal(in_axis=5)(random.key(0), (3, 2)), ValueError, "in_axis 5 is out of bounds"),
        (lambda: initializers.orthogonal(column_axis=4)(random.key(0), (3, 2)), ValueError, "column_axis 4 is out"),
        (lambda: initializers.zeros(None, (3,), out_sharding="x"), TypeError, "out_sharding"),
    ],
)
def test_bad_arguments(call, error, words):
    with using("numpy"), pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("name", ["glorot_normal", "he_uniform", "lecun_normal"])
def test_weights_of_no_elements(name):
    with using("numpy"):
        assert getattr(initializers, name)()(random.key(0), (0, 3)).shape == (0, 3)
