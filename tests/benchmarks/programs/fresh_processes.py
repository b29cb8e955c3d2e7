"""Work in fresh processes: a deep program in a second one, whose programs are kept, and what several do together."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..sides import SIDES

# The Python loop over transformer layers of `deep`, written out: no import of the harness belongs to the time.
LAYERS = """import numpy
import {module} as api
import {module}.numpy as np
WIDTH, HEADS, TIME, BATCH = 64, 4, 32, 4
draw = numpy.random.default_rng(0)
def normal(*shape):
    return (draw.normal(size=shape) * 0.05).astype("float32")
def layer(p, x):
    def heads(kernel):
        return np.reshape(x @ kernel, (BATCH, TIME, HEADS, WIDTH // HEADS))
    scores = np.einsum("bihd,bjhd->bhij", heads(p["query"]), heads(p["key"])) / (WIDTH // HEADS) ** 0.5
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores = scores / scores.sum(-1, keepdims=True)
    mixed = np.reshape(np.einsum("bhij,bjhd->bihd", scores, heads(p["value"])), (BATCH, TIME, WIDTH))
    x = x + mixed @ p["out"]
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * p["scale"]
    return x + np.tanh(y @ p["wide"]) @ p["narrow"]
def loss(layers, x):
    for p in layers:
        x = layer(p, x)
    return (x**2).mean()
def parameters():
    square = {{name: normal(WIDTH, WIDTH) for name in ("query", "key", "value", "out")}}
    return square | {{"scale": normal(WIDTH), "wide": normal(WIDTH, 4 * WIDTH), "narrow": normal(4 * WIDTH, WIDTH)}}
layers = [parameters() for _ in range(12)]
value, gradient = api.jit(api.value_and_grad(loss))(layers, normal(BATCH, TIME, WIDTH))
assert float(value) > 0 and numpy.asarray(gradient[0]["query"]).shape == (WIDTH, WIDTH)
"""

SECOND_PROCESS = {"12 layers in a second process": LAYERS}


def environment(folder: Path, side: str) -> dict[str, str]:
    """Variables that have either side keep all programs on disk, each in a folder of its own."""
    place = str(folder / f"programs-{side}")
    return {
        "TANGRAD_COMPILATION_CACHE_DIR": place,
        "TANGRAD_XLA_CACHE_MIN_COMPILE_SECONDS": "0",
        "JAX_COMPILATION_CACHE_DIR": place,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


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
SEVERAL_PROCESSES = {"two-process all-reduce": (2, all_reduce)}


def main(side_name: str, program: str, address: str, number: str) -> None:
    """One of the processes. Those of JAX are configured to use Gloo, as Tangrad does."""
    api = SIDES[side_name].api()
    count, make = SEVERAL_PROCESSES[program]
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
