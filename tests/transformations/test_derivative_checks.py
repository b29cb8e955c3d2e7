"""`test_util`: derivatives held against differences; wrong ones are found."""

import pytest

import tangrad
import tangrad.numpy as np
from tangrad.test_util import check_grads, check_jvp, check_vjp


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


def wrong_by(factor):
    """The sine, with a derivative that is wrong by a factor."""
    f = tangrad.custom_jvp(np.sin)
    f.defjvp(lambda primals, tangents: (f(*primals), factor * np.cos(primals[0]) * tangents[0]))
    return f


def test_right_derivatives_pass():
    check_grads(lambda p: {"y": p["a"] * np.sin(p["b"])}, ({"a": np.arange(3.0), "b": 0.5},), order=2)
    check_grads(lambda x, n: x**n, (np.array([1.5, 2.0]), 3), order=1)
    check_grads(lambda z: z * z, (np.array([1 + 2j]),), order=2)
    check_grads(wrong_by(1.0), (0.5,), order=2, modes="fwd")


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_ones_do_not(mode):
    with pytest.raises(AssertionError):
        check_grads(wrong_by(1.2), (0.5,), order=1, modes=mode)


def test_a_derivative_that_is_wrong_in_the_second_order_alone():
    f = tangrad.custom_jvp(lambda x: x**3)
    f.defjvp(lambda primals, tangents: (f(*primals), tangrad.lax.stop_gradient(3 * primals[0] ** 2) * tangents[0]))
    check_grads(f, (1.5,), order=1)
    with pytest.raises(AssertionError):
        check_grads(f, (1.5,), order=2)


def test_a_value_that_is_not_the_functions():
    with pytest.raises(AssertionError, match="of the cube"):
        check_jvp(
            lambda x: x**3, lambda x, t: (x[0] ** 2, 3 * x[0] ** 2 * t[0]), (np.float32(2),), err_msg="of the cube"
        )


def test_pullbacks():
    check_vjp(lambda x: x**3, lambda x: (x**3, lambda c: (3 * x**2 * c,)), (np.float32(2),))
    with pytest.raises(AssertionError):
        check_vjp(lambda x: x**3, lambda x: (x**3, lambda c: (2 * x**2 * c,)), (np.float32(2),))


@pytest.mark.parametrize(
    ("order", "modes", "message"), [(0, "fwd", "1 or more, got 0"), (1, ("fwd", "up"), "got .'up'.")]
)
def test_bad_options(order, modes, message):
    with pytest.raises(ValueError, match=message):
        check_grads(np.sin, (1.0,), order, modes)
