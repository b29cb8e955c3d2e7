"""softmax and its relatives, standardize, one_hot, beside JAX."""

import numpy as np
import pytest

import tangrad
from tangrad import nn
from tests.nn.support import BACKENDS, check, close, reference, using

X = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
FAR = np.array([[-1000, 0, 1000, 1000], [5, 5, 5, 5], [-np.inf, 0, 1, -np.inf]], "float32")
WHERE = np.array([True, False, True, True])
SIGNED = np.array([1.0, -1.0, 0.0, 2.0], "float32")

PROGRAMS = {
    "softmax": lambda api, x: api.nn.softmax(x),
    "softmax over the first axis": lambda api, x: api.nn.softmax(x, axis=0),
    "softmax over two axes": lambda api, x: api.nn.softmax(x, axis=(0, 1)),
    "softmax over all": lambda api, x: api.nn.softmax(x, axis=None),
    "softmax of some": lambda api, x: api.nn.softmax(x, where=WHERE),
    "log_softmax": lambda api, x: api.nn.log_softmax(x),
    "log_softmax over two axes": lambda api, x: api.nn.log_softmax(x, axis=(0, 1)),
    "logsumexp": lambda api, x: api.nn.logsumexp(x),
    "logsumexp along an axis": lambda api, x: api.nn.logsumexp(x, axis=1, keepdims=True),
    "logsumexp of some": lambda api, x: api.nn.logsumexp(x, axis=1, where=WHERE),
    "logsumexp with factors": lambda api, x: api.nn.logsumexp(x, axis=1, b=abs(SIGNED)),
    "logsumexp with signs": lambda api, x: api.nn.logsumexp(x, axis=1, b=SIGNED, return_sign=True)[0],
    "logmeanexp": lambda api, x: api.nn.logmeanexp(x, axis=0),
    "logmeanexp of some": lambda api, x: api.nn.logmeanexp(x, axis=1, where=WHERE, keepdims=True),
    "standardize": lambda api, x: api.nn.standardize(x),
    "standardize, stable": lambda api, x: api.nn.standardize(x, axis=0, algorithm="stable"),
    "standardize of some": lambda api, x: api.nn.standardize(x, where=WHERE),
    "standardize by numbers": lambda api, x: api.nn.standardize(x, mean=np.float32(0.5), variance=np.float32(2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_jax(name):
    check(PROGRAMS[name], X, slack=4)


def test_values_far_apart():
    jax = reference()
    names = ("softmax", "log_softmax", "logsumexp along an axis", "softmax of some")

    def all_of_them(api):
        values = [PROGRAMS[name](api, FAR) for name in names]
        values.append(api.nn.logsumexp(FAR[:, :1] - np.inf))
        return [*values, api.nn.logsumexp(X, axis=1, b=SIGNED, return_sign=True)]

    expected = jax.jit(lambda: all_of_them(jax))()
    for backend in BACKENDS:
        with using(backend):
            close(all_of_them(tangrad), expected, weak=False)
            close(nn.logsumexp(X, axis=1, b=-abs(SIGNED)), np.full(3, np.nan, "float32"), weak=False)


def test_log_softmax_of_some():
    """Without derivatives: what is left out is -inf."""
    jax = reference()
    with using("numpy"):
        close(nn.log_softmax(X, where=WHERE), jax.nn.log_softmax(X, where=WHERE), weak=False)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # JAX's own, with float16
def test_dtypes():
    jax = reference()
    with using("numpy"):
        for name in ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"):
            for value in (np.arange(4), np.ones(3, "float16")):
                close(getattr(nn, name)(value), getattr(jax.nn, name)(value), slack=4)
        close(nn.logsumexp(1.5), jax.nn.logsumexp(1.5))
        assert nn.softmax(np.zeros((2, 0), "float32")).shape == (2, 0)
        assert nn.log_softmax(np.zeros((2, 0), "float32")).shape == (2, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_hot(backend):
    jax = reference()
    calls = (
        lambda api: api.nn.one_hot(np.array([0, 2, 5, -1]), 3),
        lambda api: api.nn.one_hot(np.array([[0, 2, 1]]), 3, axis=0, dtype="int32"),
        lambda api: api.nn.one_hot(np.array([0, 2], "uint8"), 4, axis=1, dtype=bool),
        lambda api: api.nn.one_hot(2, 4),
        lambda api: api.vmap(lambda x: api.nn.one_hot(x, 3))(np.array([1, 2])),
    )
    with using(backend):
        for call in calls:
            close(call(tangrad), call(jax))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_one_hot_of_narrow_integers_with_more_classes_than_they_count(dtype):
    with using("numpy"):
        hot = nn.one_hot(np.array([10], dtype), 300)
    np.testing.assert_array_equal(np.flatnonzero(hot), [10])


def test_bad_arguments():
    with using("numpy"):
        for function in (nn.softmax, nn.log_softmax, nn.standardize):
            with pytest.raises((ValueError, IndexError)):
                function(X, axis=2)
            with pytest.raises(TypeError):
                function([1.0])
        with pytest.raises(TypeError, match="numbers"):
            nn.softmax(WHERE)
        with pytest.raises(ValueError, match="algorithm"):
            nn.standardize(X, algorithm="slow")
        with pytest.raises(ValueError, match="out of bounds"):
            nn.one_hot(np.array([1]), 3, axis=2)
        with pytest.raises(TypeError):
            nn.one_hot(np.array([1]), 3.5)
        with pytest.warns(DeprecationWarning, match="integers"):
            nn.one_hot(np.array([1.0]), 3)
