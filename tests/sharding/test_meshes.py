"""Meshes and shardings without devices: as in JAX, `out_sharding`, plans for more devices than there are."""

import xml.etree.ElementTree as ElementTree

import pytest

import tangrad
import tangrad.numpy as np
from tangrad import lax
from tangrad.sharding import AbstractMesh, Mesh, NamedSharding, get_abstract_mesh, get_mesh, use_abstract_mesh
from tangrad.sharding import PartitionSpec as P
from tools.docs.plans import MESHES, WAYS, Plan, ask, on_the_network, picture, table

# --- Meshes as decorators, without devices, and what programs ask of what is compiled for them ---


def mesh_of(*names):
    return tangrad.make_mesh((1,) * len(names), names)


def test_a_mesh_as_a_decorator():
    mesh = mesh_of("data")

    @mesh
    def used(x, *, scale=1):
        """What is computed."""
        return get_mesh(), x * scale

    assert used(2, scale=3) == (mesh, 6) and get_mesh().empty
    assert used.__name__ == "used" and used.__doc__ == "What is computed."

    @mesh
    def fails():
        raise KeyError("within")

    with pytest.raises(KeyError):
        fails()
    assert get_mesh().empty
    with pytest.raises(TypeError, match="takes a function, got 3"):
        mesh(3)


def test_the_shape_of_a_mesh():
    mesh = mesh_of("data", "model")
    shape = mesh.abstract_mesh
    assert isinstance(shape, AbstractMesh) and shape.shape_tuple == mesh.shape_tuple and shape.abstract_mesh is shape
    assert shape.axis_types == mesh.axis_types and shape == AbstractMesh((1, 1), ("data", "model"), mesh.axis_types)


def test_the_shape_of_a_mesh_in_use():
    with use_abstract_mesh(AbstractMesh((1,), ("data",))) as shape:
        assert get_abstract_mesh() == shape
        y = tangrad.jit(lambda x: tangrad.lax.with_sharding_constraint(x, P("data")) * 2)(np.arange(4.0))
        assert y.tolist() == [0, 2, 4, 6]
    assert get_mesh().empty
    mesh = mesh_of("data")
    with mesh, use_abstract_mesh(mesh.abstract_mesh):
        assert get_mesh().device_order == mesh.device_order
    with pytest.raises(ValueError, match="needs 1000 devices"), use_abstract_mesh(AbstractMesh((1000,), ("data",))):
        pass
    with pytest.raises(TypeError, match=r"mesh\.abstract_mesh, got"), use_abstract_mesh(mesh):
        pass


def test_structs_that_stand_for_arrays():
    like = tangrad.ShapeDtypeStruct.like
    assert like(np.ones((2, 3))) == tangrad.ShapeDtypeStruct((2, 3), "float32")
    assert like(1.0).weak_type and like(1.0).shape == ()
    struct = tangrad.ShapeDtypeStruct((2,), "int32")
    assert like(struct) is struct
    sharding = NamedSharding(Mesh(tangrad.devices()[:1], ("data",)), P("data"))
    placed = tangrad.device_put(np.ones(2), sharding)
    assert like(placed).sharding == placed.sharding and like(np.ones(2)).sharding is None
    with pytest.raises(TypeError):
        like("text")


def test_what_compiled_functions_say_of_their_arguments():
    compiled = tangrad.jit(lambda x: {"y": x * 2}).lower(np.ones(2)).compile()
    assert compiled.input_formats == compiled.input_shardings and compiled.output_formats == compiled.output_shardings


def test_lowered_for_a_platform():
    traced = tangrad.jit(lambda x: x * 2).trace(1.0)
    platform = tangrad.devices()[0].platform
    assert float(traced.lower(lowering_platforms=(platform,)).compile()(1.0)) == 2
    with pytest.raises(NotImplementedError, match=r"export\.export"):
        traced.lower(lowering_platforms=("tpu", platform))
    for wrong in ((), ("vpu",), "tpu"):
        with pytest.raises(ValueError, match="cpu, cuda, rocm or tpu"):
            traced.lower(lowering_platforms=wrong)


def test_lowered_for_another_platform_can_be_read():
    chosen = lambda x: lax.platform_dependent(x, default=np.sin, tpu=np.cos, cuda=np.tanh)
    traced = tangrad.jit(chosen, backend="xla").trace(np.ones(2, np.float32))
    for platform, operation in (("tpu", "cosine"), ("gpu", "tanh"), ("rocm", "sine")):
        lowered = traced.lower(lowering_platforms=(platform,))
        assert f"stablehlo.{operation}" in lowered.as_text() and lowered.out_info.shape == (2,)
        with pytest.raises(RuntimeError, match="was lowered for"):
            lowered.compile()
    assert "stablehlo.sine" in traced.lower().as_text()
    on_numpy = tangrad.jit(chosen, backend="numpy").trace(np.ones(2, np.float32))
    with pytest.raises(NotImplementedError, match=r"export\.export"):
        on_numpy.lower(lowering_platforms=("tpu",))


# --- `out_sharding` of functions that make arrays, given as the sharding of a type ---


@pytest.mark.parametrize("backend", ["numpy", "xla"])
def test_the_sharding_of_a_plain_type_constrains_nothing(backend):
    with tangrad.use_backend(backend):
        x, key = np.ones((2, 3)), tangrad.random.key(0)

        def f(x):
            plain = tangrad.typeof(x).sharding
            mask = tangrad.random.bernoulli(key, 0.5, x.shape, out_sharding=plain)
            return np.where(mask, np.zeros(x.shape, out_sharding=plain), np.reshape(x, x.shape, out_sharding=plain))

        assert f(x).tolist() == tangrad.jit(f)(x).tolist()
        with pytest.raises(ValueError, match="empty mesh"):
            lax.with_sharding_constraint(x, tangrad.typeof(x).sharding)


# --- Plans for more devices than there are ---


def test_what_a_ring_sends() -> None:
    assert on_the_network(1, 100.0) == 0
    assert on_the_network(4, 100.0) == 150


def test_the_table_and_the_picture() -> None:
    plans = [
        Plan(way, 2, count // 2, 0.1, 2.0 * count, 50_000 + count, 10_000, 9, 3e5, 3e5)
        for way in WAYS
        for count in (8, 4096)
    ]
    assert table(plans).splitlines()[3].startswith("| 4,096 | 2 × 2048 | `jit` | 0.10 s | 8192.0 s | 54 kB |")
    root = ElementTree.fromstring(picture(plans))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("4096") == 3 and "Size of the program" in texts


def check_equal(small: Plan, large: Plan) -> None:
    assert small.volume == small.formula and large.volume == large.formula
    assert small.collectives == large.collectives
    # In shard_map's program are the groups of devices that talk, 8 bytes for each device, for each axis of the mesh.
    assert large.stablehlo < 1.05 * small.stablehlo + (17 * large.devices if large.way == "shard_map" else 0)


@pytest.mark.slow
def test_of_512_devices() -> None:
    check_equal(ask("jit", 2, 4), ask("jit", 32, 16))


@pytest.mark.sweep
@pytest.mark.parametrize("way", WAYS)
def test_of_every_mesh(way: str) -> None:
    first, *others = [ask(way, *mesh) for mesh in MESHES]
    for plan in others:
        check_equal(first, plan)


def test_types_say_along_which_mapped_axes_values_differ():
    seen = {}

    def function(x, y):
        seen["x"], seen["y"] = tangrad.typeof(x).mat, tangrad.typeof(y).mat
        seen["sum"] = tangrad.typeof(lax.psum(x, "i")).mat
        return x + y

    mesh = mesh_of("i", "j")
    tangrad.shard_map(function, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))(np.ones(2), np.ones(1))
    inside = mesh.abstract_mesh.update_axis_types(dict.fromkeys(("i", "j"), tangrad.sharding.AxisType.Manual))
    assert seen["x"].varying == {"i"} and seen["x"].invarying(inside) == {"j"}
    assert seen["y"].varying == seen["sum"].varying == frozenset()
    assert np.ones(2).mat == tangrad.sharding.ManualAxisType() == tangrad.typeof(np.ones(2)).mat
    with pytest.raises(ValueError, match="cannot be varying and reduced"):
        tangrad.sharding.ManualAxisType(varying={"i"}, reduced={"i", "j"})
