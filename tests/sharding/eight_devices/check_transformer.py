"""A transformer trained on 2 x 4 devices: the losses of one device, and the collectives that theory demands."""

import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangrad
from tangrad._sharding.xmap.axes import manual_lowering, spmd_lowering
from tangrad.experimental import mesh_utils
from tangrad.experimental.mesh_utils import create_device_mesh
from tangrad.experimental.pjit import pjit, with_sharding_constraint
from tangrad.experimental.shard_map import shard_map
from tangrad.sharding import Mesh, NamedSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh
from tools.docs.plans import Collective, collectives
from tools.workspace import ROOT

sys.path.insert(0, str(Path(ROOT) / "docs" / "examples"))
import parallel_transformer as model

STEPS = 3
SIZES = model.SIZES
ACTIVATIONS = SIZES.batch // model.DATA * SIZES.time * SIZES.width * 4  # bytes of a value between layers, on a device
SUMS = 2 * SIZES.layers  # where heads or hidden units meet


def bytes_on_a_device(whole: bool) -> int:
    """Of the parameters that are whole on every device, or of the parts of the others."""
    sizes: list[int] = []
    model.for_each_parameter(
        lambda array, cut: sizes.append((cut is None) == whole and array.nbytes // (1 if whole else model.MODEL)),
        model.initial_parameters(),
    )
    return sum(sizes)


WHOLE, CUT = bytes_on_a_device(True), bytes_on_a_device(False)
WHOLE_COUNT = 2 + 2 * SIZES.layers  # embedding, readout, and two scales a layer
COUNT = WHOLE_COUNT + len(model.CUT) * SIZES.layers
OVER_DATA = Collective("all-reduce", model.DATA, WHOLE + CUT + 4, COUNT + 1)  # gradients and the loss, in one
SUM = Collective("all-reduce", model.MODEL, ACTIVATIONS, 1)
# Values are summed forwards and gradients backwards at each of the places.
DEMANDED = Counter({SUM: 2 * SUMS, OVER_DATA: 1})


@cache
def compiled(way: str) -> Any:
    """The step of a way, compiled once for all tests, the parameters, and how it is given tokens."""
    take_step, parameters, given = model.prepared(way)
    with model.mesh_of_eight():
        return take_step.lower(parameters, given(model.batches(1)[0])).compile(), parameters, given


def losses_by(way: str) -> list[float]:
    take_step, parameters, given = compiled(way)
    found = []
    for tokens in model.batches(STEPS):
        parameters, value = take_step(parameters, given(tokens))
        found.append(float(np.ravel(value)[0]))
    return found


def found(way: str) -> Counter[Collective]:
    return Counter(collectives(compiled(way)[0].as_text()))


def test_losses_are_those_of_one_device() -> None:
    expected = losses_by("one device")
    assert expected[-1] < expected[0] - 1
    for way in model.WAYS:
        np.testing.assert_allclose(losses_by(way), expected, rtol=2e-5, err_msg=way)
    # A call finds the compiled program itself, and moves what it is given.
    np.testing.assert_allclose(model.losses_by("one device", STEPS), expected, rtol=1e-6)


@pytest.mark.skipif(ON_XLA, reason="compiles for long; check_meshes.py has both with XLA")
@pytest.mark.parametrize("lowering", ["manual", "replicated"])
def test_losses_by_the_other_lowerings_of_xmap(lowering: str) -> None:
    with spmd_lowering(lowering != "replicated"), manual_lowering(lowering == "manual"):
        np.testing.assert_allclose(model.losses_by("xmap", STEPS), losses_by("one device"), rtol=2e-5)


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
@pytest.mark.parametrize("way", ["jit", "shard_map", "pmap"])
def test_collectives_are_those_that_theory_demands(way: str) -> None:
    assert found(way) == DEMANDED


@pytest.mark.skipif(not ON_XLA, reason="counted in HLO")
def test_collectives_of_named_axes_are_one_fewer() -> None:
    # Gradients are summed where they meet a sum of the forward pass again. Those of the first layer meet none: they are
    # summed at the end, as gradients of the parameters before, which are less than activations.
    embedding, scales = SIZES.vocabulary * SIZES.width * 4, 2 * SIZES.layers * SIZES.width * 4
    at_the_end = Collective("all-reduce", model.MODEL, embedding + scales, WHOLE_COUNT - 1)
    assert at_the_end.bytes < ACTIVATIONS
    assert found("xmap") == Counter({SUM: 2 * SUMS - 1, OVER_DATA: 1, at_the_end: 1})


def test_reading_groups_and_bytes() -> None:
    lines = """
      %a = (f32[2,3]{1,0}, /*index=1*/s32[]) all-reduce(%x, %y), channel_id=1, replica_groups=[2,4]<=[8], to_apply=%add
      %b = f32[8]{0} all-gather(%x), replica_groups=mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}, dimensions={0}
      %c = f32[2]{0} all-reduce-start(%x), replica_groups={{0,3},{1,2}}, to_apply=%add
      %d = f32[2]{0} all-reduce-done(%c)
    """
    assert collectives(lines) == [
        Collective("all-reduce", 4, 28, 2),
        Collective("all-gather", 2, 32, 1),
        Collective("all-reduce", 2, 8, 1),
    ]
    with pytest.raises(ValueError, match="no replica groups"):
        collectives("%a = f32[2]{0} all-reduce(%x), to_apply=%add")


# --- The modules of `tangrad.experimental` that programs for many devices look for ---


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
