"""What `vjp` returns: `with_refs`, `with_logs`, and residuals that are taken out and put back."""

import functools

import numpy as np
import pytest

import tangrad
from tangrad import numpy as tnp
from tangrad.ad import DidntWant, DontWant, GradRef, GradValue, NotNeeded, NotSaveable

BACKENDS = ["numpy", "xla"]
X = np.arange(1.0, 13.0, dtype="float32").reshape(3, 4) / 10
W = np.arange(1.0, 9.0, dtype="float32").reshape(4, 2) / 10


def loss(weights, x):
    return (tnp.tanh(x @ weights["w"] + weights["b"]) ** 2).sum()


def weights():
    return {"b": tnp.ones(2), "w": tnp.asarray(W)}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("jitted", [False, True])
def test_gradients_are_added_over_the_steps_of_a_loop(backend, jitted):
    parts = np.stack([X, X + 1, X - 1])

    def total(weights, parts):
        sums = tangrad.tree.map(lambda w: tangrad.new_ref(tnp.zeros_like(w)), weights)

        def step(carry, part):
            value, pullback = tangrad.vjp(loss, weights, part)
            into, mark = pullback.with_refs(sums, DontWant())(tnp.ones_like(value))
            assert into == {"b": GradRef(), "w": GradRef()} and mark == DidntWant()
            return carry, value

        _, values = tangrad.lax.scan(step, (), parts)
        return tangrad.tree.map(tangrad.freeze, sums), values

    with tangrad.use_backend(backend):
        found, values = (tangrad.jit(total) if jitted else total)(weights(), parts)
        wanted = [tangrad.value_and_grad(loss)(weights(), part) for part in parts]
    np.testing.assert_allclose(values, [value for value, _ in wanted], rtol=1e-6)
    for name in ("b", "w"):
        np.testing.assert_allclose(found[name], sum(np.asarray(gradient[name]) for _, gradient in wanted), rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_gradient_goes_where_it_is_sent(backend):
    with tangrad.use_backend(backend):
        _, pullback = tangrad.vjp(lambda x, y, n: x * y * n, 2.0, 3.0, 5)
        into = tangrad.new_ref(1.0)
        first, second, third = pullback.with_refs(into, GradValue(), "ignored: it has no gradient")(1.0)
    assert (first, float(second), third.dtype) == (GradRef(), 10.0, tangrad.dtypes.float0)
    assert into[...] == 16.0
    assert repr(first) == "GradRef()" and first != DidntWant()


def test_gradients_of_each_example_in_references_of_its_own():
    def by_reference(x):
        into = tangrad.new_ref(tnp.zeros_like(x))
        value, pullback = tangrad.vjp(lambda x: x**3, x)
        pullback.with_refs(into)(tnp.ones_like(value))
        return tangrad.freeze(into)

    assert tangrad.vmap(by_reference)(tnp.arange(3.0)).tolist() == [0, 3, 12]


def test_a_gradient_is_added_once_in_the_program():
    into = tangrad.new_ref(tnp.zeros(4))
    program = tangrad.make_jaxpr(lambda: tangrad.vjp(lambda x: x**2, tnp.ones(4))[1].with_refs(into)(tnp.ones(4)))()
    assert str(program).count("ref_addupdate") == 1


def test_arguments_that_are_residuals():
    _, pullback = tangrad.vjp(lambda x, y, z: x @ y + z, X, W, 1.0)
    of_x, of_y, of_z = pullback.args_res
    assert (of_x.shape, of_y.shape, of_z) == ((3, 4), (4, 2), NotNeeded())
    assert pullback.opaque_residuals == [] and len(tangrad.tree.leaves(pullback)) == 2
    _, opaque = tangrad.vjp(tnp.exp, 1.0)
    assert opaque.args_res == [NotNeeded()] and len(opaque.opaque_residuals) == 1
    assert pullback.in_tree.num_leaves == 3 and pullback.out_tree.num_leaves == 1
    assert len(pullback.jaxpr.invars) == 5


@pytest.mark.parametrize("backend", BACKENDS)
def test_residuals_are_taken_out_and_put_back(backend):
    with tangrad.use_backend(backend):

        @tangrad.jit
        def forward(weights, x):
            value, pullback = tangrad.vjp(loss, weights, x)
            pullback.args_res[0] = None
            return value, pullback

        @tangrad.jit
        def backward(pullback, weights):
            pullback.args_res[0] = weights
            return pullback(1.0)

        _, pullback = forward(weights(), X)
        found, _ = backward(pullback, weights())
        with pytest.raises(ValueError, match="put it back before the function is called"):
            pullback(1.0)
        wanted = tangrad.grad(loss)(weights(), X)
    np.testing.assert_allclose(found["w"], wanted["w"], rtol=1e-6)


@pytest.mark.parametrize(
    ("accumulators", "message"),
    [
        (lambda: (tangrad.new_ref(0.0),), "tree structures differ"),
        (
            lambda: (None, GradValue()),
            r"ad\.GradValue\(\) or ad\.DontWant\(\) for each array .* got None of type NoneTy",
        ),
        (
            lambda: (tangrad.new_ref(tnp.zeros(3)), GradValue()),
            r"requires a ref of type Ref\{f32\[\]\} .* Ref\{f32\[3\]\}",
        ),
        (lambda: (tangrad.new_ref(1), GradValue()), r"requires a ref of type Ref\{f32\[\]\} .* Ref\{i32\[\]\}"),
    ],
)
def test_bad_accumulators(accumulators, message):
    _, pullback = tangrad.vjp(lambda x, y: x * y, 2.0, 3.0)
    with pytest.raises(ValueError, match=message):
        pullback.with_refs(*accumulators())


def test_bad_residuals():
    _, pullback = tangrad.vjp(lambda x, y: x * y, 2.0, 3.0)
    with pytest.raises(ValueError, match="an entry for each of the 2 arguments"):
        pullback.args_res = [1.0]
    pullback.args_res = [1.0, tnp.zeros(2)]
    with pytest.raises(ValueError, match=r"residual args\[1\], in args_res, must be of type f32\[\], got f32\[2\]"):
        pullback(1.0)
    with pytest.raises(ValueError, match="there are 0 opaque residuals, got 1"):
        pullback.opaque_residuals = [1.0]


def test_arguments_that_are_not_held():
    def forward(weights, x):
        return tangrad.vjp(loss, weights, x, saveable_args=({"b": True, "w": False}, False))

    for value, pullback in (forward(weights(), X), tangrad.jit(forward)(weights(), X)):
        assert pullback.args_res[0]["w"] == pullback.args_res[1] == NotSaveable()
        with pytest.raises(ValueError, match=r"residual args\[.*\], in args_res, is NotSaveable\(\): a not-saveable"):
            tangrad.jit(lambda pullback: pullback(1.0))(pullback)
        pullback.args_res = [weights(), X]
        found, _ = pullback(tnp.ones_like(value))
        np.testing.assert_allclose(found["w"], tangrad.grad(loss)(weights(), X)["w"], rtol=1e-6)


def test_bad_saveable_args():
    with pytest.raises(ValueError, match=r"length 2.*got tuple of length 1|structure"):
        tangrad.vjp(loss, weights(), X, saveable_args=(True,))
    with pytest.raises(TypeError, match="saveable_args must be a bool, or a tree of bools"):
        tangrad.vjp(loss, weights(), X, saveable_args=(1, True))


# --- what backward rules log ------------------------------------------------------------------------------------------


@tangrad.custom_vjp
def sine_times(x, y):
    return tnp.sin(x) * y


sine_times.defvjp_with_logs(
    lambda x, y: (sine_times(x, y), (x, y)),
    lambda res, g: ((tnp.cos(res[0]) * g * res[1], tnp.sin(res[0]) * g), {"f": {"cotangent": g, "y": res[1]}}),
)
XS = np.array([1.0, 2.0, 3.0], "float32")


def loop(xs):
    return tangrad.lax.scan(lambda c, x: (c + x * sine_times(x, 2.0), c), 0.0, xs)[0]


def summed(xs):
    return tangrad.vmap(lambda x: x * sine_times(x, 2.0))(xs).sum()


# The functions, the gradients that they have, and the cotangents that the rule gets: one for each row or iteration.
TWOS = np.full(3, 2.0, "float32")
LOGGED = {
    "itself": (lambda xs: sine_times(xs, TWOS).sum(), 2 * np.cos(XS), np.ones(3)),
    "jit": (tangrad.jit(lambda xs: 3.0 * sine_times(xs, TWOS).sum()), 6 * np.cos(XS), np.full(3, 3.0)),
    "checkpoint": (tangrad.checkpoint(lambda xs: (3.0 * sine_times(xs, TWOS)).sum()), 6 * np.cos(XS), np.full(3, 3.0)),
    "scan": (loop, 2 * np.sin(XS) + 2 * XS * np.cos(XS), XS),
    "vmap": (summed, 2 * np.sin(XS) + 2 * XS * np.cos(XS), XS),
    "vmap-of-scan": (
        lambda xs: tangrad.vmap(loop, in_axes=1)(xs[:, None] * tnp.ones(2)).sum(),
        4 * np.sin(XS) + 4 * XS * np.cos(XS),
        np.stack([XS, XS], 1),
    ),
    "scan-of-jit": (tangrad.jit(lambda xs: tangrad.checkpoint(loop)(xs)), 2 * np.sin(XS) + 2 * XS * np.cos(XS), XS),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", LOGGED)
def test_backward_rules_log_from_within(name, jitted, backend):
    function, gradient, cotangents = LOGGED[name]

    def both(xs):
        _, pullback = tangrad.vjp(function, xs)
        first = pullback(1.0)
        found = pullback.with_logs(1.0)
        return first, found, pullback(1.0), tangrad.grad(function)(xs)

    with tangrad.use_backend(backend):
        (first,), ((found,), logs), (again,), alone = (tangrad.jit(both) if jitted else both)(XS)
        for each in (first, found, again, alone):
            np.testing.assert_allclose(each, gradient, rtol=1e-5)
        assert list(logs) == ["f"] and set(logs["f"]) == {"cotangent", "y"}
        # A scan stacks along its iterations before vmap puts the rows in front.
        logged = np.asarray(logs["f"]["cotangent"])
        np.testing.assert_allclose(logged if logged.shape == cotangents.shape else logged.T, cotangents, rtol=1e-5)
        np.testing.assert_allclose(logs["f"]["y"], 2.0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_logs_within_mapped_calls_and_of_gradients_that_rules_take(backend):
    with tangrad.use_backend(backend):
        each = tangrad.vmap(lambda x, g: tangrad.vjp(sine_times, x, 2.0)[1].with_logs(g))
        (gradients, _), logs = each(XS, tnp.ones(3))
        np.testing.assert_allclose(gradients, 2 * np.cos(XS), rtol=1e-6)
        np.testing.assert_allclose(logs["f"]["cotangent"], np.ones(3))

        # What a rule differentiates for itself is its own business.
        outer = tangrad.custom_vjp(lambda x: x)
        outer.defvjp(lambda x: (x, x), lambda x, g: (g * tangrad.grad(sine_times)(x, 2.0),))
        (gradient,), logs = tangrad.vjp(outer, 1.0)[1].with_logs(1.0)
        assert logs == {} and abs(float(gradient) - 2 * np.cos(1.0)) < 1e-6

        # Entries of one name: the rule that runs last, of the call that came first, has it.
        twice = lambda x: sine_times(sine_times(x, 2.0), 3.0)
        (_, logs) = tangrad.vjp(twice, 1.0)[1].with_logs(1.0)
        assert float(logs["f"]["y"]) == 2.0

        # Gradients go where they belong beside the logs, and the function is a tree of its residuals.
        total = tangrad.new_ref(0.0)
        pullback = tangrad.vjp(sine_times, 1.0, 2.0)[1].with_refs(total, GradValue()).with_logs
        leaves, treedef = tangrad.tree.flatten(pullback)
        (into, _), logs = tangrad.tree.unflatten(treedef, leaves)(1.0)
        assert into == GradRef() and float(logs["f"]["y"]) == 2.0
        np.testing.assert_allclose(total[...], 2 * np.cos(1.0), rtol=1e-6)


def test_logs_of_complex_rules_and_dtypes():
    for dtype in ("bfloat16", "float16", "complex64"):
        square = tangrad.custom_gradient(with_logs=True)(lambda x: (x * x, lambda g: (2 * g * x, {"g": [g, None]})))
        one = tnp.ones((), dtype)
        ((gradient,), logs) = tangrad.vjp(square, one)[1].with_logs(one)
        assert gradient.dtype == logs["g"][0].dtype == dtype and logs["g"][1] is None


def with_bad_logs(logs, x):
    return x, lambda g: (g, logs)


def test_logs_that_are_refused():
    single = tangrad.custom_vjp(lambda x: x)
    single.defvjp_with_logs(lambda x: (x, None), lambda _, g: (g,))
    with pytest.raises(TypeError, match="must produce a pair"):
        tangrad.grad(single)(1.0)
    for bad in ([1.0], (("a", 1.0),)):
        listed = tangrad.custom_gradient(functools.partial(with_bad_logs, bad), with_logs=True)
        with pytest.raises(TypeError, match="None or a dict"):
            tangrad.grad(listed)(1.0)
    # A conditional does not hand them on: that is an error where they are asked for, and nowhere else.
    chosen = lambda x: tangrad.lax.cond(x > 0, lambda v: sine_times(v, 2.0), lambda v: v, x)
    _, pullback = tangrad.vjp(tangrad.jit(chosen), 1.0)
    with pytest.raises(NotImplementedError, match="a backward rule logs something"):
        pullback.with_logs(1.0)
    np.testing.assert_allclose(pullback(1.0)[0], 2 * np.cos(1.0), rtol=1e-6)
