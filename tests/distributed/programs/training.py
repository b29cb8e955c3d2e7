"""Steps of training a small network on four devices, however many processes have them; prints what came out as JSON.

Arguments: the address of process 0, the number of processes, the number of this one.
"""

import itertools
import json
import sys

import numpy as np

import tangrad
import tangrad.numpy as tnp
from tangrad import lax
from tangrad.experimental import multihost_utils
from tangrad.sharding import AxisType, NamedSharding
from tangrad.sharding import PartitionSpec as P

STEPS, BATCH, RATE = 12, 8, 0.1
SIZES = (6, 16, 2)


def main(address: str, count: int, number: int) -> dict:
    tangrad.config.update("num_cpu_devices", 4 // count)
    tangrad.distributed.initialize(address, count, number, initialization_timeout=200, heartbeat_timeout_seconds=200)
    assert tangrad.distributed.is_initialized()
    assert (tangrad.process_index(), tangrad.process_count()) == (number, count)
    assert (tangrad.device_count(), tangrad.local_device_count()) == (4, 4 // count)
    assert [device.process_index for device in tangrad.local_devices()] == [number] * (4 // count)
    assert float(tangrad.jit(lambda x: x + 1, backend="cpu")(1.0)) == 2  # on a device of this process
    trained = {way.__name__: way() for way in (by_the_compiler, by_shard_map, by_pmap)}
    return {"losses": trained, **arrays(number, count), **exchange(number, count)}


# --- training --------------------------------------------------------------------------------------------------------


def start() -> dict:
    random = np.random.default_rng(0)
    layers = itertools.pairwise(SIZES)
    return {f"w{n}": random.normal(size=shape).astype(np.float32) / 2 for n, shape in enumerate(layers)}


def batches() -> list:
    random = np.random.default_rng(1)
    shapes = ((BATCH, SIZES[0]), (BATCH, SIZES[-1]))
    return [[random.normal(size=shape).astype(np.float32) for shape in shapes] for _ in range(STEPS)]


def loss(weights: dict, x, y):
    return ((tnp.tanh(x @ weights["w0"]) @ weights["w1"] - y) ** 2).mean()


def updated(weights: dict, slopes: dict) -> dict:
    return tangrad.tree.map(lambda w, slope: w - RATE * slope, weights, slopes)


def step(weights: dict, x, y):
    value, slopes = tangrad.value_and_grad(loss)(weights, x, y)
    return updated(weights, slopes), value


def averaged_step(weights: dict, x, y):
    """The step of one device, which has a part of the batch."""
    value, slopes = tangrad.value_and_grad(loss)(weights, x, y)
    return updated(weights, lax.pmean(slopes, "data")), lax.pmean(value, "data")


def run(function, weights, place) -> list:
    """The losses, none of which is waited for before the last step is started."""
    values = []
    placed = [(place(x), place(y)) for x, y in batches()]
    for x, y in placed:
        weights, value = function(weights, x, y)
        values.append(value * 1)
    return [float(value) for value in values]


def by_the_compiler() -> list:
    """Batches over one axis of a mesh, weights over the other."""
    mesh = tangrad.make_mesh((2, 2), ("data", "model"), AxisType.Auto)
    rows = NamedSharding(mesh, P("data"))
    shardings = {"w0": NamedSharding(mesh, P(None, "model")), "w1": NamedSharding(mesh, P("model"))}
    everywhere = NamedSharding(mesh, P())
    function = tangrad.jit(step, in_shardings=(shardings, rows, rows), out_shardings=(shardings, everywhere))
    return run(function, tangrad.device_put(start(), shardings), lambda part: tangrad.device_put(part, rows))


def by_shard_map() -> list:
    mesh = tangrad.make_mesh((4,), ("data",))
    mapped = tangrad.shard_map(
        averaged_step, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()), check_vma=False
    )
    rows = NamedSharding(mesh, P("data"))
    whole = tangrad.make_array_from_callback
    return run(tangrad.jit(mapped), start(), lambda x: whole(x.shape, rows, lambda index: x[index]))


def by_pmap() -> list:
    """Each process passes the part of its own devices."""
    here = tangrad.local_device_count()
    mapped = tangrad.pmap(averaged_step, axis_name="data", in_axes=(None, 0, 0), out_axes=(None, None))

    def own_part(x):
        first = tangrad.process_index() * here
        return x.reshape(4, -1, x.shape[-1])[first : first + here]

    return run(mapped, start(), own_part)


# --- arrays ----------------------------------------------------------------------------------------------------------


def arrays(number: int, count: int) -> dict:
    mesh = tangrad.make_mesh((4,), ("x",))
    rows, everywhere = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    asked = []

    def part(index):
        asked.append(index[0].start)
        return np.arange(8.0)[index]

    x = tangrad.make_array_from_callback((8,), rows, part)
    here = list(range(8 // count * number, 8 // count * (number + 1)))
    assert asked == here[::2], "each process is asked for its own parts"
    assert [float(value) for shard in x.addressable_shards for value in shard.data] == here
    assert len(x.global_shards) == 4 and [shard.data is None for shard in x.global_shards].count(True) == 4 - 4 // count
    assert x.is_fully_addressable == (count == 1) and not x.is_fully_replicated
    local = tangrad.make_array_from_process_local_data(rows, np.array(here, np.float32))
    assert local.shape == (8,) and bool((local == x).all())
    assert bool((tangrad.make_array_from_process_local_data(rows, np.arange(8.0), (8,)) == x).all())
    parts = [shard.data for shard in x.addressable_shards]
    assert bool((tangrad.make_array_from_single_device_arrays((8,), rows, parts) == x).all())
    gathered = tangrad.device_put(x, everywhere)
    assert gathered.to_numpy().tolist() == list(range(8)) and gathered.is_fully_replicated
    back = tangrad.device_put(gathered, rows)
    assert back.sharding == rows and [float(v) for shard in back.addressable_shards for v in shard.data] == here
    given = multihost_utils.global_array_to_host_local_array(x, mesh, P("x"))
    assert given.is_fully_addressable and given.to_numpy().tolist() == here
    again = multihost_utils.host_local_array_to_global_array(given, mesh, P("x"))
    assert again.sharding == rows and bool((again == x).all())
    errors = {}
    if count > 1:
        remote = next(device for device in tangrad.devices() if device.process_index != number)
        calls = {
            "read": lambda: np.asarray(x),
            "differ": lambda: tangrad.device_put(np.full(8, number), rows),
            "remote": lambda: tangrad.device_put(1.0, remote),
            "alone": lambda: tangrad.jit(lambda a: a, in_shardings=rows)(np.arange(8.0)),
            "too long": lambda: tangrad.pmap(lambda a: a)(np.arange(9.0)),
            "stacked": lambda: multihost_utils.process_allgather(x),
            "shapes": lambda: multihost_utils.process_allgather(np.zeros(number)),
            "sources": lambda: multihost_utils.broadcast_one_to_all(1.0, is_source=True),
            "not equal": lambda: multihost_utils.assert_equal({"a": 1, "b": number}, "after loading"),
            "places": lambda: multihost_utils.sync_global_devices(f"place {number}"),
        }
        errors = {name: error_of(call) for name, call in calls.items()}
        assert repr(x) == "Array(shape=(8,), dtype=float32)"
    return {
        "sum": float(tangrad.jit(lambda x: (x * x).sum())(x)),
        "slope": tangrad.device_put(tangrad.grad(lambda x: (x**3).sum())(x), everywhere).to_numpy().tolist(),
        "errors": errors,
    }


def error_of(call) -> str:
    try:
        call()
    except (RuntimeError, ValueError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


# --- exchange --------------------------------------------------------------------------------------------------------


def exchange(number: int, count: int) -> dict:
    mine = {"a": np.arange(3) + number, "b": np.float32(-0.0), "c": number == 0}
    stacked = multihost_utils.process_allgather(mine)
    assert stacked["a"].tolist() == [[n, n + 1, n + 2] for n in range(count)] and stacked["b"].shape == (count,)
    assert multihost_utils.process_allgather(mine, tiled=True)["a"].shape == (3 * count,)
    x = tangrad.make_array_from_callback(
        (4,), NamedSharding(tangrad.make_mesh((4,), ("x",)), P("x")), lambda index: np.arange(4.0)[index]
    )
    assert multihost_utils.process_allgather(x, tiled=True).tolist() == [0, 1, 2, 3]
    sent = multihost_utils.broadcast_one_to_all(mine)
    assert sent["a"].tolist() == [0, 1, 2] and np.signbit(sent["b"]) and bool(sent["c"])
    last = multihost_utils.broadcast_one_to_all(number, is_source=number == count - 1)
    multihost_utils.assert_equal(sent)
    multihost_utils.sync_global_devices("the end")
    return {"last": int(last) + 1 == count}


if __name__ == "__main__":
    print("result:", json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
