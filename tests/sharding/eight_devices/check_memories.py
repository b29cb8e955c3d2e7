"""Memories of devices: what there are, arrays that wait in another one, and what is computed of them."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import tangrad
import tangrad.numpy as tnp
from tangrad.sharding import GSPMDSharding, NamedSharding, PositionalSharding, SingleDeviceSharding
from tangrad.sharding import PartitionSpec as P
from tests.sharding.eight_devices.support import ON_XLA, assert_equal, by, matrix, mesh

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
    ],
)
def test_a_kind_that_there_is_not_is_refused_by_the_names_of_those_that_there_are(ask: Any) -> None:
    with pytest.raises(ValueError, match=", ".join([f"'{kind}'" for kind in KINDS]) + ", not 'tape'"):
        ask("tape")


@pytest.mark.parametrize(
    "make", [PositionalSharding, lambda devices, **kw: GSPMDSharding(devices, "{replicated}", **kw)]
)
def test_kinds_of_shardings_for_the_usual_memory_alone(make: Any) -> None:
    assert make(tangrad.devices()[:1], memory_kind="device").num_devices == 1
    with pytest.raises(ValueError, match="usual memory of devices, got memory_kind='pinned_host'"):
        make(tangrad.devices()[:1], memory_kind="pinned_host")


def test_the_usual_memory_by_name_is_the_usual_memory() -> None:
    rows = by("x")
    assert rows.with_memory_kind("device") == rows and hash(rows.with_memory_kind("device")) == hash(rows)
    x = tangrad.device_put(matrix(), rows.with_memory_kind("device"))
    assert x.sharding == rows and x.sharding.memory_kind is None


TARGETS = [by("x"), by("y", "x"), by(), SingleDeviceSharding(DEVICE), SingleDeviceSharding(tangrad.devices()[3])]


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_there_and_back(target: Any, kind: str) -> None:
    there = target.with_memory_kind(kind)
    assert there != target and not there.is_equivalent_to(target, 2) and kind in repr(there)
    assert there.with_memory_kind(None) == there.with_memory_kind("device") == target
    for source in (matrix(), tnp.asarray(matrix()), tangrad.device_put(matrix(), target)):
        x = tangrad.device_put(source, there)
        assert x.sharding == there and x.sharding.memory_kind == kind and x.committed
        assert_equal(x, matrix(), 0)
        back = tangrad.device_put(x, target)
        assert back.sharding == target and back.sharding.memory_kind is None
        assert_equal(back, matrix(), 0)
    for other in OTHERS:
        assert_equal(tangrad.device_put(x, target.with_memory_kind(other)), matrix(), 0)
    assert_equal(tangrad.device_put(x, by(None, "y")), matrix(), 0)


@elsewhere
@pytest.mark.parametrize("kind", OTHERS or [None])
@pytest.mark.parametrize("target", TARGETS[::3], ids=str)
def test_computing_brings_arrays_to_the_usual_memory(target: Any, kind: str) -> None:
    x = tangrad.device_put(matrix(), target.with_memory_kind(kind))
    beside = tangrad.device_put(matrix(), target)
    for found in (x + 1, tangrad.jit(lambda a: a + 1)(x), tangrad.vmap(lambda row: row + 1)(x)):
        assert found.sharding.memory_kind is None and found.sharding.device_set == target.device_set
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
            assert not isinstance(outs, tuple) or outs[1].sharding.memory_kind is None
    compiled = tangrad.jit(lambda a: a + 1, out_shardings=there).lower(matrix()).compile()
    assert compiled.output_shardings == there and compiled(matrix()).sharding == there
    inside = tangrad.jit(lambda a: tangrad.device_put(a, there) * 2)(matrix())  # computed in the usual memory
    assert inside.sharding.memory_kind is None
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
    assert double(waiting).sharding.memory_kind is None
