"""`experimental.custom_dce`: what is computed where only some results of a function are used."""

import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._collectives.named_axes import subst_axis_names
from tangrad.core import eval_jaxpr
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


def test_none_means_a_whole_part_of_the_results():
    function = custom_dce(lambda x: {"waves": (np.sin(x), np.cos(x)), "other": np.tanh(x)})

    @function.def_dce
    def rule(used, x):
        waves = [np.sin(x), np.cos(x)] if any(used["waves"]) else None
        return {"waves": waves and tuple(waves), "other": np.tanh(x) if used["other"] else None}

    assert "sin" not in text(lambda x: function(x)["other"], 0.5)
    assert numpy.allclose(tangrad.jit(lambda x: function(x)["waves"][1])(0.5), numpy.cos(0.5))
    pair = custom_dce(lambda x: (np.sin(x), np.cos(x)))
    pair.def_dce(lambda used, x: [np.sin(x) if used[0] else None, np.cos(x) if used[1] else None])
    assert numpy.allclose(tangrad.jit(lambda x: pair(x)[0])(0.5), numpy.sin(0.5))


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


def test_named_axes_in_the_function_and_in_its_rule():
    @custom_dce
    def spread(x):
        return lax.psum(x, "i") * 2.0, np.tanh(x)

    @spread.def_dce
    def spread_dce(used, x):
        return (lax.psum(x, "i") * 2.0 if used[0] else None, np.tanh(x) if used[1] else None)

    first, x = lambda x: spread(x)[0], np.arange(3.0)
    mapped = tangrad.vmap(first, axis_name="i")
    assert tangrad.jit(mapped)(x).tolist() == mapped(x).tolist() == [6.0, 6.0, 6.0]
    assert "tanh" not in text(mapped, x)

    renamed = subst_axis_names(tangrad.make_jaxpr(first, axis_env=[("i", 3)])(1.0), {"i": "rows"})
    assert {effect.name for effect in renamed.effects} == {"rows"}
    again = tangrad.vmap(lambda x: eval_jaxpr(renamed.jaxpr, renamed.consts, x)[0], axis_name="rows")
    assert tangrad.jit(again)(x).tolist() == again(x).tolist() == [6.0, 6.0, 6.0]
    assert "tanh" not in text(again, x)


ASKED = []


@custom_dce
def entangled(x, y):
    """Two results of one loop, each of which the loop needs: nothing of it is dead unless a rule says so."""
    step = lambda pair, _: ((np.sin(pair[0]) + 0.0 * pair[1], np.exp(pair[1] * pair[0])), None)
    (first, second), _ = lax.scan(step, (x, y), None, length=2)
    return first, second


@entangled.def_dce
def entangled_dce(used, x, y):
    ASKED.append(used)
    return (np.sin(np.sin(x)), None) if used == (True, False) else entangled.fun(x, y)


REVERSE = {
    "grad": tangrad.grad(lambda x: entangled(x, 2.0 * x)[0]),
    "value and grad": tangrad.value_and_grad(lambda x: entangled(x, 2.0 * x)[0]),
    "grad of one argument": tangrad.grad(lambda x: entangled(x, 0.5)[0]),
    "vjp, where the other result is not used": lambda x: tangrad.vjp(lambda x: entangled(x, x)[0], x)[1](1.0)[0],
    "linearize": lambda x: tangrad.linearize(lambda x: entangled(x, x)[0], x)[1](2.0),
    "second derivative": tangrad.grad(tangrad.grad(lambda x: entangled(x, x)[0])),
    "jvp of grad": lambda x: tangrad.jvp(tangrad.grad(lambda x: entangled(x, x)[0]), (x,), (1.0,)),
    "grad of jvp": tangrad.grad(lambda x: tangrad.jvp(lambda x: entangled(x, x)[0], (x,), (1.0,))[1]),
    "vmap of grad": lambda x: tangrad.vmap(tangrad.grad(lambda x: entangled(x, x)[0]))(x * np.arange(3.0)),
    "grad of vmap": tangrad.grad(lambda x: tangrad.vmap(lambda y: entangled(x, y)[0])(np.arange(3.0)).sum()),
    "checkpoint": tangrad.grad(tangrad.checkpoint(lambda x: entangled(x, x)[0])),
    "checkpoint that saves": tangrad.grad(
        tangrad.checkpoint(lambda x: entangled(x, x)[0], policy=tangrad.checkpoint_policies.everything_saveable)
    ),
    "within jit": tangrad.grad(tangrad.jit(lambda x: entangled(x, x)[0])),
    "within scan": tangrad.grad(lambda x: lax.scan(lambda c, _: (entangled(c, x)[0], None), x, None, length=3)[0]),
    "within cond": tangrad.grad(lambda x: lax.cond(x > 0, lambda y: entangled(y, y)[0], lambda y: y, x)),
}


@pytest.mark.parametrize("name", REVERSE)
def test_the_rule_is_asked_in_reverse_mode(name):
    function = REVERSE[name]
    ASKED.clear()
    assert "exp" not in text(function, 0.5)
    assert ASKED and set(ASKED) == {(True, False)}
    for got, expected in zip(tangrad.tree.leaves(tangrad.jit(function)(0.5)), tangrad.tree.leaves(function(0.5))):
        assert numpy.allclose(got, expected, rtol=1e-5)


def test_reverse_mode_keeps_residuals_where_all_results_are_used():
    ASKED.clear()
    function = tangrad.grad(lambda x: sum(entangled(x, 2.0 * x)))
    assert numpy.allclose(tangrad.jit(function)(0.5), function(0.5), rtol=1e-5)
    assert not ASKED


def test_a_result_that_is_used_without_its_derivative():
    """The value of one and the derivative of the other: each call is thinned for itself."""
    ASKED.clear()
    function = tangrad.grad(lambda x: entangled(x, x), has_aux=True)
    gradient, second = tangrad.jit(function)(0.5)
    expected = function(0.5)
    assert numpy.allclose([gradient, second], expected, rtol=1e-5)
    assert sorted(set(ASKED)) == [(False, True), (True, False)]


def test_parts_that_the_rule_knows_less_of():
    """Known results under partial evaluation that the rule makes depend on what is not known: the function stays."""

    @custom_dce
    def mixed(x, y):
        return np.tanh(x), np.exp(y)

    mixed.def_dce(lambda used, x, y: (np.tanh(x) + 0.0 * y if used[0] else None, np.exp(y) if used[1] else None))
    function = tangrad.grad(tangrad.checkpoint(lambda y: mixed(np.sin(0.5), y)[0] * y))
    assert numpy.allclose(tangrad.jit(function)(2.0), numpy.tanh(numpy.sin(0.5)), rtol=1e-5)
