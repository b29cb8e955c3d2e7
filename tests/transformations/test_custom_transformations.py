"""`linear_call`, `custom_transpose`, `custom_vmap`, `custom_dce`: rules of users beside derivatives."""

import functools

import jax
import jax.custom_batching
import jax.custom_derivatives
import numpy
import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad._collectives.named_axes import subst_axis_names
from tangrad.core import eval_jaxpr
from tangrad.experimental import custom_dce

# --- `linear_call`, `custom_transpose`, `custom_vmap` ---


@pytest.fixture(params=["numpy", "xla"], autouse=True)
def backend(request):
    with tangrad.use_backend(request.param):
        yield request.param


X = numpy.linspace(0.1, 1.0, 3, dtype="float32")
PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def decorators(t):
    if t is jax:
        return jax.custom_derivatives.linear_call, jax.custom_batching.custom_vmap
    return t.linear_call, t.custom_vmap


@program
def transposed(t):
    call, _ = decorators(t)
    f = lambda x: call(lambda r, v: v / r, lambda r, ct: 10.0 * ct / r, 2.0, x)
    return f(X), t.linear_transpose(f, X)(X), t.jit(lambda x: t.linear_transpose(f, x)(x))(X)


@program
def mapped_rule(t):
    _, custom = decorators(t)
    f = custom(lambda x, y: (x + y, x))
    f.def_vmap(lambda size, batched, x, y: ((x * 10 + y, x), (True, batched[0])))
    return f(1.0, 2.0), t.vmap(f)(X, X), t.vmap(f, (0, None))(X, 2.0), t.jit(t.vmap(f))(X, X)


@program
def mapped_rule_forward(t):
    _, custom = decorators(t)
    f = custom(lambda x: t.numpy.sin(x))
    f.def_vmap(lambda size, batched, x: (t.numpy.cos(x), True))
    return t.jvp(f, (1.0,), (1.0,)), t.jvp(t.vmap(f), (X,), (X,)), t.vmap(lambda x: t.jvp(f, (x,), (x,)))(X)


@program
def mapped_rule_trees(t):
    _, custom = decorators(t)
    f = custom(lambda d: {"s": d["a"] + d["b"]})
    f.def_vmap(lambda size, batched, d: ({"s": d["a"] - d["b"]}, {"s": batched[0]["a"] or batched[0]["b"]}))
    return t.vmap(f, ({"a": 0, "b": None},))({"a": X, "b": 2.0})


@program
def transpose_that_calls_its_function(t):
    """The function's transpose is made of the function: it is looked at as often as it is transposed."""
    call, _ = decorators(t)

    def grow(c, x):
        return call(lambda c, v: c * v, lambda c, ct: grow(c + 1.0, ct), c, x)

    once = lambda x: t.linear_transpose(lambda v: grow(1.0, v), 1.0)(x)[0]
    twice = lambda x: t.linear_transpose(once, 1.0)(x)[0]
    inner = lambda x: t.linear_transpose(lambda v: grow(1.0, grow(2.0, v)), 1.0)(x)[0]
    return (
        grow(1.0, 2.0),
        once(2.0),
        twice(2.0),
        inner(2.0),
        t.jit(once)(2.0),
        t.grad(once)(2.0),
        t.jit(t.grad(once))(2.0),
    )


@program
def mapped_rule_of_one_example(t):
    """Where only tangents are mapped, or only primals, the rule is that of values that are not."""
    _, custom = decorators(t)
    flags = []
    f = custom(lambda x, y: (7.0 * x, t.numpy.sin(y)))

    @f.def_vmap
    def rule(size, batched, x, y):
        flags.append(batched)
        return (11.0 * x, t.numpy.cos(y)), tuple(batched)

    slope = lambda x, y, tx, ty: t.jvp(f, (x, y), (tx, ty))
    one, two = numpy.float32(1.0), numpy.float32(2.0)
    over = lambda axes, out_axes: t.vmap(slope, axes, out_axes)
    first = over((None, None, 0, None), ((None, None), (0, None)))(one, two, X, one)
    second = over((0, None, None, None), ((0, None), (None, None)))(X, two, one, one)
    third = over((0, None, 0, None), ((0, None), (0, None)))(X, two, X, one)
    return first, second, third, t.jacfwd(lambda x: f(x, X)[0])(X), numpy.array(flags)


@program
def loops_in_loops(t):
    """A function that is mapped one row at a time, mapped twice."""
    shapes = []

    def total(x, y):
        shapes.append([t.numpy.ndim(x), t.numpy.ndim(y)])
        return x * y

    f = t.custom_batching.sequential_vmap(total)
    table = t.vmap(t.vmap(f, (None, 0)), (0, None))
    return table(X, X), t.jvp(lambda x: table(x, X), (X,), (X,)), numpy.unique(numpy.array(shapes))


@functools.cache
def reference(name):
    return [numpy.asarray(leaf) for leaf in jax.tree.leaves(PROGRAMS[name](jax))]


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_jax(name):
    found, expected = tangrad.tree.leaves(PROGRAMS[name](tangrad)), reference(name)
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected):
        assert numpy.shape(mine) == theirs.shape
        assert numpy.allclose(mine, theirs, rtol=1e-5, atol=1e-6), (mine, theirs)


def test_linear_call_under_transformations():
    def f(r, x):
        return tangrad.linear_call(lambda r, v: v * r**2, lambda r, ct: 10.0 * ct * r**2, r, x)

    assert float(tangrad.grad(f, 1)(3.0, 2.0)) == 90.0
    assert float(tangrad.grad(f, 0)(3.0, 2.0)) == 12.0
    assert float(tangrad.jit(tangrad.grad(f, 1))(3.0, 2.0)) == 90.0
    value, tangent = tangrad.jvp(f, (3.0, 2.0), (1.0, 1.0))
    assert (float(value), float(tangent)) == (18.0, 21.0)
    mapped = tangrad.vmap(tangrad.grad(f, 1), (0, None))(X, 2.0)
    assert numpy.allclose(mapped, 10 * X**2)
    shared = tangrad.grad(lambda x: tangrad.vmap(f, (0, None))(X, x).sum())(2.0)
    assert numpy.allclose(shared, (10 * X**2).sum())
    twice = tangrad.linear_transpose(lambda ct: tangrad.linear_transpose(lambda x: f(3.0, x), 1.0)(ct)[0], 1.0)(1.0)
    assert float(twice[0]) == 9.0


def test_linear_call_closing_over_tracers():
    def f(w, x):
        return tangrad.linear_call(lambda r, v: v * w * r, lambda r, ct: 2.0 * ct * w * r, 3.0, x)

    assert float(tangrad.grad(f, 1)(5.0, 1.0)) == 30.0
    assert float(tangrad.jit(tangrad.grad(f, 1))(5.0, 1.0)) == 30.0
    assert float(tangrad.grad(f, 0)(5.0, 1.0)) == 3.0


def test_custom_transpose():
    scale = tangrad.custom_transpose(lambda r, x: {"y": r * x})
    kind = {"y": tangrad.ShapeDtypeStruct((3,), "float32")}
    f = lambda x: scale(kind, 2.0, x)["y"]
    with pytest.raises(AttributeError, match="has no transpose"):
        f(X)

    @scale.def_transpose
    def transpose(r, ct):
        return ct["y"] * r * 10.0

    assert numpy.allclose(f(X), 2 * X)
    assert numpy.allclose(tangrad.linear_transpose(f, X)(X)[0], 20 * X)
    assert numpy.allclose(tangrad.jit(tangrad.grad(lambda x: f(x).sum()))(X), 20.0)
    with pytest.raises(TypeError, match=r"output 0 \(result\['y'\]\), f32\[2\], but out_types has shape \(3,\)"):
        f(X[:2])
    with pytest.raises(TypeError, match="returned the structure"):
        scale(kind["y"], 2.0, X)


def test_custom_transpose_gives_zeros_where_the_rule_says_none():
    scale = tangrad.custom_transpose(lambda r, x: r * x["a"])
    scale.def_transpose(lambda r, ct: {"a": 10.0 * ct, "b": None})
    kind = tangrad.ShapeDtypeStruct((3,), "float32")
    found = tangrad.grad(lambda x: scale(kind, 2.0, x).sum())({"a": X, "b": (X, 1.0)})
    assert numpy.allclose(found["a"], 10.0)
    assert numpy.array_equal(found["b"][0], numpy.zeros(3)) and found["b"][1] == 0.0


def test_mapped_linear_calls_whose_transposes_call_them():
    def grow(c, x):
        return tangrad.linear_call(lambda c, v: c * v, lambda c, ct: grow(c + 1.0, ct), c, x)

    f = lambda x: grow(1.0, x)
    transposed = lambda x: tangrad.linear_transpose(tangrad.vmap(f), x)(x)[0]
    assert numpy.allclose(tangrad.vmap(f)(X), X) and numpy.allclose(transposed(X), 2.0 * X)
    assert numpy.allclose(tangrad.linear_transpose(transposed, X)(X)[0], X)
    assert numpy.allclose(tangrad.vmap(tangrad.grad(lambda x: f(f(x))))(X), 4.0)


def test_printed_rules():
    f = tangrad.custom_jvp(lambda x: x)

    @f.defjvp
    def slope(primals, tangents):
        return primals[0], tangents[0]

    assert "rule=slope" in str(tangrad.make_jaxpr(f)(X)) and "rule=slope" in str(tangrad.make_jaxpr(tangrad.vmap(f))(X))


def test_custom_vmap_in_reverse():
    f = tangrad.custom_vmap(lambda x: tangrad.numpy.sin(x))
    f.def_vmap(lambda size, batched, x: (tangrad.numpy.sin(x), True))
    assert numpy.allclose(tangrad.grad(lambda x: tangrad.vmap(f)(x).sum())(X), numpy.cos(X))
    assert numpy.allclose(tangrad.vmap(tangrad.grad(f))(X), numpy.cos(X))
    assert numpy.allclose(tangrad.jit(tangrad.grad(f))(X[0]), numpy.cos(X[0]))


def test_custom_vmap_in_a_rule_made_of_its_derivative():
    """Known values beside unknown tangents: the call is taken apart."""
    wave = tangrad.custom_vmap(lambda x: tangrad.numpy.sin(x) * x)
    wave.def_vmap(lambda size, batched, x: (tangrad.numpy.sin(x) * x, True))
    f = tangrad.custom_jvp(lambda x: wave(x))
    f.defjvp(lambda primals, tangents: tangrad.jvp(wave, primals, tangents))
    slope, curve = numpy.cos(X) * X + numpy.sin(X), 2 * numpy.cos(X) - X * numpy.sin(X)
    total = lambda x: f(x).sum()
    assert numpy.allclose(tangrad.grad(total)(X), slope, rtol=1e-5)
    assert numpy.allclose(tangrad.jit(tangrad.grad(lambda x: tangrad.grad(total)(x).sum()))(X), curve, rtol=1e-4)
    assert numpy.allclose(tangrad.vmap(tangrad.grad(f))(X), slope, rtol=1e-5)
    assert numpy.allclose(tangrad.vmap(tangrad.grad(lambda x: f(x * 2.0)))(X / 2), 2 * slope, rtol=1e-5)


def test_what_is_refused():
    f = tangrad.custom_vmap(lambda x: x)
    with pytest.raises(AttributeError, match="has no rule"):
        f(1.0)
    f.def_vmap(lambda size, batched, x: x)
    with pytest.raises(TypeError, match="must return a pair"):
        tangrad.vmap(f)(X)
    f.def_vmap(lambda size, batched, x: (x, [True]))
    with pytest.raises(ValueError, match="out_batched in the structure of the output"):
        tangrad.vmap(f)(X)
    f.def_vmap(lambda size, batched, x: (x[0], True))
    with pytest.raises(ValueError, match=r"declares output 0 mapped, but it is f32\[\]"):
        tangrad.vmap(f)(X)
    with pytest.raises(TypeError, match="closes over a value that is mapped"):

        def outer(y):
            g = tangrad.custom_vmap(lambda x: x * y)
            g.def_vmap(lambda size, batched, x: (x, batched[0]))
            return g(1.0)

        tangrad.vmap(outer)(X)
    with pytest.raises(ValueError, match=r"output 0, f32\[2\], but linear argument 0 is f32\[3\]"):
        tangrad.linear_call(lambda r, x: x, lambda r, ct: ct[:2], (), X)
    with pytest.raises(TypeError, match="must return the structure of linear_args"):
        tangrad.linear_call(lambda r, x: x, lambda r, ct: (ct, ct), (), X)
    with pytest.raises(TypeError, match="residual_args is 'text'"):
        tangrad.linear_call(lambda r, x: x, lambda r, ct: ct, "text", X)


def test_only_tangents_of_a_sequential_function_are_mapped():
    f = tangrad.custom_batching.sequential_vmap(lambda x, y: {"out": tangrad.numpy.sin(x) * y})
    found = tangrad.jacfwd(f)(X, X)["out"]
    assert numpy.allclose(found, numpy.diag(numpy.cos(X) * X))
    push = lambda t: tangrad.jvp(f, (X, X), (t, t))
    pushed = tangrad.vmap(push, out_axes=(None, 0))(numpy.eye(X.size, dtype=X.dtype))
    assert pushed[0]["out"].shape == X.shape and pushed[1]["out"].shape == (X.size, X.size)


# --- `experimental.custom_dce`: what is computed where only some results of a function are used ---


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


def test_dce_what_is_refused():
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
