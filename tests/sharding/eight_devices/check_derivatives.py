"""Derivatives over devices: within checked maps, along axes, of random programs."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad._sharding.xmap.axes import manual_lowering, spmd_lowering
from tangrad.experimental.maps import SerialLoop
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, matrix, mesh
from tests.sharding.random_derivatives import MAPS, sweep

# --- Derivatives inside of checked sharded maps ---


shard_map = partial(tangrad.shard_map, mesh=mesh())
X = matrix() / 8
w = np.arange(8, dtype=np.float32) / 8


def loss(v, a):
    return (jnp.sin(a @ v) ** 2).sum()


WHOLE = tangrad.grad(loss)(w, X)


@pytest.mark.parametrize(
    ("function", "times"),
    [
        (loss, 1),  # of each device: the gradient of all of them together
        (lambda v, a: lax.psum(loss(v, a), ("x", "y")), 1),
        (lambda v, a: lax.pmean(loss(v, a), ("x", "y")), 1 / 8),
        (lambda v, a: lax.psum(loss(v, a), "y"), 1),
        (lambda v, a: loss(lax.pcast(v, "x", to="varying"), a), 1),
        (tangrad.jit(loss), 1),
        (tangrad.checkpoint(loss), 1),
        (lambda v, a: sum(lax.scan(lambda c, row: (c + jnp.sin(row @ v) ** 2, None), 0.0, a)[:1]), 1),
        (lambda v, a: lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1]), (0, 1.0))[1] * loss(v, a), 1),
    ],
)
def test_by_what_all_devices_share(function, times) -> None:
    inside = shard_map(lambda v, a: tangrad.grad(function)(v, a), in_specs=(P(), P(("x", "y"))), out_specs=P())
    assert_equal(inside(w, X), times * WHOLE, 1e-4)


def test_by_what_each_device_has() -> None:
    own = shard_map(tangrad.grad(loss, 1), in_specs=(P(), P(("x", "y"))), out_specs=P(("x", "y")))
    assert_equal(own(w, X), tangrad.grad(loss, 1)(w, X), 1e-4)
    marked = shard_map(
        lambda v, a: tangrad.grad(loss)(lax.pvary(v, ("x", "y")), a)[None],
        in_specs=(P(), P(("x", "y"))), out_specs=P(("x", "y")),
    )  # fmt: skip
    each = marked(w, X)
    assert each.shape == (8, 8)
    assert_equal(each.sum(0), WHOLE, 1e-4)
    one = shard_map(tangrad.grad(loss), in_specs=(P(), P("x")), out_specs=P())  # along "y" nothing differs
    assert_equal(one(w, X), WHOLE, 1e-4)


def test_branches_that_not_all_devices_take() -> None:
    """What is summed over devices is summed outside of them: in a branch a device would wait for those in the other."""

    def chosen(v, a):
        return lax.cond(lax.axis_index("x") > 0, lambda: loss(v, a), lambda: 2 * loss(v, a))

    inside = shard_map(tangrad.grad(chosen), in_specs=(P(), P(("x", "y"))), out_specs=P())
    expected = 2 * tangrad.grad(loss)(w, X[:4]) + tangrad.grad(loss)(w, X[4:])
    assert_equal(inside(w, X), expected, 1e-4)


def test_derivatives_of_derivatives() -> None:
    inside = shard_map(tangrad.grad(loss), in_specs=(P(), P(("x", "y"))), out_specs=P())
    squares = lambda v: (inside(v, X) ** 2).sum()
    expected = lambda v: (tangrad.grad(loss)(v, X) ** 2).sum()
    assert_equal(tangrad.grad(squares)(w), tangrad.grad(expected)(w), 1e-3)
    assert_equal(tangrad.vmap(inside, (0, None))(np.stack([w, 2 * w]), X)[1], tangrad.grad(loss)(2 * w, X), 1e-4)
    hessian = shard_map(tangrad.hessian(loss), in_specs=(P(), P(("x", "y"))), out_specs=P())
    assert_equal(hessian(w, X), tangrad.hessian(loss)(w, X), 1e-3)


def test_one_function_in_maps_that_check_and_maps_that_do_not() -> None:
    """Nothing that is remembered of a function in one of them is used in the other."""

    def indexed(v):
        return (v * lax.axis_index("x")).sum() + lax.scan(lambda c, _: (c * 2.0, None), v.sum(), None, length=2)[0]

    gradient = tangrad.grad(tangrad.jit(indexed))
    for _ in range(2):
        checked = shard_map(gradient, in_specs=P(), out_specs=P())(w)
        assert_equal(checked, np.full(8, 9.0))  # 0 + 4 and 1 + 4, of the devices along "x"
        each = shard_map(lambda v: gradient(v)[None], in_specs=P(), out_specs=P("x"), check_vma=False)(w)
        assert_equal(each, np.stack([np.full(8, 4.0), np.full(8, 5.0)]))


def test_cotangents_and_casts_that_do_not_fit() -> None:
    def pulled(v, a):
        return tangrad.vjp(lambda v: v * 2, v)[1](a[0])[0]

    with pytest.raises(ValueError, match=r"vjp: the cotangent differs along the mapped axes \('x', 'y'\)"):
        shard_map(pulled, in_specs=(P(), P(("x", "y"))), out_specs=P())(w, X)
    with pytest.raises(ValueError, match=r"pcast: a value of type f32\[1,8;.*\] differs along \('x',\) already"):
        shard_map(lambda a: lax.pcast(a, "x", to="varying"), in_specs=P(("x", "y")), out_specs=P(("x", "y")))(X)
    with pytest.raises(ValueError, match="pcast: to must be one of varying, unreduced, reduced, got 'invariant'"):
        shard_map(lambda a: lax.pcast(a, "x", to="invariant"), in_specs=P("x"), out_specs=P("x"))(X)
    with pytest.raises(ValueError, match=r"may differ along the mesh axes \('x',\)"):
        shard_map(lambda v: tangrad.grad(loss)(lax.pvary(v, "x"), X), in_specs=P(), out_specs=P())(w)
    assert tangrad.grad(lambda v: v * v)(3.0) == 6.0


# --- `reduce_axes` on meshes ---


W = np.linspace(-1, 1, 4, dtype=np.float32)
EXAMPLES = (np.arange(32, dtype=np.float32).reshape(8, 4) - 9) / 8
EACH = np.cos(W * EXAMPLES) * EXAMPLES
TOTAL = EACH.sum(0)


def wave(w: Any, x: Any) -> Any:
    return jnp.sum(jnp.sin(w * x))


def looped(w: Any, x: Any) -> Any:
    return lax.scan(lambda total, pair: (total + jnp.sin(pair[0] * pair[1]), None), 0.0, (w, x))[0]


# XLA takes a second for each.
LOSSES = [looped] if ON_XLA else [wave, tangrad.jit(wave), tangrad.checkpoint(wave), looped]


def total(loss: Any, axes: Any) -> Any:
    return tangrad.grad(loss, reduce_axes=axes)


@pytest.mark.parametrize("loss", LOSSES)
def test_pmap(loss: Any) -> None:
    each = tangrad.pmap(total(loss, ()), "i", in_axes=(None, 0))(W, EXAMPLES)
    assert_equal(each, EACH)
    found = tangrad.pmap(total(loss, "i"), "i", in_axes=(None, 0))(W, EXAMPLES)
    assert_equal(found, np.stack([TOTAL] * 8))
    one = tangrad.pmap(total(loss, "i"), "i", in_axes=(None, 0), out_axes=None)(W, EXAMPLES)
    assert_equal(one, TOTAL)
    own = tangrad.pmap(total(loss, "i"), "i")(np.stack([W] * 8), EXAMPLES)  # what each device has of its own
    assert_equal(own, EACH)


@pytest.mark.parametrize("loss", LOSSES)
def test_soft_pmap(loss: Any) -> None:
    many = np.concatenate([EXAMPLES, EXAMPLES + 1, EXAMPLES - 2])
    found = tangrad.soft_pmap(total(loss, "i"), "i", in_axes=(None, 0), out_axes=None)(W, many)
    assert_equal(found, (np.cos(W * many) * many).sum(0), 1e-4)


def test_pmap_in_pmap_and_vmap_in_pmap() -> None:
    pairs = EXAMPLES.reshape(4, 2, 4)
    inner = tangrad.pmap(total(wave, ("i", "j")), "j", in_axes=(None, 0), out_axes=None)
    assert_equal(tangrad.pmap(inner, "i", in_axes=(None, 0), out_axes=None)(W, pairs), TOTAL)
    rows = tangrad.vmap(total(wave, "j"), (None, 0), None, axis_name="j")
    assert_equal(tangrad.pmap(rows, "i", in_axes=(None, 0))(W, pairs), EACH.reshape(4, 2, 4).sum(1))


def test_a_training_loop_in_pmap() -> None:
    def train(w: Any, x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda _, w: w - 0.01 * total(wave, "i")(w, x), w)

    expected = W
    for _ in range(3):
        expected = expected - 0.01 * (np.cos(expected * EXAMPLES) * EXAMPLES).sum(0)
    assert_equal(tangrad.pmap(train, "i", in_axes=(None, 0), out_axes=None)(W, EXAMPLES), expected)


def test_a_gradient_from_outside_of_one_inside() -> None:
    def of(w: Any) -> Any:
        return tangrad.pmap(lambda w, x: jnp.sum(total(wave, "i")(w, x)), "i", in_axes=(None, 0), out_axes=None)(
            w, EXAMPLES
        )

    assert_equal(tangrad.grad(of)(W), (-np.sin(W * EXAMPLES) * EXAMPLES * EXAMPLES).sum(0), 1e-4)


def test_rules_that_are_traced_when_the_map_is_differentiated() -> None:
    @tangrad.custom_vjp
    def f(w: Any, x: Any) -> Any:
        return wave(w, x)

    f.defvjp(lambda w, x: (wave(w, x), (w, x)), lambda res, ct: (ct * total(wave, "i")(*res), None))

    def of(w: Any) -> Any:
        return jnp.sum(tangrad.pmap(f, "i", in_axes=(None, 0))(w, EXAMPLES))

    assert_equal(tangrad.grad(of)(W), 8 * TOTAL, 1e-4)  # each device has the total, and these are summed


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_shard_map(loss: Any, checked: bool) -> None:
    rows = P(("x", "y"))

    def on_device(w: Any, x: Any) -> Any:
        return total(loss, ("x", "y"))(w, x[0])

    mapped = tangrad.shard_map(on_device, mesh=mesh(), in_specs=(P(), rows), out_specs=P(), check_vma=checked)
    assert_equal(mapped(W, EXAMPLES), TOTAL)
    assert_equal(tangrad.jit(mapped)(W, EXAMPLES), TOTAL)


def test_one_axis_of_a_mesh() -> None:
    def on_device(w: Any, x: Any) -> Any:
        return total(wave, "y")(w, x[0])[None]

    mapped = tangrad.shard_map(on_device, mesh=mesh(), in_specs=(P(), P(("x", "y"))), out_specs=P("x"), check_vma=False)
    assert_equal(mapped(W, EXAMPLES), EACH.reshape(2, 4, 4).sum(1))


@pytest.mark.parametrize("resources", [{}, {"batch": "x"}, {"batch": ("x", "y")}])
@pytest.mark.parametrize("spmd", [(True, False), (True, True), (False, False)])
def test_xmap(resources: Any, spmd: Any) -> None:
    mapped = tangrad.xmap(total(wave, "batch"), in_axes=({}, {0: "batch"}), out_axes={}, axis_resources=resources)
    with spmd_lowering(spmd[0]), manual_lowering(spmd[1]), mesh():
        assert_equal(mapped(W, EXAMPLES), TOTAL)


def test_serial_loops_refuse_sums_over_them() -> None:
    mapped = tangrad.xmap(
        total(wave, "batch"), in_axes=({}, {0: "batch"}), out_axes={}, axis_resources={"batch": SerialLoop(2)}
    )
    with pytest.raises(NotImplementedError, match="batch"):
        mapped(W, EXAMPLES)


# --- Derivatives of derivatives over devices: what is the same on all of them counts once ---
# Some of the random programs of `tests.sharding.random_derivatives`, and what they found, in short.


MESH = tangrad.make_mesh((2,), ("d",))
over_mesh = partial(tangrad.shard_map, mesh=MESH)
FACTOR = np.arange(3, dtype=np.float32) / 3
PARTS = np.arange(12, dtype=np.float32).reshape(4, 3) / 7
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


def random_loss(mean, inner=lambda function: function):
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
    expected = ORDERS[order](random_loss(lambda total: total / 2, inner))(FACTOR, PARTS)
    on_devices = random_loss(lambda total: lax.pmean(total, "d"), inner)
    outside = ORDERS[order](over_mesh(on_devices, in_specs=(P(), P("d")), out_specs=P()))
    assert_equal(outside(FACTOR, PARTS), expected, 1e-4)
    inside = over_mesh(ORDERS[order](on_devices), in_specs=(P(), P("d")), out_specs=P())
    assert_equal(inside(FACTOR, PARTS), expected, 1e-4)


@pytest.mark.parametrize("order", list(ORDERS)[:2] if ON_XLA else ORDERS)
@pytest.mark.parametrize("check_vma", [True, False])
def test_examples_along_an_axis_of_the_mesh(order: str, check_vma: bool) -> None:
    """What `vmap` cuts along an axis differs along it, though no spec of the map names it."""
    scale = lambda v: lax.psum(jnp.sin(v) * (1.0 + lax.axis_index("d")), "d") * v
    inner = tangrad.shard_map(
        scale, mesh=tangrad.make_mesh((2, 2), ("d", "e")), in_specs=P(), out_specs=P(), check_vma=check_vma
    )
    mapped = lambda w, x: (tangrad.vmap(inner, spmd_axis_name="e")(w * x) ** 2).sum()
    expected = ORDERS[order](lambda w, x: ((3 * jnp.sin(w * x) * w * x) ** 2).sum())(FACTOR, PARTS)
    assert_equal(ORDERS[order](mapped)(FACTOR, PARTS), expected, 1e-3)


def test_maps_within_take_the_mesh_around() -> None:
    both = tangrad.make_mesh((2, 2), ("d", "e"))
    inner = tangrad.shard_map(lambda v: lax.psum(v, ("d", "e")), in_specs=P("e"), out_specs=P(), axis_names={"e"})
    total = tangrad.shard_map(inner, mesh=both, in_specs=P("d"), out_specs=P(), axis_names={"d"})
    assert_equal(total(PARTS), PARTS.sum(0)[None])
    assert_equal(tangrad.grad(lambda x: (total(x) ** 2).sum())(PARTS), np.tile(2 * PARTS.sum(0), (4, 1)))


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

    assert_equal(over_mesh(parts, in_specs=P("d"), out_specs=P("d"))(PARTS), 0 * PARTS)


def test_sums_of_values_that_were_marked() -> None:
    """The cotangent of a sum is the same everywhere; what was marked has it on each device."""
    total = lambda w: lax.psum(lax.pcast(w, "d", to="varying") * 3, "d")
    assert float(tangrad.grad(over_mesh(total, in_specs=P(), out_specs=P()))(2.0)) == 6.0
    assert float(over_mesh(tangrad.grad(total), in_specs=P(), out_specs=P())(2.0)) == 6.0


def test_linear_transposes() -> None:
    """The cotangent of an example that differs is that of each device."""
    scaled = lambda w, x: tangrad.linear_transpose(lambda v: v * w, x)(x)[0]
    assert_equal(over_mesh(scaled, in_specs=(P(), P("d")), out_specs=P("d"))(FACTOR, PARTS), FACTOR * PARTS)
    by_type = lambda w, x: tangrad.linear_transpose(lambda v: v * w, tangrad.eval_shape(jnp.sin, x))(x)[0]
    assert_equal(over_mesh(by_type, in_specs=(P(), P("d")), out_specs=P("d"))(FACTOR, PARTS), FACTOR * PARTS)


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
    matrix = np.eye(3, dtype=np.float32) * 2 + PARTS[:3] / 4

    def parts(w, x):
        row = jnp.sin(x).sum(0)
        differs = matrix * (1 + row)
        return (solver(matrix, row * w) ** 2).sum() + (solver(differs, w) ** 2).sum()

    same = lambda w: (solver(matrix * jnp.cos(w), w) ** 2).sum()
    on_devices = lambda w, x: lax.psum(parts(w, x), "d") + same(w)
    whole = lambda w, x: parts(w, x[:2]) + parts(w, x[2:]) + same(w)
    expected = ORDERS[order](whole)(FACTOR, PARTS)
    outside = ORDERS[order](over_mesh(on_devices, in_specs=(P(), P("d")), out_specs=P()))
    assert_equal(outside(FACTOR, PARTS), expected, 1e-3)
    inside = over_mesh(ORDERS[order](on_devices), in_specs=(P(), P("d")), out_specs=P())
    assert_equal(inside(FACTOR, PARTS), expected, 1e-3)
