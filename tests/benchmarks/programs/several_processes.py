"""Work that several processes do together, each started afresh; process 0 prints the time of one call as JSON."""

import json
import time
from collections.abc import Callable
from typing import Any

from ..sides import SIDES

FLOATS = 1_000_000
CALLS, LOOPS = 10, 20  # the same in all processes: a collective that one calls more often waits for ever


def all_reduce(api: Any, count: int, number: int) -> Callable[[], Any]:
    """The sum of 10⁶ floats that each process has."""
    mesh = api.make_mesh((count,), ("x",))
    rows = api.NamedSharding(mesh, api.P("x"))
    part = api.numpy.full((1, FLOATS), float(number), "float32")
    x = api.make_array_from_single_device_arrays((count, FLOATS), rows, [part])
    mapped = api.shard_map(lambda part: api.lax.psum(part, "x"), mesh=mesh, in_specs=api.P("x"), out_specs=api.P())
    total = api.jit(mapped)
    expected = count * (count - 1) / 2
    assert float(total(x).addressable_shards[0].data[0, -1]) == expected
    return lambda: total(x)


# Program -> how many processes, and what each does, of which the call is timed.
PROGRAMS = {"two-process all-reduce": (2, all_reduce)}


def main(side_name: str, program: str, address: str, number: str) -> None:
    """One of the processes. Those of JAX are configured to use Gloo, as Tangrad does."""
    api = SIDES[side_name].api()
    count, make = PROGRAMS[program]
    if api.__name__ == "jax":
        api.config.update("jax_cpu_collectives_implementation", "gloo")
        api.NamedSharding = api.sharding.NamedSharding
    api.distributed.initialize(address, count, int(number), initialization_timeout=60)
    call = make(api, count, int(number))
    found = [_loop(call) for _ in range(LOOPS)]
    seconds, cpu_seconds = (min(column) / CALLS for column in zip(*found, strict=True))
    api.distributed.shutdown()
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "bytes": 0}))


def _loop(call: Callable[[], Any]) -> tuple[float, float]:
    start, cpu_start = time.perf_counter(), time.process_time()
    for _ in range(CALLS):
        call().block_until_ready()
    return time.perf_counter() - start, time.process_time() - cpu_start
