"""Programs over several devices as files: called on meshes of that size, at any sizes, with their derivatives."""

import dataclasses
import os
import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import export, lax
from tangrad.core import eval_jaxpr, jaxpr_as_function
from tangrad.sharding import AxisType, Mesh, NamedSharding, auto_axes, reshard
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, mesh
from tests.sharding.random_operations import BACKWARD_ONLY, LOCAL

X = np.arange(32, dtype=np.float32).reshape(8, 4) / 16
GRID = mesh(4, 2)
SUM = tangrad.shard_map(lambda a: lax.psum(a, "x"), mesh=GRID, in_specs=P("x", "y"), out_specs=P(None, "y"))


def by(*spec: Any) -> NamedSharding:
    return NamedSharding(GRID, P(*spec))


OVER_ONE = NamedSharding(tangrad.make_mesh((8,), ("z",), AxisType.Auto), P("z"))


def constrained(a: Any) -> Any:
    return lax.with_sharding_constraint(jnp.sin(a), by("y")) @ a.T


def looped(a: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, c: constrained(c) @ c / 8, a), a.sum()


PROGRAMS = {
    "stated": tangrad.jit(lambda a: a + 1, in_shardings=by("x", "y"), out_shardings=by(None, "y")),
    "constrained": tangrad.jit(constrained, in_shardings=by("x", "y")),
    "mapped": tangrad.jit(SUM),
    "over two meshes": tangrad.jit(lambda a: SUM(jnp.sin(a)).sum() + SUM(a), in_shardings=OVER_ONE),
    "looped": tangrad.jit(looped, in_shardings=by("x", "y")),
    "of the argument": tangrad.jit(lambda a: jnp.cumsum(a, 1)),
}


def written(name: str, argument: Any = None, order: int = 1) -> export.Exported:
    """A program that was made, written and read."""
    made = export.export(PROGRAMS[name])(placed() if argument is None else argument)
    read = export.deserialize(made.serialize(vjp_order=order))
    assert read == made and hash(read) == hash(made) and read.nr_devices == 8
    return read


def placed(x: Any = X) -> Any:
    return tangrad.device_put(x, by("x", "y"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_and_their_shardings(name: str) -> None:
    read, program = written(name), PROGRAMS[name]
    given = [a if s is None else tangrad.device_put(X, s) for a, s in zip([placed()], read.in_shardings_jax(GRID))]
    expected = program(*given)
    for found in (read.call(*given), tangrad.jit(read.call)(*given)):
        for one, other in zip(tangrad.tree.leaves(found), tangrad.tree.leaves(expected), strict=True):
            assert_equal(one, np.asarray(other), 1e-5)
    twice = tangrad.jit(lambda a: (read.call(a), read.call(2 * a)))(*given)
    assert_equal(tangrad.tree.leaves(twice[1])[0], np.asarray(tangrad.tree.leaves(program(2 * given[0]))[0]), 1e-5)


@pytest.mark.parametrize("name", ["stated", "constrained", "mapped", "over two meshes"])
def test_any_sizes(name: str) -> None:
    read = written(name, export.symbolic_args_specs(X, "8*n, 2*m"))
    for shape in ((8, 2), (16, 6)):
        x = np.linspace(-1, 1, shape[0] * shape[1], dtype=np.float32).reshape(shape)
        assert_equal(read.call(placed(x)), np.asarray(PROGRAMS[name](x)), 1e-5)
    with pytest.raises(ValueError, match="8\\*n"):
        read.call(placed(X[:4]))


@pytest.mark.parametrize("name", ["stated", "constrained", "mapped"])
def test_derivatives(name: str) -> None:
    read, program = written(name, order=2), PROGRAMS[name]
    given = placed()

    def loss(call: Any) -> Any:
        return lambda a: (jnp.asarray(call(a)) ** 2).sum()

    own, theirs = loss(read.call), loss(program)
    assert_equal(tangrad.grad(own)(given), np.asarray(tangrad.grad(theirs)(X)), 1e-4)
    assert_equal(tangrad.jvp(own, (given,), (given,))[1], np.asarray(tangrad.jvp(theirs, (X,), (X,))[1]), 1e-4)
    second = [tangrad.grad(lambda a, f=f: (tangrad.grad(f)(a) ** 2).sum())(given) for f in (own, theirs)]
    assert_equal(second[0], np.asarray(second[1]), 1e-4)


def test_shardings_over_a_mesh() -> None:
    read = written("stated")
    assert read.in_shardings_jax(GRID) == (by("x", "y"),)
    assert read.out_shardings_jax(GRID) == (by(None, "y"),)
    if ON_XLA:  # on NumPy results are sharded as follows from the arguments
        assert read.call(placed()).sharding.is_equivalent_to(by(None, "y"), 2)
    flat = tangrad.make_mesh((8,), ("all",))
    (over,) = read.in_shardings_jax(flat)
    assert dict(over.mesh.shape) == {"x": 4, "y": 2} and over.spec == P("x", "y")
    turned = Mesh(np.array(tangrad.devices())[::-1].reshape(4, 2), ("x", "y"))
    assert_equal(read.call(tangrad.device_put(X, read.in_shardings_jax(turned)[0])), X + 1)
    with pytest.raises(ValueError, match=r"for 8 devices, and the mesh .* has 4"):
        read.in_shardings_jax(tangrad.make_mesh((4,), ("x",), devices=tangrad.devices()[:4]))
    assert (read.vjp().in_shardings, read.vjp().out_shardings) == (
        (*read.in_shardings, *read.out_shardings),
        read.in_shardings,
    )


def test_a_mesh_in_another_order() -> None:
    turned = Mesh(np.array(tangrad.devices())[::-1].reshape(4, 2), ("x", "y"))
    made = export.export(tangrad.jit(lambda a: a * 2, in_shardings=NamedSharding(turned, P("x"))))(X)
    assert made.in_shardings[0].order == (7, 6, 5, 4, 3, 2, 1, 0)
    read = export.deserialize(made.serialize())
    (back,) = read.in_shardings_jax(GRID)
    assert back == NamedSharding(turned, P("x", None))
    found = read.call(tangrad.device_put(X, back))
    assert_equal(found, 2 * X)
    assert found.sharding.is_equivalent_to(back, 2)


SHUFFLED = Mesh(np.array(tangrad.devices())[[3, 1, 0, 2, 7, 5, 6, 4]].reshape(4, 2), ("x", "y"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_run_on_the_mesh_of_their_arguments(name: str) -> None:
    read = written(name)
    (sharding,) = read.in_shardings_jax(SHUFFLED)
    x = tangrad.device_put(X, sharding or NamedSharding(SHUFFLED, P("x")))
    expected = tangrad.tree.leaves(PROGRAMS[name](X))
    for call in (read.call, tangrad.jit(read.call), tangrad.jit(lambda a: read.call(a + 0))):
        found = tangrad.tree.leaves(call(x))
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other, 1e-5)
        (there,) = read.out_shardings_jax(SHUFFLED)[:1]
        if ON_XLA and there is not None and name == "stated":  # no part changes its device on the way
            assert found[0].sharding.is_equivalent_to(there, 2)


def test_one_within_another() -> None:
    read = written("constrained")
    outer = export.export(tangrad.jit(lambda a: read.call(a) * 2, in_shardings=by("x")))(X)
    assert outer.nr_devices == 8
    assert_equal(outer.call(placed()), 2 * np.asarray(constrained(jnp.asarray(X))), 1e-5)


# --- in other processes -----------------------------------------------------------------------------------------------

ELSEWHERE = """
import sys, numpy as np, tangrad
from tangrad import export
read = export.deserialize(open(sys.argv[1], "rb").read())
X = np.arange(32, dtype=np.float32).reshape(8, 4) / 16
mesh = tangrad.make_mesh((len(tangrad.devices()),), ("all",))
try:
    (sharding,) = read.in_shardings_jax(mesh)
    found = read.call(tangrad.device_put(X, sharding))
except ValueError as error:
    print("refused:", error)
else:
    print(found.sum())
try:
    print("alone", read.call(X).sum())
except ValueError as error:
    print("refused:", error)
"""


@pytest.mark.parametrize("count", [8, 4, 1])
def test_in_a_process_with_so_many_devices(count: int, tmp_path: Any) -> None:
    (tmp_path / "program").write_bytes(export.export(PROGRAMS["constrained"])(X).serialize())
    environment = os.environ | {"TANGRAD_NUM_CPU_DEVICES": str(count)}
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "program")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    meshed, alone = done.stdout.splitlines()
    total = float(np.asarray(constrained(jnp.asarray(X))).sum())
    if count == 8:
        assert float(meshed) == pytest.approx(total, rel=1e-4)
    else:
        assert meshed.startswith("refused: the program is for 8 devices, and the mesh")
    if ON_XLA:
        assert "constrained was exported for 8 devices and is called in a context with 1" in alone
    else:  # one thread computes for all devices: how many there are changes nothing
        assert float(alone.split()[1]) == pytest.approx(total, rel=1e-4)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not ON_XLA, reason="NumPy's programs have no devices")
def test_programs_are_called_over_as_many_devices() -> None:
    read = written("constrained")
    four = NamedSharding(tangrad.make_mesh((4,), ("x",), devices=tangrad.devices()[:4]), P("x"))
    for given, count in ((jnp.asarray(X), 1), (tangrad.device_put(X, four), 4)):
        with pytest.raises(ValueError, match=rf"constrained was exported for 8 devices .* in a context with {count}"):
            read.call(given)
    mapped = tangrad.shard_map(read.call, mesh=GRID, in_specs=P(), out_specs=P())
    with pytest.raises(NotImplementedError, match="outside of shard_map"):
        mapped(X)


@pytest.mark.skipif(not ON_XLA, reason="NumPy's programs have no devices")
def test_files_that_state_another_number_of_devices() -> None:
    read = written("over two meshes")
    four = NamedSharding(tangrad.make_mesh((4,), ("x",), devices=tangrad.devices()[:4]), P("x"))
    bare: Any = {"in_shardings": (), "out_shardings": ()}
    with pytest.raises(ValueError, match="is for 4 devices, and its mesh 'mesh"):
        dataclasses.replace(read, nr_devices=4, **bare).call(tangrad.device_put(X, four))
    with pytest.raises(ValueError, match="is declared for one device"):
        dataclasses.replace(read, nr_devices=1, **bare).call(X)
    with pytest.raises(ValueError, match="is declared for one device"):
        dataclasses.replace(read, nr_devices=1, **bare).call(placed())


def test_other_memories_are_refused() -> None:
    if len(tangrad.devices()[0].memory_kinds) < 2:
        pytest.skip("there is one kind of memory")
    kind = tangrad.devices()[0].memory_kinds[1]
    with pytest.raises(NotImplementedError, match=f"not in '{kind}'"):
        export.export(tangrad.jit(lambda a: a, in_shardings=by("x").with_memory_kind(kind)))(X)


# --- Programs that were traced outside of a checked `shard_map` ---


MESH = tangrad.make_mesh((2,), ("d",))
shard_map = partial(tangrad.shard_map, mesh=MESH)
W = np.arange(4, dtype=np.float32) / 4 + 0.1
VALUES = np.arange(8, dtype=np.float32).reshape(2, 4) / 8 - 0.3


def scanned(w, x):
    return lax.scan(lambda carry, _: (jnp.sin(carry * w) + x, carry * x), w, None, length=3)[0]


def chosen(w, x):
    return lax.cond(x.sum() > 0, lambda: scanned(w, x), lambda: w * x)


def outside_looped(w, x):
    return lax.fori_loop(0, 2, lambda i, pair: (pair[1], scanned(*pair)), (w, x))[1]


FUNCTIONS = {name: function for name, (count, function) in (LOCAL | BACKWARD_ONLY).items() if count == 2} | {
    "scanned": scanned,
    "chosen": chosen,
    "looped": outside_looped,
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
    staged = evaluate(tangrad.make_jaxpr(function)(W, VALUES[0]))
    expected = tangrad.grad(whole(function), (0, 1))(W, VALUES)
    inside = shard_map(derivatives(staged), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_all_equal(inside(W, VALUES), expected, 1e-4)
    loss = lambda w, x: lax.psum((staged(w, x.reshape(4)) ** 2).sum(), "d")
    outside = tangrad.grad(shard_map(loss, in_specs=(P(), P("d")), out_specs=P()), (0, 1))
    assert_all_equal(outside(W, VALUES), expected, 1e-4)


@pytest.mark.parametrize("name", ["chosen"] if ON_XLA else FUNCTIONS)
def test_second_derivatives(name: str) -> None:
    function = FUNCTIONS[name]
    staged = evaluated(tangrad.make_jaxpr(function)(W, VALUES[0]))
    squares = lambda gradients: sum([(gradient**2).sum() for gradient in gradients])
    expected = tangrad.grad(lambda w: squares(tangrad.grad(whole(function), (0, 1))(w, VALUES)))(W)
    mapped = shard_map(derivatives(staged), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_equal(tangrad.grad(lambda w: squares(mapped(w, VALUES)))(W), expected, 1e-3)


@pytest.mark.parametrize("name", ["chosen"] if ON_XLA else [name for name in FUNCTIONS if name not in BACKWARD_ONLY])
def test_what_was_linearised_outside(name: str) -> None:
    """A linear function of what does not differ, called with directions that do; and its gradient by these."""
    _, linear = tangrad.linearize(FUNCTIONS[name], W, VALUES[0])
    expected = tangrad.grad(whole(linear), (0, 1))(W, VALUES)
    inside = shard_map(derivatives(linear), in_specs=(P(), P("d")), out_specs=(P(), P("d")))
    assert_all_equal(inside(W, VALUES), expected, 1e-4)


def test_loops_that_end_when_they_want() -> None:
    """Forward derivatives; a condition that differs makes all that goes round differ."""

    def function(w, x):
        return lax.while_loop(
            lambda pair: pair[0].sum() < 9, lambda pair: (pair[0] + x * x + 1, pair[1] * 1.5), (x, w)
        )[1]

    staged = evaluated(tangrad.make_jaxpr(function)(W, VALUES[0]))
    by_w = lambda f: lambda w, x: tangrad.jvp(lambda v: f(v, x.reshape(4)), (w,), (w,))[1][None]
    found = shard_map(by_w(staged), in_specs=(P(), P("d")), out_specs=P("d"))(W, VALUES)
    assert_equal(found, np.concatenate([by_w(function)(W, row) for row in VALUES]), 1e-5)


def test_what_stays_the_same_is_known_to() -> None:
    """A result of a loop that does not depend on what differs needs no sum over devices."""

    def function(w, x):
        one, other = lax.scan(lambda pair, _: ((jnp.sin(pair[0]), pair[1] * x), None), (w, x), None, length=2)[0]
        return one, other

    closed = tangrad.make_jaxpr(function)(W, VALUES[0])
    run = lambda w, x: tuple(eval_jaxpr(closed.jaxpr, closed.consts, w, x.reshape(4)))
    same, each = shard_map(run, in_specs=(P(), P("d")), out_specs=(P(), P("d")))(W, VALUES)
    assert_equal(same, np.sin(np.sin(W)), 1e-6)
    assert_equal(each.reshape(2, 4), VALUES**3, 1e-6)


def test_maps_within_the_program() -> None:
    """A map over another axis of the mesh, whose parts come to differ along the axis around it."""
    mesh = tangrad.make_mesh((2, 2), ("d", "e"))
    inner = tangrad.shard_map(scanned, mesh=mesh, in_specs=(P("e"), P("e")), out_specs=P("e"), axis_names={"e"})
    closed = tangrad.make_jaxpr(inner)(W, VALUES[0])
    loss = lambda w, x: lax.psum((evaluated(closed)(w, x.reshape(4)) ** 2).sum(), "d")
    outer = tangrad.shard_map(loss, mesh=mesh, in_specs=(P(), P("d")), out_specs=P(), axis_names={"d"})
    assert_all_equal(tangrad.grad(outer, (0, 1))(W, VALUES), tangrad.grad(whole(scanned), (0, 1))(W, VALUES), 1e-4)


def test_branches_not_taken_give_no_nan() -> None:
    """Mapped, both run; what a loop in one makes of rows that take the other has no part in derivatives."""
    roots = lambda w: lax.scan(lambda carry, _: (jnp.sqrt(carry), None), w, None, length=2)[0]

    def loss(w, x):
        return tangrad.vmap(lambda a, b: lax.cond(a + b > 0, roots, jnp.cos, a))(w, x).sum()

    W = np.array([0.0, 4.0, 0.0, 1.0], np.float32)
    X = np.array([[-1, -1, -1, -9], [-1, -1, -1, 0]], np.float32)
    found = shard_map(tangrad.grad(lambda w, x: loss(w, x.reshape(4))), in_specs=(P(), P("d")), out_specs=P())(W, X)
    assert_equal(found, tangrad.grad(loss)(W, X[0]) + tangrad.grad(loss)(W, X[1]), 1e-5)


def test_shardings_over_the_shape_of_a_mesh() -> None:
    exported = export.export(tangrad.jit(lambda x: x * 2))(tangrad.device_put(X, by("x")))
    shape = GRID.abstract_mesh
    (over_shape,), (over_devices,) = exported.in_shardings_jax(shape), exported.in_shardings_jax(GRID)
    assert over_shape == NamedSharding(shape, P("x", None), memory_kind="device")
    assert tangrad.device_put(X, over_devices).sharding == over_devices == by("x", None)
    with pytest.raises(ValueError, match="another shape, and no devices to arrange"):
        exported.in_shardings_jax(mesh(2, 4).abstract_mesh)
    assert shape.abstract_device is None
    assert shape == type(shape)(shape.axis_sizes, shape.axis_names, shape.axis_types, abstract_device=object())


def contracted(x: Any, y: Any) -> Any:
    return jnp.einsum("ab,bc->ac", x, y, out_sharding=P(None, None))


def moved_first(x: Any, y: Any) -> Any:
    return lax.scan(lambda c, _: (c @ reshard(y, P()), c.sum()), reshard(x, P()), None, length=3)


def of_shares(x: Any, y: Any) -> Any:
    return jnp.einsum("ab,bc->ac", x, y, out_sharding=P(None, None, unreduced={"x"}))


PROGRAMS_OF_EXPLICIT_AXES = [
    contracted,
    moved_first,
    of_shares,
    tangrad.grad(lambda x, y: jnp.sin(contracted(x, y)).sum()),
    lambda x, y: tangrad.jit(moved_first)(x, y)[0] + auto_axes(jnp.matmul, out_sharding=P())(x, y),
    lambda x, y: x.T + y,
]


@pytest.mark.parametrize("function", PROGRAMS_OF_EXPLICIT_AXES)
def test_values_that_programs_move_along_explicit_axes(function: Any) -> None:
    """On NumPy saved programs leave out what moves values, and with it the types that it moves them between."""
    explicit = tangrad.make_mesh((2,), ("x",), (AxisType.Explicit,))
    with tangrad.set_mesh(explicit):
        x = tangrad.device_put(X[:4], NamedSharding(explicit, P(None, "x")))
        y = tangrad.device_put(X[4:], NamedSharding(explicit, P("x", None)))
        jitted = tangrad.jit(function)
        expected = jitted(x, y)
        platforms = ["numpy", *(["cpu"] if ON_XLA else [])]
        exported = export.export(jitted, platforms=platforms)(x, y)
        read = export.deserialize(exported.serialize())
        for own, others in ((exported.in_avals, read.in_avals), (exported.out_avals, read.out_avals)):
            assert [aval.sharding for aval in own] == [aval.sharding for aval in others]
        assert (read.in_avals[0].sharding.spec, read.in_avals[0].str_short()) == (P(None, "x"), "f32[4,4@x]")
        again = [exported.call, read.call]
        if not ON_XLA:  # where compiled programs for several devices are not written
            again.append(tangrad.load_compiled(jitted.lower(x, y).compile().serialize()))
        for call in again:
            for found, one in zip(tangrad.tree.leaves(call(x, y)), tangrad.tree.leaves(expected), strict=True):
                assert_equal(found, np.asarray(one))
