"""dot_product_attention, beside JAX."""

import numpy as np
import pytest

import tangrad
from tangrad import nn
from tests.nn.support import BACKENDS, check, close, reference, using

RNG = np.random.default_rng(1)
QUERY = RNG.normal(size=(2, 5, 4, 8)).astype("float32")
KEY = RNG.normal(size=(2, 6, 2, 8)).astype("float32")
VALUE = RNG.normal(size=(2, 6, 2, 8)).astype("float32")
BIAS = RNG.normal(size=(2, 4, 5, 6)).astype("float32")
MASK = RNG.random((1, 1, 5, 6)) < 0.6
LENGTHS = {"query_seq_lengths": np.array([3, 5], "int32"), "key_value_seq_lengths": np.array([6, 2], "int32")}

OPTIONS = {
    "plain": {},
    "scale": {"scale": 0.3},
    "bias": {"bias": BIAS},
    "bias for all heads": {"bias": BIAS[:1, :1]},
    "mask": {"mask": MASK},
    "mask for each head": {"mask": BIAS > 0},
    "causal": {"is_causal": True},
    "lengths": LENGTHS,
    "window": {"local_window_size": (2, 1)},
    "everything": {"bias": BIAS, "mask": MASK, "is_causal": True, "local_window_size": 3, **LENGTHS},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_against_jax(name):
    check(lambda api, q: api.nn.dot_product_attention(q, KEY, VALUE, **OPTIONS[name]), QUERY, slack=4)


def test_shapes_and_residuals():
    jax = reference()
    calls = (
        lambda api: api.nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0]),
        lambda api: api.nn.dot_product_attention(QUERY[:, :, :2], KEY, VALUE),
        lambda api: api.nn.dot_product_attention(QUERY, KEY, VALUE, is_causal=True, return_residual=True),
        lambda api: api.nn.dot_product_attention(QUERY[0], KEY[0], VALUE[0], return_residual=True),
        lambda api: api.vmap(api.nn.dot_product_attention)(QUERY, KEY, VALUE),
    )
    for call in calls:
        expected = jax.jit(lambda call=call: call(jax))()
        for backend in BACKENDS:
            with using(backend):
                close(call(tangrad), expected, slack=4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes(dtype):
    jax = reference()
    arrays = [x.astype(tangrad.core.dtypes.as_dtype(dtype)) for x in (QUERY, KEY, VALUE)]
    expected = jax.nn.dot_product_attention(*arrays)
    for backend in BACKENDS:
        with using(backend):
            close(nn.dot_product_attention(*arrays), expected)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"value": VALUE[:, :5]}, "value must be"),
        ({"query": QUERY[:1]}, "query must be"),
        ({"query": QUERY.astype("float16")}, "query must be float32"),
        ({"query": QUERY[:, :, :3]}, "multiple"),
        ({"query": QUERY[None]}, "4 dimensions"),
        ({"mask": BIAS}, "mask must be booleans"),
        ({"bias": BIAS[:, :3]}, "1 or 4 heads"),
        ({"query_seq_lengths": np.array([3, 5, 1], "int32")}, "query_seq_lengths"),
        ({"mask": BIAS[[0, 0, 0]] > 0}, "mask must have a batch of 1 or 2"),
        ({"local_window_size": (1, 2, 3)}, "local_window_size must be one number or two"),
        ({"implementation": "cudnn"}, "implementation"),
    ],
)
def test_bad_arguments(change, words):
    with using("numpy"), pytest.raises(ValueError, match=words):
        nn.dot_product_attention(**{"query": QUERY, "key": KEY, "value": VALUE, **change})
