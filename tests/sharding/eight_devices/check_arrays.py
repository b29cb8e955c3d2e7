"""Arrays over several devices: their properties, how they are made and moved, and eager computation with them."""

import copy
import pickle
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import tangrad
import tangrad.numpy as jnp
from tangrad.sharding import GSPMDSharding, NamedSharding, PositionalSharding, SingleDeviceSharding
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
    with pytest.raises(ValueError, match="is on 8 devices"):
        _ = x.device


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
    assert (
        tangrad.make_array_from_callback((8,), by("x"), lambda index: np.ones(4), dtype="bfloat16").dtype == "bfloat16"
    )


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
        (lambda: tangrad.device_put(np.ones(8), by("x", "y")), "for arrays of 2 dimensions or more"),
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


def test_incompatible_devices() -> None:
    x = tangrad.device_put(matrix(), by("x"))
    half = tangrad.device_put(matrix(), NamedSharding(tangrad.make_mesh((4,), ("z",)), P("z")))
    for other, words in [(tangrad.device_put(matrix(), DEVICES[3]), "cpu device 3"), (half, "cpu devices 0, 1, 2, 3")]:
        with pytest.raises(ValueError, match=f"incompatible devices for add.*argument 1 .* for {words}"):
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
