"""`vjp(…).with_refs`, and residuals that are taken out and put back."""

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
