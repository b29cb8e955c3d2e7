"""`approx_max_k` and `approx_min_k`: nothing is missed here, and results have JAX's shapes."""

import numpy as np
import pytest

import tangrad
from tangrad import lax
from tests.primitives.support import agree_everywhere, assert_same, draw, narrow

jax = pytest.importorskip("jax")

NAMES = ("approx_max_k", "approx_min_k")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype, axis", [("float32", 0), ("bfloat16", -1)])
def test_values_agree_with_jax(name, dtype, axis):
    x = np.random.default_rng(0).permutation(96).reshape(8, 12).astype(narrow(dtype))  # no two are equal
    expected = getattr(jax.lax, name)(x, 4, axis)
    agree_everywhere(lambda x: getattr(lax, name)(x, 4, axis), expected, x)


def test_gradients_and_mapping_agree_with_jax():
    x = draw("float32", 6, 9)

    def total(library):
        one = lambda x: library.lax.approx_min_k(x, 3)[0] * library.numpy.arange(3.0)
        return lambda x: library.vmap(one, 1)(x).sum()

    assert_same(tangrad.grad(total(tangrad))(x), jax.grad(total(jax))(x))


@pytest.mark.parametrize(
    "shape, k, recall",
    [
        ((5000,), 4, 0.9),
        ((2, 5000), 4, 0.9),
        ((3, 1000), 10, 0.99),
        ((10000,), 1, 0.95),
        ((2, 130), 3, 0.5),
        ((4096,), 50, 0.95),
        ((10,), 2, 1.0),
        ((1, 30000), 100, 0.9),
    ],
)
def test_results_that_are_not_brought_down_have_the_shapes_of_jax(shape, k, recall):
    x = np.zeros(shape, np.float32)
    options = {"recall_target": recall, "aggregate_to_topk": False}
    expected = jax.eval_shape(lambda x: jax.lax.approx_max_k(x, k, **options), x)
    found = tangrad.eval_shape(lambda x: lax.approx_max_k(x, k, **options), x)
    assert [one.shape for one in found] == [one.shape for one in expected]


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"operand": np.arange(4)}, TypeError, "dtype"),
        ({"k": 5}, ValueError, "at most the size"),
        ({"k": -1}, ValueError, "negative"),
        ({"k": 1.5}, TypeError, "k must be an integer"),
        ({"reduction_dimension": 2}, ValueError, "reduction_dimension"),
        ({"recall_target": 0.0}, ValueError, "recall_target"),
        ({"recall_target": "most"}, TypeError, "recall_target"),
        ({"reduction_input_size_override": 2}, ValueError, "reduction_input_size_override"),
    ],
)
def test_bad_input(arguments, error, message):
    with pytest.raises(error, match=message):
        lax.approx_max_k(**({"operand": np.zeros(4, np.float32), "k": 2} | arguments))
