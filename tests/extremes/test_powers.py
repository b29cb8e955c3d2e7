"""Derivatives of powers at 0, to the third order: the limits from above."""

import math

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend

INFINITY = math.inf
DTYPES = ("float16", "bfloat16", "float32", "float64")
# By the exponent: the power of 0, and its derivatives by the base.
AT_ZERO = {
    -1.0: (INFINITY, -INFINITY, INFINITY, -INFINITY),
    -0.5: (INFINITY, -INFINITY, INFINITY, -INFINITY),
    0.0: (1, 0, 0, 0),
    0.5: (0, INFINITY, -INFINITY, INFINITY),
    1.0: (0, 1, 0, 0),
    1.5: (0, 0, INFINITY, -INFINITY),
    2.0: (0, 0, 2, 0),
    2.5: (0, 0, 0, INFINITY),
    3.0: (0, 0, 0, 6),
}


def _along(x, y, argument):
    """What is held, and the other."""
    return (lambda moved: (moved, y), x) if argument == 0 else (lambda moved: (x, moved), y)


def forward(function, argument):
    def derivative(x, y):
        both, moved = _along(x, y, argument)
        return tangrad.jvp(lambda value: function(*both(value)), (moved,), (tnp.ones_like(moved),))[1]

    return derivative


def reverse(function, argument):
    def derivative(x, y):
        both, moved = _along(x, y, argument)
        return tangrad.grad(lambda value: function(*both(value)).sum())(moved)

    return derivative


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def on(request):
    if request.param == "xla":
        pytest.importorskip("jaxlib", reason="XLA's backend is not installed")
    with use_backend(request.param), enable_x64(True):
        yield request.param


@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_by_the_base_at_zero(dtype, mode):
    exponents, expected = [*AT_ZERO], np.array([*AT_ZERO.values()])
    x, y = tnp.zeros(len(exponents), dtype), tnp.asarray(exponents, dtype)
    function = tnp.power
    for order in range(4):
        found = np.asarray(function(x, y), "float64")
        np.testing.assert_array_equal(found, expected[:, order], err_msg=f"order {order}")
        function = mode(function, 0)


@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_by_the_exponent_at_zero(dtype, mode):
    """Of 0 to a positive power nothing changes; of 0 to a negative one everything is infinite."""
    x, y = tnp.zeros(4, dtype), tnp.asarray([-1.0, -0.5, 0.5, 2.0], dtype)
    function = mode(tnp.power, 1)
    for sign in (-1, 1, -1):
        np.testing.assert_array_equal(np.asarray(function(x, y), "float64"), [sign * INFINITY] * 2 + [0, 0])
        function = mode(function, 1)


# Which arguments, in order; and the derivative at (4, 0).
MIXED = {
    (0, 1): 1 / 4,
    (1, 0): 1 / 4,
    (0, 0, 1): -1 / 16,
    (0, 1, 0): -1 / 16,
    (1, 0, 0): -1 / 16,
    (0, 1, 1): 2 * math.log(4) / 4,
    (1, 0, 1): 2 * math.log(4) / 4,
    (1, 1, 0): 2 * math.log(4) / 4,
}


@pytest.mark.parametrize("mode", [forward, reverse])
@pytest.mark.parametrize("order", MIXED)
def test_mixed_derivatives_at_exponent_zero(order, mode):
    function = tnp.power
    for argument in order:
        function = mode(function, argument)
    np.testing.assert_allclose(function(np.float64([4.0]), np.float64([0.0])), [MIXED[order]], rtol=1e-12)


def test_a_negative_base_and_none():
    for base in (-2.0, math.nan, math.inf, -math.inf):
        assert tangrad.grad(tnp.power)(base, 0.0) == 0
    assert tangrad.grad(tangrad.grad(tnp.power))(-2.0, 0.0) == 0
