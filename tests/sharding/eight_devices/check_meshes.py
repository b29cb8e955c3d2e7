"""Meshes, partition specs and the notation of XLA."""

import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad._sharding import context
from tangrad.core import put
from tangrad.core.settings import SETTINGS
from tangrad.sharding import (
    AbstractMesh,
    AxisType,
    GSPMDSharding,
    HloSharding,
    Mesh,
    NamedSharding,
    PositionalSharding,
    UnreducedKind,
    get_abstract_mesh,
    get_mesh,
    use_abstract_mesh,
    use_mesh,
)
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import assert_equal, by, matrix, mesh


def test_a_mesh_has_a_shape() -> None:
    grid = mesh()
    assert grid.shape == OrderedDict(x=2, y=4) and grid.axis_names == ("x", "y") and grid.size == 8
    assert grid.device_ids.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert not grid.empty and grid.local_mesh is grid and not grid.is_multi_process
    assert grid.axis_types == (AxisType.Auto,) * 2
    assert str(grid) == "Mesh('x': 2, 'y': 4)"


def test_meshes_compare_by_devices_and_names() -> None:
    devices = tangrad.devices()
    assert mesh() == mesh() and hash(mesh()) == hash(mesh())
    assert Mesh([devices[:4], devices[4:]], ("x", "y")) == mesh()
    assert Mesh([devices[4:], devices[:4]], ("x", "y")) != mesh()
    assert Mesh([devices[:4], devices[4:]], ("y", "x")) != mesh()
    assert tangrad.make_mesh((8,), ("x",), devices=devices[::-1]).device_ids.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]


def test_the_mesh_in_use() -> None:
    get_mesh = tangrad.sharding.get_mesh
    assert get_mesh().empty and get_mesh().size == 0
    with mesh() as outer:
        assert get_mesh() is outer
        with pytest.raises(KeyError), mesh(4, 2) as inner:
            assert get_mesh() == inner
            raise KeyError
        assert get_mesh() is outer
    with tangrad.set_mesh(mesh(8, 1)):
        assert get_mesh().shape["x"] == 8
    assert get_mesh().empty


def test_bad_meshes() -> None:
    devices = tangrad.devices()
    for make, words in [
        (lambda: Mesh([devices[:4], devices[4:]], ("x",)), "2 dimensions, of sizes (2, 4), and 1 names"),
        (lambda: Mesh([devices[:4], devices[4:]], ("x", "x")), "'x' twice"),
        (lambda: Mesh([devices[:4], devices[4:]], ("x", None)), "cannot be None"),
        (lambda: Mesh([devices[:4], devices[4:7]], ("x", "y")), "different lengths"),
        (lambda: Mesh([devices[0], devices[0]], ("x",)), "got " + repr(devices[0]) + " twice"),
        (lambda: tangrad.make_mesh((3, 4), ("x", "y")), "needs 12 devices, and there are 8"),
        (lambda: tangrad.make_mesh((2, 4), ("x",)), "must be of the same length"),
        (lambda: tangrad.make_mesh((0, 4), ("x", "y")), "positive sizes, got (0, 4)"),
    ]:
        with pytest.raises(ValueError) as error:
            make()
        assert words in str(error.value)
    with pytest.raises(TypeError, match="is made of devices"):
        Mesh(["cpu"], ("x",))
    with pytest.raises(AttributeError, match="cannot be changed"):
        mesh().devices = devices


def test_a_mesh_in_use_has_no_manual_axes() -> None:
    """They are what maps make of axes within them; a mesh with such would leave nothing for specs to mean."""
    manual = mesh().update_axis_types({"x": AxisType.Manual})
    with pytest.raises(ValueError, match=r"set_mesh: .* contains manual axes, and no map is over \('x',\)"):
        tangrad.set_mesh(manual)
    assert tangrad.sharding.get_mesh().empty


def test_a_mesh_is_set_outside_of_functions_that_are_traced() -> None:
    def within(part: Any) -> Any:
        with tangrad.set_mesh(mesh()):
            return part * 2

    for f in (tangrad.jit(within), tangrad.shard_map(within, mesh=mesh(), in_specs=P("x"), out_specs=P("x"))):
        with pytest.raises(ValueError, match="set_mesh is for code outside of functions that are traced"):
            f(matrix())
    assert tangrad.sharding.get_mesh().empty

    def by_shape(part: Any) -> Any:
        with tangrad.sharding.use_abstract_mesh(mesh().abstract_mesh):
            return part * 2

    assert_equal(tangrad.jit(by_shape)(matrix()), 2 * matrix())


def test_what_nothing_has_placed_is_on_the_mesh_in_use() -> None:
    """As in JAX: new arrays, and what is computed from those that are not committed; others stay."""
    outside, (first, second, *_) = tnp.arange(8.0), tangrad.devices()
    double, constant = tangrad.jit(lambda x: 2 * x), tangrad.jit(lambda: tnp.arange(8.0))
    made = [
        lambda: tnp.arange(8.0),
        lambda: tnp.array([0.0, *range(1, 8)]),
        lambda: tnp.asarray(np.arange(8.0)),
        lambda: tnp.zeros(8) + outside,
        lambda: double(outside) / 2,
        lambda: double(np.arange(4.0).repeat(2)) / 2 * 0 + outside,
        lambda: tangrad.jit(lambda x: x)(outside),
        constant,
        lambda: tangrad.grad(lambda x: (x * x).sum() / 2)(tnp.arange(8.0)),
        lambda: tangrad.vmap(lambda x: x + 0)(tnp.arange(8.0)),
        lambda: tnp.float32(3) * 0 + tnp.arange(8.0),
    ]
    for types in ((AxisType.Auto,) * 2, (AxisType.Explicit,) * 2):
        used = tangrad.make_mesh((4, 2), ("x", "y"), types)
        with tangrad.set_mesh(used):
            for make in made:
                y = make()
                assert y.sharding.mesh == used and y.sharding.is_fully_replicated and y.committed, y.sharding
                assert_equal(y, np.arange(8))
            drawn = tangrad.random.normal(tangrad.random.key(0), (4, 2))
            assert drawn.sharding.mesh == used and len(drawn.addressable_shards) == 8
            cut = tangrad.device_put(outside, P("x"))
            assert (cut * 2 + tnp.ones(8)).sharding.spec == P("x") and tangrad.typeof(cut * 2) is tangrad.typeof(cut)
            for stays in (tangrad.device_put(outside, second), tangrad.jit(lambda x: x, device=second)(outside)):
                assert stays.devices() == (stays * 2).devices() == double(stays).devices() == {second}
            with tangrad.default_device(second):
                assert tnp.zeros(3).devices() == double(np.ones(3)).devices() == {second}
            with tangrad.set_mesh(tangrad.make_mesh((2,), ("z",))):
                assert tnp.zeros(3).devices() == double(outside).devices() == {first, second}
            with tangrad.set_mesh(None):
                assert tnp.zeros(3).devices() == double(outside).devices() == {first} and not tnp.zeros(3).committed
            assert tnp.zeros(3).sharding.mesh == used
        for y in (tnp.zeros(3), outside + 1, double(outside), double(np.ones(3)), constant()):
            assert y.devices() == {first} and not y.committed, y.sharding
        with used:  # specs mean its axes, and arrays stay where they are
            assert double(outside).devices() == tnp.zeros(3).devices() == {first}


@pytest.mark.parametrize("other", ["numpy", "xla"])
def test_the_mesh_in_use_is_the_place_of_its_own_backend(other: str) -> None:
    contents = np.arange(3, dtype="float32")
    outside = put(contents, backend=other).devices()
    with tangrad.set_mesh(mesh()):
        assert_equal(put(contents, backend=other), contents)
        if other != tangrad.default_backend():
            assert put(contents, backend=other).devices() == outside
        assert_equal(tnp.from_dlpack(contents) * 2, contents * 2)
        assert tnp.ones(2).__array_namespace__().__array_namespace_info__().default_device() is tangrad.devices()[0]
        assert tangrad.jit(lambda x: x + 1, backend="cpu")(contents).devices() == {tangrad.devices()[0]}


def test_a_mesh_whose_place_cannot_be_made_is_not_in_use(monkeypatch) -> None:
    monkeypatch.setattr(context, "place_of", None)
    with pytest.raises(TypeError):
        tangrad.set_mesh(mesh())
    assert get_mesh().empty and tnp.zeros(3).devices() == {tangrad.devices()[0]}


def test_a_program_keeps_the_mesh_that_it_was_lowered_under() -> None:
    used = tangrad.make_mesh((4, 2), ("x", "y"))
    with tangrad.set_mesh(used):
        lowered = tangrad.jit(lambda x: 2 * x).lower(tangrad.ShapeDtypeStruct((8,), "float32"))
        compiled = lowered.compile()
    for program in (compiled, lowered.compile()):
        y = program(tnp.arange(8, dtype="float32"))
        assert y.sharding.mesh == used
        assert_equal(y, 2 * np.arange(8))


def test_partition_specs() -> None:
    assert P("x", ("y", "z")) == ("x", ("y", "z")) and P(("x",)) == P("x") and P(()) == P(None)
    assert P("x") != P("x", None) and hash(P("x")) == hash(P(["x"]))
    assert P("x") + P(None, "y") == P("x", None, "y") and tuple(P("x", None)) == ("x", None) and len(P()) == 0
    assert repr(P("x", None)) == "P('x', None)"
    with pytest.raises(ValueError, match="each mesh axis once, got 'x' twice"):
        by("x", ("y", "x"))


def test_specs_of_values_whose_parts_are_to_be_combined() -> None:
    spec = P("x", None, unreduced={"y"}, reduced={"z"})
    assert (spec.partitions, spec.unreduced, spec.reduced) == (("x", None), {"y"}, {"z"})
    assert spec.unreduced_kind is UnreducedKind.sum and P("x").unreduced_kind is None
    assert repr(spec) == "P('x', None, unreduced={'y'}, reduced={'z'}, unreduced_kind=sum)"
    assert spec != P("x", None) and spec != ("x", None) and spec == pickle.loads(pickle.dumps(spec))
    assert P("x", unreduced={"y"}) + P("z", unreduced={"w"}) == P("x", "z", unreduced={"y", "w"})
    assert spec.update(unreduced=set(), partitions=("w",)) == P("w", reduced={"z"})
    assert P("x", "y", "x").index("y") == 1 and P("x", "y", "x").count("x") == 2
    for wrong, error, words in (
        ({"unreduced": "y"}, TypeError, "unreduced is a set of axes"),
        ({"unreduced": {"x"}}, ValueError, "partitions and unreduced have no axis in common"),
        ({"reduced": {"x"}}, ValueError, "partitions and reduced have no axis in common"),
        ({"unreduced": {"y"}, "reduced": {"y"}}, ValueError, "unreduced and reduced have no axis in common"),
        ({"unreduced": {None}}, ValueError, "None is none"),
        ({"unreduced": {"y"}, "unreduced_kind": "sum"}, TypeError, "to be of type UnreducedKind or None"),
        ({"unreduced_kind": UnreducedKind.max}, ValueError, "no axes are unreduced"),
    ):
        with pytest.raises(error, match=words):
            P("x", **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="of one kind"):
        P("x", unreduced={"y"}) + (None,)
    with pytest.raises(TypeError, match="unreduced in `__radd__` of PartitionSpec"):
        (None,) + P("x", unreduced={"y"})
    with pytest.raises(ValueError, match=r"Unreduced axes w of .* not found in mesh"):
        NamedSharding(mesh(), P(unreduced={"w"}))
    with pytest.raises(ValueError, match="along Explicit axes only"):
        NamedSharding(mesh().update_axis_types({"y": AxisType.Auto}), P(unreduced={"y"}))


def test_others_of_the_kind() -> None:
    named = by("x", None)
    assert named.update(spec=P(None, "y")) == by(None, "y") and named.update() == named
    assert named.replicated_axes == {"y"} and named.has_addressable_devices
    named.check_compatible_aval((4, 4))
    with pytest.raises(ValueError, match="for arrays of rank 2 or more"):
        named.check_compatible_aval((4,))
    assert mesh().update(axis_names=("a", "b")) == Mesh(mesh().devices, ("a", "b"))
    assert mesh().abstract_mesh.update(axis_sizes=(3, 5)) == AbstractMesh((3, 5), ("x", "y"))


def test_bad_named_shardings() -> None:
    with pytest.raises(ValueError, match=r"Resource axis: z of P\('z',\) is not found in mesh: \('x', 'y'\)"):
        by("z")
    with pytest.raises(ValueError, match="for arrays of rank 2 or more"):
        by("x", "y").shard_shape((8,))
    with pytest.raises(ValueError, match=r"dimension 0, of size 3, is not divisible into 2 .* 'x' of size 2"):
        by("x", "y").shard_shape((3, 8))
    with pytest.raises(TypeError, match="takes a PartitionSpec"):
        NamedSharding(mesh(), "x")
    with pytest.raises(ValueError, match=r"memory kinds 'device'.*, not 'pinned'"):
        NamedSharding(mesh(), P(), memory_kind="pinned")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (P("x", "y"), "{devices=[2,4]<=[8]}"),
        (P("y"), "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}"),
        (P(None, ("y", "x")), "{devices=[1,8]<=[2,4]T(1,0)}"),
        (P("y", "x"), "{devices=[4,2]<=[2,4]T(1,0)}"),
        (P(("x", "y")), "{devices=[8,1]<=[8]}"),
        (P(), "{replicated}"),
    ],
)
def test_hlo_round_trips(spec: P, text: str) -> None:
    sharding = NamedSharding(mesh(), spec)
    hlo = sharding.to_hlo(2)
    assert str(hlo) == text and HloSharding.parse(text) == hlo
    parsed = GSPMDSharding(tangrad.devices(), text)
    assert parsed.is_equivalent_to(sharding, 2) and sharding.is_equivalent_to(parsed, 2)
    assert parsed.devices_indices_map((8, 8)) == sharding.devices_indices_map((8, 8))
    assert parsed.to_hlo(2) == hlo


def test_hlo_shardings_of_any_order_of_devices() -> None:
    order = [3, 1, 0, 2, 7, 6, 5, 4]
    hlo = HloSharding((4, 2), order)
    assert str(hlo) == "{devices=[4,2]3,1,0,2,7,6,5,4}" and HloSharding.parse(str(hlo)) == hlo
    for text in ("{devices=[2,2]<=[8]}", "{nonsense}", "{devices=[3]0,1,1}"):
        with pytest.raises(ValueError):
            HloSharding.parse(text)
    with pytest.raises(ValueError, match="is for 8 devices, got 4"):
        GSPMDSharding(tangrad.devices()[:4], "{devices=[8]<=[8]}")


def test_indices_and_equivalence() -> None:
    sharding = by(None, "y")
    indices = sharding.devices_indices_map((4, 8))
    assert indices[tangrad.devices()[5]] == (slice(None), slice(2, 4))
    assert sharding.addressable_devices == set(tangrad.devices()) and sharding.num_devices == 8
    assert by("x").is_equivalent_to(by("x", None), 2) and by("x") != by("x", None)
    assert not by("x").is_equivalent_to(by("y"), 2)
    assert by().is_fully_replicated and not by("x").is_fully_replicated


def test_positional_shardings() -> None:
    grid = PositionalSharding(tangrad.devices()).reshape(4, 2)
    assert grid.shape == (4, 2) and grid.shard_shape((8, 8)) == (2, 4) and grid.T.shape == (2, 4)
    columns = grid.replicate(0)
    assert columns.shape == (1, 2) and columns.shard_shape((8, 8)) == (8, 4)
    assert columns.devices_indices_map((8, 8))[tangrad.devices()[3]] == (slice(None), slice(4, 8))
    assert grid.replicate().is_fully_replicated and not columns.is_fully_replicated
    assert grid.replicate(0, keepdims=False).shape == (2,)
    assert np.prod(grid.reshape(-1).shape) == 8
    with pytest.raises(ValueError, match="8 positions cannot be reshaped to"):
        grid.reshape(3, 2)
    with pytest.raises(ValueError, match="for arrays of rank 2 or more"):
        grid.shard_shape((8,))


def test_meshes_without_devices() -> None:
    shape = AbstractMesh((2, 4), ("x", "y"))
    assert shape == AbstractMesh.of(mesh()) and hash(shape) == hash(AbstractMesh.of(mesh())) and shape.size == 8
    assert repr(shape) == "AbstractMesh('x': 2, 'y': 4)" and dict(shape.shape) == {"x": 2, "y": 4}
    total = tangrad.shard_map(lambda a: tangrad.lax.psum(a, "x"), mesh=shape, in_specs=P("x"), out_specs=P())
    assert_equal(total(matrix()), matrix()[:4] + matrix()[4:])  # on the first devices
    with use_mesh(mesh(4, 2)), pytest.raises(ValueError, match="and the mesh in use is Mesh"):
        total(matrix())
    with use_mesh(mesh()):
        assert_equal(total(matrix()), matrix()[:4] + matrix()[4:])
        assert get_abstract_mesh() == shape
    assert get_abstract_mesh().empty
    seen = []
    with use_mesh(mesh()):
        tangrad.shard_map(lambda a: seen.append(get_abstract_mesh()) or a, in_specs=P("x"), out_specs=P("x"),
                          axis_names={"x"})(matrix())  # fmt: skip
    assert seen[0].manual_axes == ("x",)
    for sizes, names, types, error in (
        ((2,), ("x", "y"), None, ValueError),
        ((2, 2), ("x", "x"), None, ValueError),
        ((2, 0), ("x", "y"), None, ValueError),
        ((2, 2), ("x", "y"), (AxisType.Auto,), ValueError),
        ((2.5,), ("x",), None, TypeError),
    ):
        with pytest.raises(error):
            AbstractMesh(sizes, names, types)


def test_a_mesh_for_the_rest_of_a_program() -> None:
    before = get_mesh()
    setting = tangrad.set_mesh(mesh())
    try:
        assert get_mesh() == mesh()
        found = tangrad.jit(lambda a: tangrad.lax.with_sharding_constraint(a, P("x")))(matrix())
        assert found.sharding.is_equivalent_to(by("x"), 2)
        with tangrad.set_mesh(mesh(4, 2)) as inner:
            assert get_mesh() == inner
        with tangrad.set_mesh(None):
            assert get_mesh().empty
        assert get_mesh() == mesh()
    finally:
        setting.__exit__()
    assert get_mesh() == before
    with pytest.raises(TypeError, match="set_mesh takes a "):
        tangrad.set_mesh(5)
    with pytest.raises(TypeError, match="use_mesh takes a "):
        use_mesh(None)


def test_types_without_axes_of_size_one() -> None:
    grid = tangrad.make_mesh((8, 1), ("x", "y"), (AxisType.Explicit,) * 2)
    cut, shorter = NamedSharding(grid, P("x", "y")), P("x", None)

    def checked(a: Any) -> Any:
        assert tangrad.typeof(a).sharding.spec == shorter
        return tangrad.lax.with_sharding_constraint(2 * a, cut)

    with SETTINGS["types_without_axes_of_size_one"](True):
        x = tangrad.device_put(matrix(), cut)
        assert tangrad.typeof(x).sharding.spec == shorter
        assert tangrad.jit(checked)(x).sharding == NamedSharding(grid, shorter)
    assert tangrad.typeof(tangrad.device_put(matrix(), cut)).sharding.spec == cut.spec


def test_arrays_like_others_along_explicit_axes() -> None:
    grid = tangrad.make_mesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)
    shape = NamedSharding(AbstractMesh((2,), ("x",)), P("x"))
    struct = tangrad.ShapeDtypeStruct((8, 2), "float32", sharding=shape)
    assert struct.sharding == shape  # of no devices, so that arrays like it are on the default one
    assert tangrad.lax.full_like(struct, 0).devices() == {tangrad.devices()[0]}
    with tangrad.set_mesh(grid):
        like = tangrad.device_put(matrix(), P("x", None))
        for given in (like, tangrad.ShapeDtypeStruct((8, 8), "float32", sharding=like.sharding)):
            assert tangrad.lax.broadcast_like(np.arange(8.0), given).sharding == like.sharding
        with pytest.raises(ValueError, match="Incompatible shardings for broadcasting"):
            tangrad.lax.broadcast_like(tangrad.device_put(np.ones(8), P("x")), like)
        assert tnp.ones((2, 3)).sharding.spec == P(None, None)  # as types have it
        assert tnp.ones(()).sharding.spec == P() and tnp.arange(3).sharding.spec == P(None)


def test_mistakes_are_named_in_the_terms_of_the_field() -> None:
    grid = tangrad.make_mesh((2, 4), ("x", "y"), (AxisType.Explicit,) * 2)
    with tangrad.set_mesh(grid):
        x, y = tangrad.device_put(matrix(), P("x", "y")), tangrad.device_put(matrix(), P("y", "x"))
        row, lax, jit = tangrad.device_put(np.ones(8, np.float32), P("x")), tangrad.lax, tangrad.jit
        for message, function in (
            ("mul got incompatible shardings for broadcasting: .*: dimension 0 is cut along", lambda: x * y),
            ("slicing on sharded dims: dimension 0 of the result, of size 3", lambda: jit(lambda a: a[:3])(row)),
            (
                "split on sharded dims: dimension 0 of the result, of size 3",
                lambda: jit(lambda a: lax.split(a, (3, 5)))(row),
            ),
            ("padding on sharded dims: dimension 0", lambda: jit(lambda a: lax.pad(a, 0.0, ((2, 3, 0),)))(row)),
            ("This reshape is not supported: dimension 1 .* of size 2", lambda: x.reshape(8, 2, 4)),
        ):
            with pytest.raises(TypeError, match=message):
                function()


# --- what is refused, and what comes back, as in JAX ---


@pytest.mark.parametrize(
    "shardings", [({"a": None, "b": None}, None), (None,), ([None, None, None],), ({"a": (None, None)}, None)]
)
@pytest.mark.parametrize("option", ["in_shardings", "out_shardings"])
def test_open_shardings_have_the_structure_of_values(shardings: Any, option: str) -> None:
    def function(x: dict[str, Any], y: Any) -> Any:
        return (x, y) if option == "out_shardings" else x["a"] + y

    with pytest.raises(ValueError, match=f"{option} must be a tree prefix"):
        tangrad.jit(function, **{option: shardings})({"a": 1.0}, 2.0)
    tangrad.jit(function, **{option: ({"a": None}, None)})({"a": 1.0}, 2.0)
    tangrad.jit(function, **{option: None})({"a": 1.0}, 2.0)


def test_rows_are_along_one_axis_by_types_and_by_name() -> None:
    explicit = mesh(4, 2).update_axis_types({"x": AxisType.Explicit, "y": AxisType.Explicit})
    x = tangrad.device_put(np.arange(16, dtype="float32").reshape(8, 2), NamedSharding(explicit, P("x", "y")))
    doubled = 2 * np.asarray(x)
    for name in ("x", ("x",)):
        assert_equal(tangrad.vmap(lambda x: 2 * x, spmd_axis_name=name)(x), doubled)
    for function in (tangrad.vmap, lambda f, **by: tangrad.jit(tangrad.vmap(f, **by))):
        with pytest.raises(ValueError, match="only one of spmd_axis_name or arrays sharded on `Explicit`"):
            function(lambda x: 2 * x, spmd_axis_name="y")(x)
    assert_equal(tangrad.vmap(lambda x: 2 * x, 0, 0, spmd_axis_name="y")(np.asarray(x)), doubled)


def test_rows_are_along_names_of_axes_of_size_one_too() -> None:
    explicit = mesh(8, 1).update_axis_types({"x": AxisType.Explicit, "y": AxisType.Explicit})
    with SETTINGS["types_without_axes_of_size_one"](True):
        x = tangrad.device_put(np.ones((8, 2), "float32"), NamedSharding(explicit, P("x", None)))
        assert_equal(tangrad.vmap(lambda x: 2 * x, spmd_axis_name=("x", "y"))(x), 2 * np.ones((8, 2)))
    with pytest.raises(ValueError, match="only one of spmd_axis_name"):
        tangrad.vmap(lambda x: 2 * x, spmd_axis_name=("x", "y"))(
            tangrad.device_put(np.ones((8, 2), "float32"), NamedSharding(explicit, P("x", None)))
        )


def test_a_struct_has_the_dimensions_that_its_sharding_has() -> None:
    for spec in (P("x", "y"), P(None, None), P("x", None)):
        with pytest.raises(ValueError, match="cannot be used for one of rank 1"):
            tangrad.ShapeDtypeStruct((8,), "float32", sharding=by(*spec))
        assert tangrad.ShapeDtypeStruct((8, 8), "float32", sharding=by(*spec)).sharding == by(*spec)
    assert tangrad.ShapeDtypeStruct((3,), "float32", sharding=by("x")).shape == (3,)  # it need not divide


def test_abstract_meshes_are_of_the_devices_in_use() -> None:
    with tangrad.set_mesh(mesh()):
        with pytest.raises(ValueError, match="cannot change the size of the mesh"):
            use_abstract_mesh(AbstractMesh((2,), ("x",))).__enter__()
        for shape, names in (((8,), ("z",)), ((4, 2), ("x", "y"))):
            with use_abstract_mesh(AbstractMesh(shape, names)):
                placed, made = tangrad.device_put(np.arange(8.0), P(names[0])), tnp.arange(8)
            assert [shard.device for shard in placed.addressable_shards] == list(mesh().devices.flat)
            assert made.sharding.mesh.axis_names == names and len(made.devices()) == 8
        assert tnp.arange(8).sharding.mesh.axis_names == ("x", "y")
    turned = Mesh(mesh().devices[::-1], ("x", "y"), mesh().axis_types)
    with tangrad.set_mesh(turned), use_abstract_mesh(AbstractMesh((8,), ("z",))):
        placed = tangrad.device_put(np.arange(8.0), P("z"))
        found = {shard.device.id: np.asarray(shard.data).item() for shard in placed.addressable_shards}
        assert found == {(number + 4) % 8: float(number) for number in range(8)}


def test_the_default_device_comes_back_after_a_mesh() -> None:
    device = tangrad.devices()[3]
    with tangrad.default_device(device):
        tangrad.set_mesh(mesh())
        tangrad.set_mesh(mesh(8, 1))
        try:
            assert len(tnp.ones(4).devices()) == 8
        finally:
            tangrad.set_mesh(None)
        assert tnp.ones(4).devices() == {device}
        with tangrad.set_mesh(mesh()):
            assert len(tnp.ones(4).devices()) == 8
        assert tnp.ones(4).devices() == {device}
    tangrad.set_mesh(mesh())
    tangrad.set_mesh(None)
    assert tnp.ones(4).devices() == {tangrad.devices()[0]}


def test_a_spec_without_a_mesh_is_an_error_of_both_classes() -> None:
    for call in (
        lambda: tangrad.device_put(np.ones(8), P("x")),
        lambda: tangrad.lax.with_sharding_constraint(tnp.ones(8), P("x")),
        lambda: tangrad.jit(lambda x: x, in_shardings=P("x"))(np.ones(8)),
    ):
        for kind in (RuntimeError, ValueError):
            with pytest.raises(kind, match="requires a non-empty mesh in context"):
                call()
