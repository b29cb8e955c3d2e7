"""`odeint` against closed forms and jax's; its adjoint against finite differences."""

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad import enable_x64, use_backend
from tangrad.experimental.ode import odeint

TIMES = np.linspace(0.0, 2.0, 4)


@pytest.fixture(params=["numpy", pytest.param("xla", marks=pytest.mark.sweep)])
def on(request):
    with use_backend(request.param), enable_x64(True):
        yield request.param


def pendulum(state, t, damping, strength):
    angle, speed = state["angle"], state["speed"]
    return {"angle": speed, "speed": -damping * speed - strength["g"] * tnp.sin(angle) + 0.1 * t}


START = {"angle": np.pi - 0.1, "speed": 0.0}
STRENGTH = {"g": 9.8}


def swing(start, times, damping, strength):
    states = odeint(pendulum, start, times, damping, strength)
    return tnp.sum(tnp.sin(states["angle"]) * np.arange(1.0, 5)) + states["speed"][2]


@pytest.mark.slow
def test_a_pendulum_in_jax_too():
    jax = pytest.importorskip("jax")
    theirs = pytest.importorskip("jax.experimental.ode")

    def of_rows(y, t):
        return jax.numpy.array([y[1], -0.25 * y[1] - 9.8 * jax.numpy.sin(y[0]) + 0.1 * t])

    with jax.enable_x64(True):
        expected = theirs.odeint(of_rows, jax.numpy.array([np.pi - 0.1, 0.0]), TIMES)
    with use_backend("xla"), enable_x64(True):
        found = tangrad.jit(lambda *args: odeint(pendulum, *args))(START, TIMES, 0.25, STRENGTH)
    np.testing.assert_allclose(np.stack([found["angle"], found["speed"]], 1), expected, rtol=1e-6, atol=1e-6)


def test_gradients(on):
    args = (START, TIMES, 0.25, STRENGTH)
    gradient = tangrad.grad(swing, argnums=(0, 1, 2, 3))(*args)
    jitted = tangrad.jit(tangrad.grad(swing, argnums=(0, 1, 2, 3)))(*args)
    leaves, structure = tangrad.tree.flatten(args)
    compiled = tangrad.jit(swing)
    for position, (slope, again) in enumerate(
        zip(tangrad.tree.leaves(gradient), tangrad.tree.leaves(jitted), strict=True)
    ):
        np.testing.assert_allclose(slope, again, rtol=1e-6, atol=1e-8)
        for index in np.ndindex(np.shape(leaves[position])):
            ends = []
            for step in (1e-5, -1e-5):
                moved = [np.array(leaf, "float64") for leaf in leaves]
                moved[position][index] += step
                ends.append(float(compiled(*structure.unflatten(moved))))
            difference = (ends[0] - ends[1]) / 2e-5
            np.testing.assert_allclose(np.asarray(slope)[index], difference, rtol=1e-3, atol=2e-3)


def test_rows_and_what_is_closed_over(on):
    times = np.linspace(0.0, 1.0, 3)
    final = lambda rate, y: odeint(lambda y, t: -rate * t * y, y, times)[-1]
    rates, starts = np.arange(1.0, 4), np.float64([1.0, 2.0, -1.0])
    expected = starts * np.exp(-rates / 2)
    np.testing.assert_allclose(tangrad.vmap(final)(rates, starts), expected, rtol=1e-6)
    np.testing.assert_allclose(tangrad.vmap(tangrad.grad(final))(rates, starts), -expected / 2, rtol=1e-6)
    np.testing.assert_allclose(tangrad.jit(tangrad.grad(final))(1.0, 1.0), -np.exp(-0.5) / 2, rtol=1e-6)
    np.testing.assert_allclose(tangrad.jacrev(tangrad.grad(final))(1.0, 1.0), np.exp(-0.5) / 4, rtol=1e-5)


def test_numbers_of_all_kinds(on):
    times = np.linspace(0.0, 1.0, 3)
    turned = odeint(lambda y, t, rate: 1j * rate * y, 1.0 + 0j, times, 2.0)
    np.testing.assert_allclose(turned, np.exp(2j * times), rtol=1e-7)
    real_part = lambda rate: tnp.real(odeint(lambda y, t, rate: 1j * rate * y, 1.0 + 0j, times, rate)[-1])
    np.testing.assert_allclose(tangrad.grad(real_part)(2.0), -np.sin(2.0), rtol=1e-6)
    counted = odeint(lambda y, t, count: -count * y, 1, times, np.int32(2))
    np.testing.assert_allclose(counted, np.exp(-2 * times), rtol=1e-7)
    slope = tangrad.grad(lambda y, count: odeint(lambda y, t, n: -n * y, y, times, count)[-1])(1.0, np.int32(2))
    np.testing.assert_allclose(slope, np.exp(-2.0), rtol=1e-7)
    np.testing.assert_array_equal(odeint(lambda y, t: -y, np.ones(2), np.array([0.5])), np.ones((1, 2)))


def test_tolerances_and_limits(on):
    times = np.linspace(0.0, 1.0, 3)
    decay = lambda y, t: -y
    errors = [
        np.abs(odeint(decay, 1.0, times, rtol=tolerance, atol=tolerance) - np.exp(-times)).max()
        for tolerance in (1e-3, 1e-6, 1e-10)
    ]
    assert 1e-3 > errors[0] > errors[1] > errors[2] and errors[2] < 1e-10
    assert np.isnan(odeint(decay, 1.0, times, mxstep=2)).tolist() == [False, True, True]
    np.testing.assert_allclose(odeint(decay, 1.0, times, rtol=1e-3, atol=1e-3, hmax=0.01), np.exp(-times), rtol=1e-10)
    stiff = odeint(lambda y, t: -200 * (y - tnp.cos(t)), 0.0, times, rtol=1e-6, atol=1e-8)
    exact = (200**2 * np.cos(times) + 200 * np.sin(times) - 200**2 * np.exp(-200 * times)) / (1 + 200**2)
    np.testing.assert_allclose(stiff, exact, atol=1e-6)


def test_single_precision():
    times = np.float32([0, 1, 2])
    found = odeint(lambda y, t, rate: -rate * y, np.float32(1), times, np.float32(0.5))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.exp(-0.5 * times), rtol=1e-6)
    assert np.isnan(odeint(lambda y, t: y * y, 1.0, times)[1:]).all()  # it is infinite at 1


BAD = {
    "no function": (lambda: odeint(1, 1.0, TIMES), TypeError, "expects a function"),
    "argument": (lambda: odeint(pendulum, START, TIMES, "a", STRENGTH), TypeError, "of args,"),
    "structure": (lambda: odeint(lambda y, t: [y], 1.0, TIMES), TypeError, "must return a tree like y0"),
    "shape": (lambda: odeint(lambda y, t: tnp.stack([y, y]), 1.0, TIMES), TypeError, "of the shapes in y0"),
    "no times": (lambda: odeint(lambda y, t: y, 1.0, []), TypeError, "t must be an array"),
    "empty": (lambda: odeint(lambda y, t: y, 1.0, np.ones(0)), ValueError, "a time at least"),
    "many times": (lambda: odeint(lambda y, t: y, 1.0, np.ones((2, 2))), ValueError, "one dimension"),
    "tolerance": (lambda: odeint(lambda y, t: y, 1.0, TIMES, rtol=-1.0), ValueError, "rtol must be positive"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, kind, words = BAD[name]
    with use_backend("numpy"), pytest.raises(kind, match=words):
        call()


def test_lists_and_arrays_of_the_same_numbers_do_for_each_other():
    def by_array(y, t):
        return y[1], -y[0]

    def by_list(y, t):
        return np.asarray([y[1], -y[0]]) if isinstance(y, np.ndarray) else tangrad.numpy.stack([y[1], -y[0]])

    expected = odeint(lambda y, t: tangrad.numpy.stack([y[1], -y[0]]), tangrad.numpy.array([1.0, 0.0]), TIMES)
    assert (odeint(by_array, tangrad.numpy.array([1.0, 0.0]), TIMES) == expected).all()
    first, second = odeint(by_list, [1.0, 0.0], TIMES)
    np.testing.assert_allclose(np.stack([first, second], 1), expected, rtol=1e-5, atol=1e-6)
