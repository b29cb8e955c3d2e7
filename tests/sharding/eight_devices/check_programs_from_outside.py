"""Programs that were traced outside of a checked `shard_map`, where nothing differs, and that are evaluated within."""

from functools import partial

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.core import eval_jaxpr, jaxpr_as_function
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal
from tests.sharding.random_derivatives.operations import BACKWARD_ONLY, LOCAL

MESH = tangrad.make_mesh((2,), ("d",))
shard_map = partial(tangrad.shard_map, mesh=MESH)
W = np.arange(4, dtype=np.float32) / 4 + 0.1
X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8 - 0.3


def scanned(w, x):
    return lax.scan(lambda carry, _: (jnp.sin(carry * w) + x, carry * x), w, None, length=3)[0]


def chosen(w, x):
    return lax.cond(x.sum() > 0, lambda: scanned(w, x), lambda: w * x)


def looped(w, x):
    return lax.fori_loop(0, 2, lambda i, pair: (pair[1], scanned(*pair)), (w, x))[1]


FUNCTIONS = {name: function for name, (count, function) in (LOCAL | BACKWARD_ONLY).items() if count == 2} | {
    "scanned": scanned,
    "chosen": chosen,
    "looped": looped,
    "jit of a branch": tangrad.jit(chosen),
    "checkpoint of a branch": tangrad.checkpoint(chosen),
    "jit of a loop": lambda w, x: tangrad.jit(lambda v: v * scanned(w, x))(x),
    "composite": lambda w, x: lax.composite(scanned, "tests.scanned")(w, x),
    "custom_vmap": tangrad.custom_batching.custom_vmap(scanned),
    "linear_call": lambda w, x: tangrad.linear_call(lambda r, v: r * v, lambda r, ct: r * ct, jnp.sin(w), x),
    "vmap": tangrad.vmap(chosen),
    "map": lambda w, x: lax.map(lambda row: scanned(row, x), jnp.outer(w, w)).sum(0),
}


FUNCTIONS["custom_vmap"].def_vmap(lambda size, batched, w, x: (w * x, True))


def assert_all_equal(found, expected, tolerance) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_equal(one, other, tolerance)


def evaluated(closed):
    return lambda *args: eval_jaxpr(closed.jaxpr, closed.consts, *args)[0]


def as_function(closed):
    return lambda *args: jaxpr_as_function(closed)(*args)[0]


def derivatives(function):
    """The gradient of the sum over devices, by what is the same and by what is not."""
    return tangrad.grad(lambda w, x: lax.psum((function(w, x.reshape(4)) ** 2).sum(), "d"), (0, 1))


def whole(function):
    return lambda w, x: sum((function(w, row) ** 2).sum() for row in x)


@pytest.mark.parametrize("evaluate", [evaluated] if ON_XLA else [evaluated, as_function])
@pytest.mark.parametrize("name", ["scanned", "chosen", "custom_linear_solve"] if ON_XLA else FUNCTIONS)
def test_gradients(name: str, evaluate) -> None:
    function = FUNCTIONS[name]
    staged = evaluate(tangrad.make_jaxpr(function)(W, X[0]))
    expected = tangrad.grad(whole(function), (0, 1))(W, X)
    inside = shard_map(derivatives(staged), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_all_equal(inside(W, X), expected, 1e-4)
    loss = lambda w, x: lax.psum((staged(w, x.reshape(4)) ** 2).sum(), "d")
    outside = tangrad.grad(shard_map(loss, in_specs=(P(), P("d")), out_specs=P()), (0, 1))
    assert_all_equal(outside(W, X), expected, 1e-4)


@pytest.mark.parametrize("name", ["chosen"] if ON_XLA else FUNCTIONS)
def test_second_derivatives(name: str) -> None:
    function = FUNCTIONS[name]
    staged = evaluated(tangrad.make_jaxpr(function)(W, X[0]))
    squares = lambda gradients: sum([(gradient**2).sum() for gradient in gradients])
    expected = tangrad.grad(lambda w: squares(tangrad.grad(whole(function), (0, 1))(w, X)))(W)
    mapped = shard_map(derivatives(staged), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_equal(tangrad.grad(lambda w: squares(mapped(w, X)))(W), expected, 1e-3)


@pytest.mark.parametrize("name", ["chosen"] if ON_XLA else [name for name in FUNCTIONS if name not in BACKWARD_ONLY])
def test_what_was_linearised_outside(name: str) -> None:
    """A linear function of what does not differ, called with directions that do; and its gradient by these."""
    _, linear = tangrad.linearize(FUNCTIONS[name], W, X[0])
    expected = tangrad.grad(whole(linear), (0, 1))(W, X)
    inside = shard_map(derivatives(linear), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_all_equal(inside(W, X), expected, 1e-4)


def test_loops_that_end_when_they_want() -> None:
    """Forward derivatives; a condition that differs makes all that goes round differ."""

    def function(w, x):
        return lax.while_loop(
            lambda pair: pair[0].sum() < 9, lambda pair: (pair[0] + x * x + 1, pair[1] * 1.5), (x, w)
        )[1]

    staged = evaluated(tangrad.make_jaxpr(function)(W, X[0]))
    by_w = lambda f: lambda w, x: tangrad.jvp(lambda v: f(v, x.reshape(4)), (w,), (w,))[1][None]
    found = shard_map(by_w(staged), in_specs=(P(), P("d")), out_specs=P("d"))(W, X)
    assert_equal(found, np.concatenate([by_w(function)(W, row) for row in X]), 1e-5)


def test_what_stays_the_same_is_known_to() -> None:
    """A result of a loop that does not depend on what differs needs no sum over devices."""

    def function(w, x):
        one, other = lax.scan(lambda pair, _: ((jnp.sin(pair[0]), pair[1] * x), None), (w, x), None, length=2)[0]
        return one, other

    closed = tangrad.make_jaxpr(function)(W, X[0])
    run = lambda w, x: tuple(eval_jaxpr(closed.jaxpr, closed.consts, w, x.reshape(4)))
    same, each = shard_map(run, in_specs=(P(), P("d")), out_specs=(P(), P("d")))(W, X)
    assert_equal(same, np.sin(np.sin(W)), 1e-6)
    assert_equal(each.reshape(2, 4), X**3, 1e-6)


def test_maps_within_the_program() -> None:
    """A map over another axis of the mesh, whose parts come to differ along the axis around it."""
    mesh = tangrad.make_mesh((2, 2), ("d", "e"))
    inner = tangrad.shard_map(scanned, mesh=mesh, in_specs=(P("e"), P("e")), out_specs=P("e"), axis_names={"e"})
    closed = tangrad.make_jaxpr(inner)(W, X[0])
    loss = lambda w, x: lax.psum((evaluated(closed)(w, x.reshape(4)) ** 2).sum(), "d")
    outer = tangrad.shard_map(loss, mesh=mesh, in_specs=(P(), P("d")), out_specs=P(), axis_names={"d"})
    assert_all_equal(tangrad.grad(outer, (0, 1))(W, X), tangrad.grad(whole(scanned), (0, 1))(W, X), 1e-4)


def test_branches_not_taken_give_no_nan() -> None:
    """Mapped, both run; what a loop in one makes of rows that take the other has no part in derivatives."""
    roots = lambda w: lax.scan(lambda carry, _: (jnp.sqrt(carry), None), w, None, length=2)[0]

    def loss(w, x):
        return tangrad.vmap(lambda a, b: lax.cond(a + b > 0, roots, jnp.cos, a))(w, x).sum()

    W = np.array([0.0, 4.0, 0.0, 1.0], np.float32)
    X = np.array([[-1, -1, -1, -9], [-1, -1, -1, 0]], np.float32)
    found = shard_map(tangrad.grad(lambda w, x: loss(w, x.reshape(4))), in_specs=(P(), P("d")), out_specs=P())(W, X)
    assert_equal(found, tangrad.grad(loss)(W, X[0]) + tangrad.grad(loss)(W, X[1]), 1e-5)
