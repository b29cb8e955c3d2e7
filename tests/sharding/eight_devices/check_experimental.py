"""The modules of `tangrad.experimental` that programs for many devices look for: pjit, shard_map, mesh_utils."""

from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad.experimental import mesh_utils
from tangrad.experimental.mesh_utils import create_device_mesh
from tangrad.experimental.pjit import pjit, with_sharding_constraint
from tangrad.experimental.shard_map import shard_map
from tangrad.sharding import Mesh, NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, by, matrix, mesh


def add(a: Any, b: Any) -> Any:
    return a + b


# --- pjit -----------------------------------------------------------------------------------------------------------


def test_specs_and_shardings_by_position() -> None:
    with mesh():
        assert pjit(lambda a: 2 * a, P("x"), P(None, "y"))(matrix()).sharding == by(None, "y")
    found = pjit(lambda a: 2 * a, in_shardings=by("y"), out_shardings=by("x"))(matrix())
    assert found.sharding == by("x")
    assert_equal(found, 2 * matrix())


def test_none_is_the_whole_everywhere_under_a_mesh() -> None:
    double = pjit(lambda a: 2 * a, in_shardings=None, out_shardings=None)
    assert len(double(matrix()).devices()) == 1  # without a mesh it says nothing
    cut = tangrad.device_put(matrix(), by("x"))
    for grid in (mesh(), mesh(4, 2)):
        with grid:
            found = double(matrix())
            assert found.sharding == NamedSharding(grid, P()) and found.is_fully_replicated
            assert_equal(found, 2 * matrix())
            with pytest.raises(ValueError, match="is sharded by"):
                double(cut)
            assert pjit(lambda a: 2 * a)(cut).sharding == by("x")  # nothing said is another thing


def test_none_within_prefixes() -> None:
    with mesh():
        sums = pjit(
            lambda a, b: {"sum": a["w"] + b, "bias": a["b"]},
            in_shardings=({"w": P("x"), "b": None}, None),
            out_shardings={"sum": P("x", "y"), "bias": None},
        )
        found = sums({"w": matrix(), "b": np.ones(8, np.float32)}, matrix())
        assert found["sum"].sharding == by("x", "y") and found["bias"].is_fully_replicated
        assert_equal(found["sum"], 2 * matrix())
        assert "f32[8,8]" in str(sums.trace({"w": matrix(), "b": np.ones(8, np.float32)}, matrix()).jaxpr)
        shapes = sums.eval_shape({"w": matrix(), "b": np.ones(8, np.float32)}, matrix())
        assert shapes["bias"].shape == (8,)
        compiled = sums.lower({"w": matrix(), "b": np.ones(8, np.float32)}, matrix()).compile()
        assert_equal(compiled({"w": matrix(), "b": np.ones(8, np.float32)}, matrix())["sum"], 2 * matrix())


def test_static_donated_and_transformed() -> None:
    with mesh():
        scaled = pjit(lambda n, a: n * a, (P("x"),), P("x"), static_argnums=0, donate_argnums=1)
        given = tangrad.device_put(matrix(), by("x"))
        assert_equal(scaled(3, given), 3 * matrix())
        assert given.is_deleted()
        power = pjit(lambda a: (a**2).sum(), in_shardings=None, out_shardings=None)
        assert_equal(tangrad.grad(power)(matrix()), 2 * matrix())
        assert_equal(tangrad.vmap(power)(matrix()), (matrix() ** 2).sum(1))
        assert_equal(tangrad.jit(power)(matrix()), (matrix() ** 2).sum())


def test_as_a_method() -> None:
    class Model:
        step = pjit(lambda self, a: self.factor * a, (None,), None, static_argnums=0)
        factor = 3.0

    with mesh():
        assert_equal(Model().step(matrix()), 3 * matrix())


def test_pjit_of_bad_input() -> None:
    with pytest.raises(RuntimeError, match="mesh in use, and there is none"):
        pjit(add, in_shardings=(P("x"), None))(matrix(), matrix())
    with mesh(), pytest.raises(ValueError, match="by position"):
        pjit(add, in_shardings=(P("x"), None))(matrix(), b=matrix())
    with mesh(), pytest.raises(ValueError, match=r"dimension 0, of size 3"):
        pjit(add, in_shardings=(P("x"), None))(np.ones(3), np.ones(3))
    with pytest.raises(TypeError, match="shardings and partition specs"):
        pjit(add, in_shardings=("x", None))
    with mesh(), pytest.raises(ValueError, match="in_shardings"):
        pjit(add, in_shardings=(None, None, None))(matrix(), matrix())


def test_its_constraint_is_that_of_lax() -> None:
    assert with_sharding_constraint is tangrad.lax.with_sharding_constraint


# --- shard_map, mesh_utils ------------------------------------------------------------------------------------------


def test_shard_map_with_its_older_arguments() -> None:
    assert shard_map is tangrad.shard_map
    total = shard_map(lambda a: tangrad.lax.psum(a, "x"), mesh(), (P("x"),), P(), check_rep=True)
    assert_equal(total(matrix()), matrix()[:4] + matrix()[4:])


def test_device_meshes() -> None:
    grid = create_device_mesh((2, 4))
    assert grid.shape == (2, 4) and list(grid.flat) == tangrad.devices()
    assert Mesh(grid, ("x", "y")) == mesh()
    four = tangrad.devices()[4:]
    assert create_device_mesh([2, 2], four, allow_split_physical_axes=True).tolist() == [four[:2], four[2:]]
    assert "create_device_mesh" in dir(mesh_utils)


@pytest.mark.parametrize("shape", [(2, 2), (16,), (0, 8), (-2, -4)])
def test_device_meshes_of_other_sizes(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"there are 8 devices"):
        create_device_mesh(shape)


def test_device_meshes_of_no_integers() -> None:
    with pytest.raises(TypeError, match=r"mesh_shape must be a sequence of integers, got 'xy'"):
        create_device_mesh("xy")  # type: ignore[arg-type]
