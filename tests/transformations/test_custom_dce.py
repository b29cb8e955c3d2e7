"""`experimental.custom_dce`: what is computed where only some results of a function are used."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad.experimental import custom_dce


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


@custom_dce
def both(x, y):
    return np.tanh(x) * y, x * np.exp(y)


@both.def_dce
def both_dce(used, x, y):
    return (np.tanh(x) * y if used[0] else None, x * np.exp(y) if used[1] else None)


def text(function, *args):
    return tangrad.jit(function).lower(*args).as_text()


TRANSFORMED = {
    "plain": lambda x: both(x, x)[1],
    "jit": lambda x: tangrad.jit(both)(x, x)[1],
    "jvp": lambda x: tangrad.jvp(lambda x: both(x, x)[1], (x,), (1.0,)),
    "vmap": lambda x: tangrad.vmap(lambda y: both(x, y)[1])(x * np.ones(3)),
    "vmap of jvp": lambda x: tangrad.vmap(lambda y: tangrad.jvp(lambda z: both(z, y)[1], (x,), (y,))[1])(
        x + np.ones(2)
    ),
    "grad": lambda x: tangrad.grad(lambda x: both(x, x)[1])(x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_only_what_is_used_is_computed(name):
    function = TRANSFORMED[name]
    assert "tanh" not in text(function, 0.5) and "exp" in text(function, 0.5)
    for got, expected in zip(tangrad.tree.leaves(tangrad.jit(function)(0.5)), tangrad.tree.leaves(function(0.5))):
        assert numpy.allclose(got, expected, rtol=1e-6)


def test_everything_is_computed_where_all_is_used():
    assert all(word in text(both, 0.5, 1.0) for word in ("tanh", "exp"))
    f = lambda x: sum(both(x, x))
    expected = (1 - numpy.tanh(0.5) ** 2) * 0.5 + numpy.tanh(0.5) + 1.5 * numpy.exp(0.5)
    assert numpy.allclose([tangrad.grad(f)(0.5), tangrad.jit(tangrad.grad(f))(0.5)], expected)
    second = tangrad.jit(tangrad.grad(tangrad.grad(f)))(0.5)
    plain = tangrad.grad(tangrad.grad(lambda x: np.tanh(x) * x + x * np.exp(x)))(0.5)
    assert numpy.allclose(second, plain, rtol=1e-5)


def test_static_arguments_come_first():
    seen = []
    function = custom_dce(lambda x, n: (x**n, np.sin(x)), static_argnums=1)

    @function.def_dce
    def rule(n, used, x):
        seen.append((n, used))
        return x**n if used[0] else None, np.sin(x) if used[1] else None

    assert numpy.allclose(tangrad.jit(lambda x: function(x, 3)[0])(2.0), 8.0)
    assert seen == [(3, (True, False))]


def test_the_function_may_close_over_traced_values():
    def f(x):
        scaled = custom_dce(lambda y: (x * y, np.tanh(y)))
        scaled.def_dce(lambda used, y: (3.0 * y if used[0] else None, np.tanh(y) if used[1] else None))
        return scaled(2.0)[0]

    assert numpy.allclose(tangrad.jit(f)(1.0), 6.0)  # what the rule says


def test_what_is_refused():
    function = custom_dce(lambda x: (x, x))
    with pytest.raises(AttributeError, match="has no rule"):
        function(1.0)
    with pytest.raises(TypeError, match="expects a function"):
        custom_dce(3)
    for rule, words in (
        (lambda used, x: (None, None), "that output is used"),
        (lambda used, x: x, "must return the structure"),
        (lambda used, x: (np.ones(2), None), "but the function returns"),
    ):
        function.def_dce(rule)
        with pytest.raises(TypeError, match=words):
            tangrad.jit(lambda x: function(x)[0])(1.0)
