"""Sampled points and exact arithmetic lie between the bounds; the demo's network; what is refused."""

from fractions import Fraction

import hypothesis.strategies as st
import numpy as onp
import pytest
from hypothesis import given, settings
from tangrad_intervals import bounds

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    with tangrad.use_backend(request.param):
        yield request.param


def between(seed, *shape, width=0.3):
    generator = onp.random.default_rng(seed)
    low = generator.normal(size=shape).astype("float32")
    return low, (low + generator.uniform(0, width, shape)).astype("float32")


W, K = onp.random.default_rng(1).normal(size=(4, 5)).astype("float32"), onp.ones((2, 1, 3, 3), "float32") / 3
PROGRAMS = {
    "arithmetic": lambda x: (x * 2 - 1) / (x * x + 1) + x**3,
    "functions": lambda x: np.exp(x) - np.tanh(x) * np.sqrt(abs(x)) + np.log1p(x * x),
    "waves": lambda x: np.sin(5 * x) + np.cos(x) * np.sin(x + 1),
    "powers": lambda x: x**2 + x**-2,
    "products": lambda x: nn.relu(x @ W) @ W.T,
    "of itself": lambda x: x @ x.T,
    "norm": lambda x: x / np.sqrt((x**2).sum(-1, keepdims=True) + 1),
    "selection": lambda x: np.where(x > 0.1, x, -3 * x) + np.maximum(x, 0.2) - np.clip(x, -1, 1),
    "softmax": lambda x: nn.log_softmax(x),
    "reductions": lambda x: x.max(-1) + x.sum(-1) - x.mean() + np.cumsum(x, -1)[:, -1],
    "structure": lambda x: np.concatenate([x.T.ravel(), np.pad(x, 1)[0], x[::-1, 1]]),
    "convolution": lambda x: lax.conv_general_dilated(x.reshape(1, 1, 3, 4), K, (1, 1), "SAME"),
    "windows": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "VALID"),
    "jitted": lambda x: tangrad.jit(lambda y: np.sin(y) * y)(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_points_in_between_are_bounded(name):
    function = PROGRAMS[name]
    low, high = between(0, 3, 4)
    for run in (bounds(function), tangrad.jit(bounds(function))):
        least, most = run((low,), (high,))
        assert (onp.asarray(least) <= onp.asarray(most)).all() and not onp.isnan(least).any()
        generator = onp.random.default_rng(2)
        for weight in [*generator.uniform(size=(30, 3, 4)), *generator.integers(0, 2, (30, 3, 4))]:
            point = onp.clip((low + weight * (high - low)).astype("float32"), low, high)
            out = onp.asarray(function(np.asarray(point)))
            assert (least <= out).all() and (out <= most).all()


def test_they_are_not_wider_than_need_be():
    low, high = onp.float32([-1.0]), onp.float32([2.0])
    for function, expected in [
        (lambda x: x * x, (-2, 4)),
        (lambda x: x**2, (0, 4)),
        (abs, (0, 2)),
        (lambda x: 3 * x - 1, (-4, 5)),
        (np.exp, (onp.exp(-1), onp.exp(2))),
        (lambda x: np.sin(3 * x), (-1, 1)),
        (lambda x: 1 / x, (-onp.inf, onp.inf)),
        (lambda x: np.where(x > 3, x, 7.0), (7, 7)),
    ]:
        got = [float(side[0]) for side in bounds(function)((low,), (high,))]
        onp.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=4, max_size=4), st.integers(0, 3))
def test_rounding_is_accounted_for(numbers, kind):
    """Of numbers that are known exactly the bounds hold the exact result, by rational arithmetic."""
    x, y = onp.float32(numbers[:2]), onp.float32(numbers[2:])
    a, b = [[Fraction(float(v)) for v in one] for one in (x, y)]
    exact = [a[0] * b[0] + a[1] * b[1], a[0] - b[1], a[0] * b[0] * b[0], a[0] + a[1]][kind]
    function = [lambda x, y: x @ y, lambda x, y: x[0] - y[1], lambda x, y: x[0] * y[0] * y[0], lambda x, y: x.sum()][
        kind
    ]
    wide = lambda v: (v.copy(), v.copy())
    (low_x, high_x), (low_y, high_y) = wide(x), wide(y)
    least, most = bounds(function)((low_x, low_y), (high_x, high_y))
    assert Fraction(float(least)) <= exact <= Fraction(float(most))


def test_trees_and_what_is_known_exactly():
    weights = {"w": np.asarray(W)}
    function = lambda p, x: {"out": x @ p["w"], "same": p["w"] * 2}
    low, high = between(0, 3, 4)
    least, most = bounds(function)((weights, low), (weights, high))
    assert least["same"] is most["same"] and (least["out"] < most["out"]).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bounds(np.sin)((np.ones(2),), ({"a": 1},)), TypeError, "must have one structure"),
        (lambda: bounds(np.sin)((np.ones(2),), (np.ones(3),)), ValueError, r"of types f32\[2\] and f32\[3\]"),
        (lambda: bounds(np.sin)((np.ones(2),), (np.zeros(2),)), ValueError, "the interval of leaf 0 is empty"),
        (lambda: bounds(np.sin)((np.ones(2) * np.nan,), (np.ones(2),)), ValueError, "is empty: .* or NaN"),
        (lambda: bounds(np.sort)((np.zeros(2),), (np.ones(2),)), NotImplementedError, "sort"),
        (
            lambda: bounds(lambda i: lax.dynamic_slice(np.arange(9), (i,), (2,)))((0,), (3,)),
            NotImplementedError,
            "indices that are not known exactly",
        ),
    ],
)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
