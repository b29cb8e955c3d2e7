"""Programs over several devices as files: called on meshes of that size, at any sizes, with their derivatives."""

import dataclasses
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import export, lax
from tangrad.sharding import Mesh, NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, mesh

X = np.arange(32, dtype=np.float32).reshape(8, 4) / 16
GRID = mesh(4, 2)
SUM = tangrad.shard_map(lambda a: lax.psum(a, "x"), mesh=GRID, in_specs=P("x", "y"), out_specs=P(None, "y"))


def by(*spec: Any) -> NamedSharding:
    return NamedSharding(GRID, P(*spec))


OVER_ONE = NamedSharding(tangrad.make_mesh((8,), ("z",)), P("z"))


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
    assert_equal(read.call(tangrad.device_put(X, back)), 2 * X)


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
        assert alone.startswith("refused: constrained was exported for 8 devices, and is called in a program for 1")
    else:  # one thread computes for all devices: how many there are changes nothing
        assert float(alone.split()[1]) == pytest.approx(total, rel=1e-4)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not ON_XLA, reason="NumPy's programs have no devices")
def test_programs_are_called_over_as_many_devices() -> None:
    read = written("constrained")
    four = NamedSharding(tangrad.make_mesh((4,), ("x",), devices=tangrad.devices()[:4]), P("x"))
    for given, count in ((jnp.asarray(X), 1), (tangrad.device_put(X, four), 4)):
        with pytest.raises(ValueError, match=rf"constrained was exported for 8 devices, .* in a program for {count}"):
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
    with pytest.raises(ValueError, match="says to be for one device"):
        dataclasses.replace(read, nr_devices=1, **bare).call(X)
    with pytest.raises(ValueError, match="says to be for one device"):
        dataclasses.replace(read, nr_devices=1, **bare).call(placed())


def test_other_memories_are_refused() -> None:
    if len(tangrad.devices()[0].memory_kinds) < 2:
        pytest.skip("there is one kind of memory")
    kind = tangrad.devices()[0].memory_kinds[1]
    with pytest.raises(NotImplementedError, match=f"not in '{kind}'"):
        export.export(tangrad.jit(lambda a: a, in_shardings=by("x").with_memory_kind(kind)))(X)
