"""Derivatives of derivatives over devices: what is the same on all of them counts once.

Some of the random programs of `tests.sharding.random_derivatives`, and what they found, in short.
"""

from functools import partial

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal
from tests.sharding.random_derivatives.comparing import MAPS, sweep

MESH = tangrad.make_mesh((2,), ("d",))
shard_map = partial(tangrad.shard_map, mesh=MESH)
W = np.arange(3, dtype=np.float32) / 3
X = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
SEEDS = (1012,) if ON_XLA else (2, 1003, 1012, 1031, 1063, 1069, 1082, 1087, 1105, 1107, 1128, 1173, 5134)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_sharded_maps(seed: int) -> None:
    tally = sweep([seed], ["shard_map"])
    assert not tally.wrong, tally.wrong[0]
    assert tally.compared == 1


@pytest.mark.parametrize("name", [name for name in MAPS if name != "shard_map"])
def test_in_other_maps(name: str) -> None:
    seeds = range(1) if ON_XLA else range(4)
    tally = sweep(seeds, [name])
    assert not tally.wrong, tally.wrong[0]
    assert tally.compared == len(seeds)


def loss(mean, inner=lambda function: function):
    return inner(lambda w, x: mean(jnp.sin(x @ w).sum()) + jnp.exp(w).sum())


def scanned(function):
    return lambda w, x: lax.scan(lambda total, _: (total + function(w, x), None), 0.0, None, length=2)[0]


ORDERS = {
    "reverse over reverse": lambda f: tangrad.jacrev(tangrad.grad(f)),
    "reverse over linearize": lambda f: tangrad.jacrev(lambda w, x: tangrad.linearize(f, w, x)[1](jnp.cos(w), x * 0)),
    "reverse over forward": lambda f: tangrad.jacrev(tangrad.jacfwd(f)),
    "forward over reverse": lambda f: tangrad.jacfwd(tangrad.grad(f)),
    "three times": lambda f: tangrad.grad(lambda w, x: tangrad.grad(lambda v: tangrad.grad(f)(v, x).sum())(w).sum()),
}


@pytest.mark.parametrize("inner", [lambda f: f, scanned, *([] if ON_XLA else [tangrad.checkpoint, tangrad.jit])])
@pytest.mark.parametrize("order", list(ORDERS)[:2] if ON_XLA else ORDERS)
def test_what_does_not_differ_counts_once(order: str, inner) -> None:
    expected = ORDERS[order](loss(lambda total: total / 2, inner))(W, X)
    on_devices = loss(lambda total: lax.pmean(total, "d"), inner)
    outside = ORDERS[order](shard_map(on_devices, in_specs=(P(), P("d")), out_specs=P()))
    assert_equal(outside(W, X), expected, 1e-4)
    inside = shard_map(ORDERS[order](on_devices), in_specs=(P(), P("d")), out_specs=P())
    assert_equal(inside(W, X), expected, 1e-4)


@pytest.mark.parametrize("order", list(ORDERS)[:2] if ON_XLA else ORDERS)
@pytest.mark.parametrize("check_vma", [True, False])
def test_examples_along_an_axis_of_the_mesh(order: str, check_vma: bool) -> None:
    """What `vmap` cuts along an axis differs along it, though no spec of the map names it."""
    scale = lambda v: lax.psum(jnp.sin(v) * (1.0 + lax.axis_index("d")), "d") * v
    inner = tangrad.shard_map(
        scale, mesh=tangrad.make_mesh((2, 2), ("d", "e")), in_specs=P(), out_specs=P(), check_vma=check_vma
    )
    mapped = lambda w, x: (tangrad.vmap(inner, spmd_axis_name="e")(w * x) ** 2).sum()
    expected = ORDERS[order](lambda w, x: ((3 * jnp.sin(w * x) * w * x) ** 2).sum())(W, X)
    assert_equal(ORDERS[order](mapped)(W, X), expected, 1e-3)


def test_maps_within_take_the_mesh_around() -> None:
    both = tangrad.make_mesh((2, 2), ("d", "e"))
    inner = tangrad.shard_map(lambda v: lax.psum(v, ("d", "e")), in_specs=P("e"), out_specs=P(), axis_names={"e"})
    total = tangrad.shard_map(inner, mesh=both, in_specs=P("d"), out_specs=P(), axis_names={"d"})
    assert_equal(total(X), X.sum(0)[None])
    assert_equal(tangrad.grad(lambda x: (total(x) ** 2).sum())(X), np.tile(2 * X.sum(0), (4, 1)))


def test_derivatives_that_are_zero_differ_as_values_do() -> None:
    """Along the axes along which the arguments and results differ, whose cotangents are then taken."""

    def parts(x):
        still = lambda v: lax.stop_gradient(v) * 2
        value, linear = tangrad.linearize(still, x)
        (back,) = tangrad.linear_transpose(linear, x)(value)
        tangent = tangrad.jvp(still, (x,), (x,))[1]
        found = [back, tangent, tangrad.grad(lambda v: still(v).sum())(x), tangrad.vjp(still, x)[1](value)[0]]
        assert all([tangrad.typeof(one).named_shape == tangrad.typeof(x).named_shape for one in found])
        return sum(found)

    assert_equal(shard_map(parts, in_specs=P("d"), out_specs=P("d"))(X), 0 * X)


def test_sums_of_values_that_were_marked() -> None:
    """The cotangent of a sum is the same everywhere; what was marked has it on each device."""
    total = lambda w: lax.psum(lax.pcast(w, "d", to="varying") * 3, "d")
    assert float(tangrad.grad(shard_map(total, in_specs=P(), out_specs=P()))(2.0)) == 6.0
    assert float(shard_map(tangrad.grad(total), in_specs=P(), out_specs=P())(2.0)) == 6.0


def test_linear_transposes() -> None:
    """The cotangent of an example that differs is that of each device."""
    scaled = lambda w, x: tangrad.linear_transpose(lambda v: v * w, x)(x)[0]
    assert_equal(shard_map(scaled, in_specs=(P(), P("d")), out_specs=P("d"))(W, X), W * X)
    by_type = lambda w, x: tangrad.linear_transpose(lambda v: v * w, tangrad.eval_shape(jnp.sin, x))(x)[0]
    assert_equal(shard_map(by_type, in_specs=(P(), P("d")), out_specs=P("d"))(W, X), W * X)


def solve(matrix, b):
    return lax.custom_linear_solve(
        lambda v: matrix @ v, b, lambda _, b: jnp.linalg.solve(matrix, b), lambda _, b: jnp.linalg.solve(matrix.T, b)
    )


def root(b):
    def newton(f, z):
        return lax.fori_loop(0, 20, lambda _, z: z - f(z) / (1 + 0.2 * (1 - jnp.tanh(z) ** 2)), z)

    def divided(g, y):
        slope = g(jnp.ones(3))
        return lax.custom_linear_solve(g, y, lambda _, y: y / slope, symmetric=True)

    return lax.custom_root(lambda z: z + 0.2 * jnp.tanh(z) - b, jnp.zeros(3), newton, divided)


@pytest.mark.parametrize(
    "order", ["reverse over reverse", *([] if ON_XLA else ["reverse over forward", "three times"])]
)
@pytest.mark.parametrize("solver", [solve, lambda matrix, b: root(matrix @ b)])
def test_solves(solver, order: str) -> None:
    """Of what differs and of what does not: matrices and right-hand sides."""
    matrix = np.eye(3, dtype=np.float32) * 2 + X[:3] / 4

    def parts(w, x):
        row = jnp.sin(x).sum(0)
        differs = matrix * (1 + row)
        return (solver(matrix, row * w) ** 2).sum() + (solver(differs, w) ** 2).sum()

    same = lambda w: (solver(matrix * jnp.cos(w), w) ** 2).sum()
    on_devices = lambda w, x: lax.psum(parts(w, x), "d") + same(w)
    whole = lambda w, x: parts(w, x[:2]) + parts(w, x[2:]) + same(w)
    expected = ORDERS[order](whole)(W, X)
    outside = ORDERS[order](shard_map(on_devices, in_specs=(P(), P("d")), out_specs=P()))
    assert_equal(outside(W, X), expected, 1e-3)
    inside = shard_map(ORDERS[order](on_devices), in_specs=(P(), P("d")), out_specs=P())
    assert_equal(inside(W, X), expected, 1e-3)
