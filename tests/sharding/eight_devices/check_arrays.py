"""Arrays over several devices: their properties, how they are made and moved, and eager computation with them."""

import copy
import pickle
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad import lax
from tangrad.sharding import AxisType, GSPMDSharding, NamedSharding, PositionalSharding, SingleDeviceSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh

DEVICES = tangrad.devices()


def test_the_properties_of_an_array() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    assert x.sharding == by("x", "y") and x.committed and x.is_fully_addressable and not x.is_fully_replicated
    assert x.devices() == set(DEVICES) and len(x.addressable_shards) == len(x.global_shards) == 8
    shard = x.addressable_shards[6]
    assert shard.device is DEVICES[6] and shard.index == (slice(4, 8), slice(4, 6)) and shard.replica_id == 0
    assert_equal(shard.data, matrix()[4:8, 4:6])
    assert shard.data.sharding == SingleDeviceSharding(DEVICES[6])
    assert_equal(x.addressable_data(1), matrix()[:4, 2:4])
    assert x.on_device_size_in_bytes() > 0
    assert x.device == x.sharding and shard.data.device is DEVICES[6]
    for like in (jnp.zeros_like, jnp.ones_like, lambda x: jnp.full_like(x, 2), lambda x: lax.full_like(x, 2)):
        assert like(x).sharding == x.sharding and like(x[0]).shape == (8,)
        assert like(tangrad.ShapeDtypeStruct.like(x)).sharding == x.sharding


def test_replicas_are_counted() -> None:
    x = tangrad.device_put(matrix(), by("y"))
    assert [shard.replica_id for shard in x.addressable_shards] == [0] * 4 + [1] * 4
    assert tangrad.device_put(1.0, by()).is_fully_replicated


def test_partition_specs_mean_the_mesh_in_use() -> None:
    with mesh():
        placed = tangrad.device_put({"w": matrix(), "b": 1.0}, {"w": P("x", "y"), "b": P()})
        assert placed["w"].sharding == by("x", "y") and placed["b"].sharding == by()
        assert_equal(placed["w"], matrix())
        assert_equal(tangrad.jit(lambda x: tangrad.device_put(x, P("y")) * 2)(matrix()), matrix() * 2)
    with pytest.raises(RuntimeError, match="mesh"):
        tangrad.device_put(matrix(), P("x"))


def test_names_of_a_spec_need_not_be_different_before_a_mesh_is_asked() -> None:
    logical = P("embed", ("embed", "heads"), None)
    assert tuple(logical) == ("embed", ("embed", "heads"), None)
    assert repr(logical) == "P('embed', ('embed', 'heads'), None)"
    with pytest.raises(ValueError, match="each mesh axis once, got 'x' twice"):
        NamedSharding(mesh(), P("x", "x"))
    with mesh(), pytest.raises(ValueError, match="each mesh axis once"):
        tangrad.jit(lambda x: tangrad.lax.with_sharding_constraint(x, P("y", ("x", "y"))))(matrix())


def test_arrays_on_one_device() -> None:
    x = jnp.ones(3)
    assert isinstance(x.sharding, SingleDeviceSharding) and x.addressable_shards[0].index == (slice(None),)
    assert x.addressable_data(0) is x
    one = tangrad.device_put(x, NamedSharding(tangrad.make_mesh((1,), ("x",), devices=DEVICES[3:]), P("x")))
    assert one.device is DEVICES[3]


SHARDINGS = [
    by("x", "y"), by("y", "x"), by(None, ("y", "x")), by("x"), by(), PositionalSharding(DEVICES[::-1]).reshape(4, 2),
    GSPMDSharding(DEVICES, "{devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}"),
    NamedSharding(tangrad.make_mesh((4,), ("z",), devices=[DEVICES[n] for n in (6, 2, 3, 1)]), P(None, "z")),
    SingleDeviceSharding(DEVICES[5]),
]  # fmt: skip


@pytest.mark.parametrize("source", range(len(SHARDINGS)))
def test_resharding(source: int) -> None:
    x = tangrad.device_put(matrix(), SHARDINGS[source])
    assert_equal(x, matrix())
    for sharding in SHARDINGS:
        moved = tangrad.device_put(x, sharding)
        assert moved.sharding == sharding
        assert_equal(moved, matrix())
        for shard in moved.addressable_shards:
            assert_equal(shard.data, matrix()[shard.index])
    assert tangrad.device_put(x, DEVICES[2]).device is DEVICES[2]


def test_trees_and_prefixes() -> None:
    tree = {"w": matrix(), "b": np.ones(8)}
    placed = tangrad.device_put(tree, {"w": by("x", "y"), "b": by("y")})
    assert placed["w"].sharding == by("x", "y") and placed["b"].sharding == by("y")
    assert all([leaf.sharding == by() for leaf in tangrad.tree.leaves(tangrad.device_put(tree, by()))])


def test_typed_keys() -> None:
    keys = tangrad.random.split(tangrad.random.key(0), 8)
    placed = tangrad.device_put(keys, by("y"))
    assert placed.sharding == by("y") and placed.shape == (8,)
    assert tangrad.random.key_data(placed).tolist() == tangrad.random.key_data(keys).tolist()
    assert_equal(tangrad.vmap(tangrad.random.normal)(placed), tangrad.vmap(tangrad.random.normal)(keys))


def test_making_arrays() -> None:
    asked = []

    def part(index):
        asked.append(index)
        return matrix()[index]

    x = tangrad.make_array_from_callback((8, 8), by("y"), part)
    assert x.sharding == by("y") and len(asked) == 4
    assert_equal(x, matrix())
    shards = [shard.data for shard in x.addressable_shards]
    assert_equal(tangrad.make_array_from_single_device_arrays((8, 8), by("y"), shards[::-1]), matrix())
    assert_equal(tangrad.make_array_from_process_local_data(by("x"), matrix()), matrix())
    on_one = tangrad.make_array_from_process_local_data(DEVICES[3], matrix())
    assert on_one.device is DEVICES[3] and on_one.tolist() == matrix().tolist()
    data = {"a": matrix(), "b": [matrix(), matrix()]}
    for sharding, shape in ((by("x"), None), ({"a": by("x"), "b": DEVICES[3]}, {"a": None, "b": (8, 8)})):
        found = tangrad.make_array_from_process_local_data(sharding, data, shape)
        tangrad.tree.map(assert_equal, found, data)
        assert found["a"].sharding == by("x") and found["b"][1].device in (DEVICES[3], by("x"))
    assert (
        tangrad.make_array_from_callback((8,), by("x"), lambda index: np.ones(4), dtype="bfloat16").dtype == "bfloat16"
    )
    keys = tangrad.random.split(tangrad.random.key(0), 8)
    found = tangrad.make_array_from_callback((8,), by("x"), lambda index: keys[index])
    assert found.dtype == keys.dtype and found.sharding == by("x")
    assert_equal(tangrad.random.key_data(found), tangrad.random.key_data(keys))


def test_bad_parts() -> None:
    x = tangrad.device_put(matrix(), by("x", "y"))
    shards = [shard.data for shard in x.addressable_shards]
    make = tangrad.make_array_from_single_device_arrays
    for call, words in [
        (lambda: make((8, 8), by("x", "y"), shards[:3]), "needs one array on each of its 8 devices, got 3"),
        (lambda: make((8, 4), by("x", "y"), shards), "must be of shape (4, 1)"),
        (lambda: make((3, 8), by("x", "y"), shards), "dimension 0, of size 3"),
        (lambda: tangrad.make_array_from_callback((8,), by("x"), lambda index: np.ones(3)), "has the shape (4,)"),
        (lambda: tangrad.device_put(np.ones((3, 8)), by("x")), "device_put: an array of shape (3, 8)"),
        (lambda: tangrad.device_put(np.ones(8), by("x", "y")), "for arrays of rank 2 or more"),
        (
            lambda: tangrad.make_array_from_process_local_data(by("x"), {"a": np.ones(8)}, {"a": (8,), "b": (8,)}),
            "the keys differ, ['b']",
        ),
        (lambda: tangrad.jit(lambda x: make((4,), by(), [x]))(np.ones(4)), "takes arrays, got StagingTracer"),
        (lambda: by(("x", ("y",))), "are a flat tuple, got ('x', ('y',))"),
        (
            lambda: NamedSharding(tangrad.sharding.AbstractMesh((2,), "x"), P("x"), memory_kind="attic"),
            "invalid memory kind 'attic'",
        ),
        (
            lambda: tangrad.make_array_from_process_local_data(by("x"), np.ones(4), (8,)),
            "of dimension 0, of size 8, this process holds 8 by",
        ),
    ]:
        with pytest.raises(ValueError) as error:
            call()
        assert words in str(error.value)
    with pytest.raises(TypeError, match="takes arrays"):
        make((8, 8), by("x", "y"), [1.0])


def test_eager_computation() -> None:
    x, y = tangrad.device_put(matrix(), by("x", "y")), tangrad.device_put(matrix().T, by(None, "x"))
    for found, expected in [
        (x + 1, matrix() + 1), (x @ y, matrix() @ matrix().T), (x.sum(0), matrix().sum(0)), (x.T * 2.0, matrix().T * 2),
        (x[1], matrix()[1]), (x + np.ones(8, np.float32), matrix() + 1), (jnp.sort(-x, 0), np.sort(-matrix(), 0)),
        (jnp.concatenate([x, y]), np.concatenate([matrix(), matrix().T])), (x.at[0].set(3.0)[0], np.full(8, 3.0)),
    ]:  # fmt: skip
        assert_equal(found, expected, 1e-4)
        assert found.sharding.num_devices == 8 and found.committed
    assert (x + 1).sharding == by("x", "y")
    assert [list(map(float, row)) for row in x] == matrix().tolist()
    value, gradient = tangrad.value_and_grad(lambda a: jnp.sin(a).sum())(x)
    assert_equal(value, np.sin(matrix()).sum(), 1e-4)
    assert_equal(gradient, np.cos(matrix()))


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
def test_incompatible_devices(axis_type: AxisType) -> None:
    x = tangrad.device_put(matrix(), by("x"))
    half = tangrad.device_put(matrix(), NamedSharding(tangrad.make_mesh((4,), ("z",), axis_type), P("z")))
    for other, words in [(tangrad.device_put(matrix(), DEVICES[3]), "cpu device 3"), (half, "cpu devices 0, 1, 2, 3")]:
        with pytest.raises(ValueError, match=f"incompatible devices for .* add: .*argument 1 .* for {words}"):
            x + other


def test_meshes_of_other_orders_meet() -> None:
    turned = tangrad.make_mesh((8,), ("z",), devices=DEVICES[::-1])
    x, y = tangrad.device_put(matrix(), NamedSharding(turned, P("z"))), tangrad.device_put(matrix(), by("x", "y"))
    assert_equal(x + y, 2 * matrix())
    assert_equal(tangrad.jit(lambda a, b: a @ b)(x, y), matrix() @ matrix(), 1e-3)
    assert_equal(tangrad.jit(lambda a: a * 2)(x).addressable_shards[0].data, 2 * matrix()[:1])


def test_deleting_copying_pickling() -> None:
    x = tangrad.device_put(matrix(), by("x"))
    assert_equal(copy.deepcopy(x), matrix())
    assert_equal(pickle.loads(pickle.dumps(x)), matrix())
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)


def test_pictures(capsys: pytest.CaptureFixture) -> None:
    tangrad.debug.visualize_array_sharding(tangrad.device_put(matrix(), by("x", "y")))
    tangrad.debug.visualize_sharding((8,), by("y"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "│ CPU 0 │ CPU 1 │ CPU 2 │ CPU 3 │" and len(lines) == 8
    assert "CPU 0,4" in lines[6]
    with pytest.raises(ValueError, match="one or two dimensions"):
        tangrad.debug.visualize_sharding((8, 8, 8), by("y"))


def test_a_drawing(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    tangrad.debug.visualize_array_sharding(tangrad.device_put(matrix(8, 24), by("x", "y")), file=tmp_path / "x.svg")
    tangrad.debug.visualize_sharding((8,), by("y"), file=str(tmp_path / "y.svg"))
    assert not capsys.readouterr().out
    kind = "{http://www.w3.org/2000/svg}"
    two, one = [ElementTree.parse(tmp_path / name).getroot() for name in ("x.svg", "y.svg")]
    texts = [element.text for element in two.iter(f"{kind}text")]
    # The elements that columns and rows begin at, and the devices of each part.
    assert sorted(texts) == sorted(["0", "6", "12", "18", "0", "4", *[f"CPU {number}" for number in range(8)]])
    assert len({element.get("fill") for element in two.iter(f"{kind}rect")}) == 8 + 1
    assert [element.text for element in one.iter(f"{kind}text")][-1] == "CPU 3,7"
    assert "(8, 24)" in str(two.find(f"{kind}title").text)


def test_the_contents_are_one_per_device() -> None:
    x = tangrad.device_put(np.ones((8, 1024), np.float32), by(("x", "y")))
    sizes = [shard.data.nbytes for shard in x.addressable_shards]
    assert sizes == [4096] * 8
    if ON_XLA:
        assert x.on_device_size_in_bytes() in (4096, 8 * 4096)
    assert mesh().size == 8


def test_rows_on_devices_of_their_own() -> None:
    devices = tangrad.devices()[2:5]
    tree = {"w": np.arange(3.0), "s": 2}
    copies = tangrad.device_put_replicated(tree, devices)
    assert copies["w"].shape == (3, 3) and copies["s"].tolist() == [2, 2, 2]
    assert [shard.device for shard in copies["w"].addressable_shards] == devices
    rows = tangrad.device_put_sharded([{"w": np.full(2, i)} for i in range(3)], devices)["w"]
    assert rows.tolist() == [[0, 0], [1, 1], [2, 2]] and rows.devices() == set(devices)
    assert [buffer.shape for buffer in rows.device_buffers] == [(1, 2)] * 3
    with pytest.raises(ValueError, match="is on 3 devices"):
        _ = rows.device_buffer
    assert rows.device_buffers[1].device_buffer.tolist() == [[1, 1]]
    mapped = tangrad.pmap(lambda row: tangrad.lax.psum(row, "i"), axis_name="i", devices=devices)(rows)
    assert mapped.tolist() == [[3, 3]] * 3
    for call, kind, words in (
        (lambda: tangrad.device_put_sharded([1, 2], devices), ValueError, "2 shards and 3 devices"),
        (lambda: tangrad.device_put_sharded(5, devices), TypeError, "a sequence of shards"),
        (lambda: tangrad.device_put_sharded([np.ones(2), np.ones(3)], devices[:2]), ValueError, "shard 1 f32"),
        (lambda: tangrad.device_put_sharded([[1], (1,)], devices[:2]), ValueError, "shard 1 a tree"),
        (lambda: tangrad.device_put_replicated(1, []), ValueError, "at least one device"),
        (lambda: tangrad.device_put_replicated("a", devices), TypeError, "arrays and numbers"),
        (lambda: tangrad.device_put_replicated(1, devices[0]), TypeError, "a sequence of devices"),
        (lambda: tangrad.jit(lambda x: tangrad.device_put_replicated(x, devices))(1), TypeError, "outside of"),
    ):
        with pytest.raises(kind, match=words):
            call()


# --- Memories of devices: what there are, arrays that wait in another one, and what is computed of them ---


DEVICE = tangrad.devices()[0]
KINDS = ("device", "pinned_host", "unpinned_host") if ON_XLA else ("device",)
OTHERS = KINDS[1:]
elsewhere = pytest.mark.skipif(not OTHERS, reason="there is one memory")


def test_devices_list_their_memories() -> None:
    assert tuple([memory.kind for memory in DEVICE.addressable_memories()]) == KINDS
    assert DEVICE.default_memory().kind == "device" and DEVICE.default_memory() == DEVICE.memory("device")
    memory = DEVICE.addressable_memories()[-1]
    assert memory == DEVICE.memory(KINDS[-1]) and hash(memory) == hash(DEVICE.memory(KINDS[-1]))
    assert (memory.platform, memory.process_index, memory.addressable_by_devices()) == ("cpu", 0, [DEVICE])
    assert memory != tangrad.devices()[1].memory(KINDS[-1]) and KINDS[-1] in repr(memory)


@pytest.mark.parametrize(
    "ask",
    [
        DEVICE.memory,
        lambda kind: NamedSharding(mesh(), P("x"), memory_kind=kind),
        by("x").with_memory_kind,
        lambda kind: SingleDeviceSharding(DEVICE, memory_kind=kind),
        SingleDeviceSharding(DEVICE).with_memory_kind,
        lambda kind: GSPMDSharding.get_replicated([DEVICE], memory_kind=kind),
        GSPMDSharding([DEVICE], "{replicated}").with_memory_kind,
    ],
)
def test_a_kind_that_there_is_not_is_refused_by_the_names_of_those_that_there_are(ask: Any) -> None:
    with pytest.raises(ValueError, match=", ".join([f"'{kind}'" for kind in KINDS]) + ", not 'tape'"):
        ask("tape")


def test_a_kind_of_shardings_for_the_usual_memory_alone() -> None:
    assert PositionalSharding(tangrad.devices()[:1], memory_kind="device").memory_kind == "device"
    with pytest.raises(ValueError, match="usual memory of devices, got memory_kind='pinned_host'"):
        PositionalSharding(tangrad.devices()[:1], memory_kind="pinned_host")


HLO = GSPMDSharding(tangrad.devices(), "{devices=[8,1]<=[8]}")


def test_the_usual_memory_by_name_is_the_usual_memory() -> None:
    rows = by("x")
    for sharding in (rows, SingleDeviceSharding(DEVICE), HLO, PositionalSharding(tangrad.devices()[:1])):
        named = sharding.with_memory_kind("device")
        assert named == sharding and hash(named) == hash(sharding)
        assert named.memory_kind == sharding.memory_kind == "device" and "memory" not in repr(named)
    assert rows.abstract().memory_kind is None and rows.abstract().to_sharding("f").memory_kind == "device"
    x = tangrad.device_put(matrix(), rows.with_memory_kind("device"))
    assert x.sharding == rows and x.sharding.memory_kind == "device"


TARGETS = [by("x"), by("y", "x"), by(), SingleDeviceSharding(DEVICE), SingleDeviceSharding(tangrad.devices()[3]), HLO]


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_there_and_back(target: Any, kind: str) -> None:
    there = target.with_memory_kind(kind)
    assert there != target and not there.is_equivalent_to(target, 2) and kind in repr(there)
    assert there.with_memory_kind(None) == there.with_memory_kind("device") == target
    for source in (matrix(), jnp.asarray(matrix()), tangrad.device_put(matrix(), target)):
        x = tangrad.device_put(source, there)
        assert x.sharding == there and x.sharding.memory_kind == kind and x.committed
        assert_equal(x, matrix(), 0)
        back = tangrad.device_put(x, target)
        assert back.sharding == target and back.sharding.memory_kind == "device"
        assert_equal(back, matrix(), 0)
    for other in OTHERS:
        assert_equal(tangrad.device_put(x, target.with_memory_kind(other)), matrix(), 0)
    assert_equal(tangrad.device_put(x, by(None, "y")), matrix(), 0)


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", [TARGETS[0], TARGETS[3], HLO], ids=str)
def test_computing_brings_arrays_to_the_usual_memory(target: Any, kind: str) -> None:
    x = tangrad.device_put(matrix(), target.with_memory_kind(kind))
    beside = tangrad.device_put(matrix(), target)
    for found in (x + 1, tangrad.jit(lambda a: a + 1)(x), tangrad.vmap(lambda row: row + 1)(x)):
        assert found.sharding.memory_kind == "device" and found.sharding.device_set == target.device_set
        assert_equal(found, matrix() + 1)
    assert_equal(x + beside, 2 * matrix())
    assert_equal(tangrad.jit(lambda a, b: a @ b)(beside, x), matrix() @ matrix())
    assert_equal(tangrad.grad(lambda a: (a * a).sum())(x), 2 * matrix())
    assert_equal(x[1:3], matrix()[1:3])
    assert x.sharding.memory_kind == kind  # where it was


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
def test_arrays_there_are_arrays(kind: str) -> None:
    x = tangrad.device_put(matrix(), by("x").with_memory_kind(kind))
    assert x.shape == (8, 8) and x.is_ready() in (True, False) and tangrad.block_until_ready(x) is x
    assert x.on_device_size_in_bytes() == 4 * matrix().nbytes  # cut in two, on eight devices
    assert [shard.data.shape for shard in x.addressable_shards] == [(4, 8)] * 8
    assert repr(x) == repr(tangrad.device_put(matrix(), by("x")))
    assert_equal(pickle.loads(pickle.dumps(x)), matrix(), 0)
    assert_equal(copy.deepcopy(x), matrix(), 0)
    typed = tangrad.device_put(tangrad.random.key(3), SingleDeviceSharding(DEVICE, memory_kind=kind))
    assert_equal(tangrad.random.key_data(typed), tangrad.random.key_data(tangrad.random.key(3)), 0)
    x.delete()
    assert x.is_deleted()
    for use in (lambda: x + 1, lambda: tangrad.jit(lambda a: a + 1)(x), lambda: np.asarray(x)):
        with pytest.raises(RuntimeError, match="has been deleted"):
            use()


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", [by("x"), by("x", "y"), SingleDeviceSharding(DEVICE)], ids=str)
def test_results_wait_in_the_memory_that_is_stated(target: Any, kind: str) -> None:
    there = target.with_memory_kind(kind)
    for program in (
        tangrad.jit(lambda a: a + 1, out_shardings=there),
        tangrad.jit(lambda a: (a + 1, a), out_shardings=(there, None)),
        tangrad.jit(lambda a: tangrad.lax.with_sharding_constraint(a + 1, there)),
        tangrad.jit(lambda a: tangrad.device_put(a + 1, there)),
        tangrad.jit(lambda a: tangrad.jit(lambda b: tangrad.device_put(b + 1, there))(a)),
        tangrad.jit(lambda a: a + 1, in_shardings=target, out_shardings=there),
    ):
        for _ in range(2):  # the second call takes the short way
            outs = program(matrix())
            out = outs[0] if isinstance(outs, tuple) else outs
            assert out.sharding == there and out.sharding.memory_kind == kind
            assert_equal(out, matrix() + 1)
            assert not isinstance(outs, tuple) or outs[1].sharding.memory_kind == "device"
    compiled = tangrad.jit(lambda a: a + 1, out_shardings=there).lower(matrix()).compile()
    assert compiled.output_shardings == there and compiled(matrix()).sharding == there
    inside = tangrad.jit(lambda a: tangrad.device_put(a, there) * 2)(matrix())  # computed in the usual memory
    assert inside.sharding.memory_kind == "device"
    assert_equal(inside, 2 * matrix())


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", [by("x"), SingleDeviceSharding(DEVICE)], ids=str)
def test_arguments_are_in_the_memory_that_is_stated(target: Any, kind: str) -> None:
    there = target.with_memory_kind(kind)
    double = tangrad.jit(lambda a: 2 * a, in_shardings=there)
    waiting = tangrad.device_put(matrix(), there)
    assert_equal(double(waiting), 2 * matrix())
    assert_equal(double(matrix()), 2 * matrix())  # from the host
    with pytest.raises(ValueError, match=f"argument 0, f32.*is in the memory 'device'.*say '{kind}'"):
        double(tangrad.device_put(matrix(), target))
    assert_equal(double(waiting), 2 * matrix())
    assert double.lower(waiting).compile().input_shardings == ((there,), {})
    assert double(waiting).sharding.memory_kind == "device"


# --- Copies between devices under transfer guards ---


def rows():
    return NamedSharding(mesh(), P("x"))


IMPLICIT = {
    "argument of a program over a mesh": lambda x: tangrad.jit(lambda y: y + 1, in_shardings=rows())(x),
    "beside an array over a mesh": lambda x: x + SPREAD,
    "beside an array on another device": lambda x: x + ELSEWHERE,
    "argument of pmap": lambda x: tangrad.pmap(lambda y: y + 1)(x),
}
EXPLICIT = {
    "to a device": lambda x: tangrad.device_put(x, tangrad.devices()[1]),
    "to a mesh": lambda x: tangrad.device_put(x, rows()),
    "method": lambda x: x.to_device(tangrad.devices()[1]),
    "rows": lambda x: tangrad.device_put_sharded([x, x], tangrad.devices()[:2]),
}
X = tangrad.numpy.arange(8.0)
SPREAD = tangrad.device_put(X, rows())
ELSEWHERE = tangrad.device_put(X, tangrad.devices()[3])


@pytest.mark.parametrize("name", IMPLICIT)
def test_implicit_copies(name):
    guard = tangrad.transfer_guard_device_to_device("disallow")
    with guard, pytest.raises(RuntimeError, match="disallowed device-to-device transfer of f32"):
        IMPLICIT[name](X)
    with tangrad.transfer_guard_host_to_device("disallow"):
        IMPLICIT[name](X)


@pytest.mark.parametrize("name", EXPLICIT)
def test_what_is_asked_for(name):
    with tangrad.transfer_guard("disallow"):
        EXPLICIT[name](X)
    with tangrad.transfer_guard("disallow_explicit"), pytest.raises(RuntimeError, match="disallowed device-to-device"):
        EXPLICIT[name](X)


def test_what_is_there_already():
    with tangrad.transfer_guard("disallow"):
        tangrad.jit(lambda y: y + 1, in_shardings=rows())(SPREAD)
        (SPREAD + SPREAD).sum()
        tangrad.device_put(ELSEWHERE, tangrad.devices()[3])


def test_from_the_host_over_a_mesh_by_way_of_the_first_device():
    double = tangrad.jit(lambda y: y + y, in_shardings=rows())
    for guard in (tangrad.transfer_guard_host_to_device, tangrad.transfer_guard_device_to_device):
        with guard("disallow"), pytest.raises(RuntimeError, match="disallowed"):
            double(np.arange(8.0))
    with tangrad.transfer_guard("disallow"):
        assert double(tangrad.device_put(np.arange(8.0), rows())).tolist() == [2.0 * i for i in range(8)]


def test_made_of_parts():
    with tangrad.transfer_guard("disallow"), pytest.raises(RuntimeError, match="host-to-device"):
        tangrad.make_array_from_callback((8,), rows(), lambda index: np.arange(8.0)[index])


@pytest.mark.parametrize("place", ["device", "none", "sharding"])
def test_what_is_put_apart_outlives_the_donated(place: str) -> None:
    target = {"device": tangrad.devices()[0], "none": None, "sharding": by("x", "y")}[place]
    given = tangrad.device_put(matrix(), target, may_alias=False)
    apart, (other, _) = (
        tangrad.device_put(given, target, may_alias=False),
        tangrad.device_put((given, matrix()), target, may_alias=(False, True)),
    )
    doubled = tangrad.jit(lambda a: a * 2, donate_argnums=0)(given)
    assert given.is_deleted() and not apart.is_deleted() and not other.is_deleted()
    assert apart.sharding == other.sharding and apart.committed == (target is not None)
    for kept in (apart, other):
        assert_equal(kept * 2, np.asarray(doubled))


def test_an_array_keeps_a_sharding_over_one_device() -> None:
    alone = tangrad.make_mesh((1,), ("x",), (AxisType.Auto,), devices=DEVICES[2:3])
    by_rows = NamedSharding(alone, P("x"))
    x = tangrad.device_put(matrix(), by_rows)
    again = tangrad.device_put(x, NamedSharding(alone, P(None, "x")))
    assert x.sharding == by_rows and again.sharding.spec == P(None, "x") and x.devices() == {DEVICES[2]}
    assert x.committed and x.addressable_shards[0].data.shape == (8, 8)
    made = tangrad.make_array_from_callback((8, 8), by_rows, lambda index: matrix()[index])
    assert made.sharding == jnp.ones(3, device=by_rows).sharding == by_rows
    double = tangrad.jit(lambda a, b: (a + b, 2 * b), out_shardings=(by_rows, None))
    for first, _ in (double(matrix(), matrix()), double(x, matrix())):
        assert first.sharding == by_rows
        assert_equal(first, 2 * matrix())
    assert_equal(x + again, 2 * matrix())
    assert (x + x).devices() == {DEVICES[2]}
    x.delete()
    assert again.sharding.spec == P(None, "x")
