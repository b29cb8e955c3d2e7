"""Sampled points and exact arithmetic are between the bounds; the demo's network; what is refused."""

import traceback
from fractions import Fraction

import hypothesis.strategies as st
import numpy as onp
import pytest
from hypothesis import given, settings
from tangrad_intervals import bounds

import tangrad
import tangrad.numpy as np
from tangrad import lax, nn
from tangrad.core import PrimitiveSet, RuleSet, ShapedArray, register


@pytest.fixture(params=["numpy", "xla"])
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
    "order": lambda x: (np.sort(x, -1), lax.top_k(x, 2), np.argmax(x, 0), np.argmin(x, 1), np.median(x)),
    "many factors": lambda x: (x.prod(-1), x.prod(), np.cumprod(x, 0), lax.cumlogsumexp(x, 1)),
    "two operands": lambda x: ((abs(x) + 0.1) ** (x + 0.5), np.fmod(x, 0.7), np.arctan2(x, x[::-1])),
    "special": lambda x: (lax.erf(x), lax.erfc(x), lax.erf_inv(x / 9), nn.gelu(x), np.isfinite(1 / x)),
    "truth": lambda x: np.where((x > 0) ^ (x[::-1] > 0.2), x, ~(x < 1) * x),
    "branches": lambda x: (
        lax.cond(x.sum() > 0, np.sin, lambda y: y * y, x),
        lax.cond(True, np.sin, np.cos, x),
        lax.switch((x[0, 0] * 3).astype("int32"), [np.sin, np.cos, lambda y: y / 3], x),
    ),
    "scan": lambda x: lax.scan(lambda c, y: (np.tanh(c + y), (c * y, 7)), np.zeros(4), x),
    "counted": lambda x: lax.fori_loop(0, 3, lambda k, y: 0.5 * y * np.cos(y) + k, x),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, np.sin(c[1]) * x), (0, x * x)),
    "mapped": tangrad.vmap(lambda x: np.sin(x) * lax.pmax(x * x, "i"), axis_name="i"),
    "recomputed": tangrad.checkpoint(lambda x: np.sin(np.exp(x))),
    "derivative": tangrad.grad(lambda x: (np.tanh(x @ W) ** 2).sum()),
    "updates": lambda x: (x.at[1].set(2 * x[0]), x.at[:, 1].max(x[:, 0]), np.tile(x, 2)),
}


def pairs(least, most):
    return zip(tangrad.tree.leaves(least), tangrad.tree.leaves(most), strict=True)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("name", PROGRAMS)
def test_points_in_between_are_bounded(name):
    function = PROGRAMS[name]
    low, high = between(0, 3, 4)
    expected = tangrad.jit(function)
    for run in (bounds(function), tangrad.jit(bounds(function))):
        least, most = run((low,), (high,))
        for one, other in pairs(least, most):
            assert (onp.asarray(one) <= onp.asarray(other)).all() and not onp.isnan(one).any()
        generator = onp.random.default_rng(2)
        for weight in [*generator.uniform(size=(30, 3, 4)), *generator.integers(0, 2, (30, 3, 4))]:
            point = onp.clip((low + weight * (high - low)).astype("float32"), low, high)
            out = tangrad.tree.leaves(expected(np.asarray(point)))
            for (one, other), value in zip(pairs(least, most), out, strict=True):
                assert (one <= value).all() and (value <= other).all()


@pytest.mark.usefixtures("on")
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
        (lambda x: np.sort(np.concatenate([x, x + 1])), (-1, 2)),
        (lambda x: lax.cond(x[0] > 3, lambda y: y, lambda y: y * 0 + 7, x), (7, 7)),
        (lambda x: lax.cond(x[0] > 1, lambda y: y + 5, lambda y: y, x), (-1, 7)),
        (lambda x: lax.fori_loop(0, 3, lambda k, y: y / 2 + k, x), (2.375, 2.75)),
        (lambda x: np.arctan2(x, x + 3), (onp.arctan2(-1, 2), onp.arctan2(2, 2))),
        (lambda x: np.stack([x[0] + 2, x[0] + 3]).prod()[None], (2, 20)),
    ]:
        got = [float(side[0]) for side in bounds(function)((low,), (high,))]
        onp.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("on")
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


@pytest.mark.usefixtures("on")
def test_trees_and_what_is_known_exactly():
    weights = {"w": np.asarray(W)}
    function = lambda p, x: {"out": x @ p["w"], "same": p["w"] * 2}
    low, high = between(0, 3, 4)
    least, most = bounds(function)((weights, low), (weights, high))
    assert least["same"] is most["same"] and (least["out"] < most["out"]).all()


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: bounds(np.sin)((np.ones(2),), ({"a": 1},)), TypeError, "must have one structure"),
        (lambda: bounds(np.sin)(1.0, 2.0), TypeError, "bounds are tuples of arguments, got 1.0"),
        (lambda: bounds(3), TypeError, "bounds expects a function, got 3 of type int"),
        (lambda: bounds(np.sin)((1j,), (2j,)), TypeError, "leaf 0 are of type c64.*: complex numbers have no order"),
        (lambda: bounds(np.sin)((np.ones(2),), (np.ones(3),)), ValueError, r"of types f32\[2\] and f32\[3\]"),
        (lambda: bounds(np.sin)((np.ones(2),), (np.zeros(2),)), ValueError, "the interval of leaf 0 is empty"),
        (lambda: bounds(np.sin)((np.ones(2) * np.nan,), (np.ones(2),)), ValueError, "is empty: .* or NaN"),
        (
            lambda: bounds(np.linalg.cholesky)((np.zeros((2, 2)),), (np.ones((2, 2)),)),
            NotImplementedError,
            "'linalg.cholesky'.* no rule of kind 'bounds'",
        ),
        (lambda: bounds(np.lexsort)((np.zeros((2, 2)),), (np.ones((2, 2)),)), NotImplementedError, "sort of several"),
        (lambda: bounds(lambda x: x & 3)((np.zeros(2, int),), (np.ones(2, int),)), NotImplementedError, "the bits of"),
        (
            lambda: bounds(lambda x: lax.while_loop(lambda y: y < 3, lambda y: y + 1, x))((0.0,), (1.0,)),
            NotImplementedError,
            "a while loop whose number of steps is not known",
        ),
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
    assert float(bounds(lambda x: x + 1)((0.0,), (1.0,))[1]) >= 2


# --- What is wrong with a rule of kind `bounds` ---


X = onp.array([1.0, 2.0], "float32")


def _raises(*args, **params):
    raise KeyError("an error of a library")


WRONG = {
    "no argument": lambda: 1,
    "None": lambda *args, **params: None,
    "a number": lambda *args, **params: 1.0,
    "a string": lambda *args, **params: "nothing",
    "an empty tuple": lambda *args, **params: (),
    "three numbers": lambda *args, **params: (1.0, 2.0, 3.0),
    "an array": lambda *args, **params: X,
    "an error": _raises,
}


@pytest.mark.parametrize("way", WRONG)
def test_the_rule_names_itself(way):
    family = PrimitiveSet("going_wrong", api=1)
    doubled = family.primitive(
        lambda x: ShapedArray(x.shape, x.dtype), name="doubled", decompose=lambda x: lax.mul(x, 2.0)
    )
    rules = RuleSet("bounds", api=1)
    rules.add(doubled, WRONG[way])
    with register(family), register(rules), pytest.raises(Exception) as caught:
        bounds(doubled)((X,), (X + 1,))
    text = "".join(traceback.format_exception_only(type(caught.value), caught.value))
    assert "bounds rule of 'going_wrong.doubled'" in text and "(by hand)" in text and __file__ in text, text
    assert ("(pairs, **params)" in text) is (way != "an error"), text
