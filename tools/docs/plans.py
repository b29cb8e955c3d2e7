"""Plans for more devices than there are: a training step compiled for meshes of 8 to 4,096, in numbers and as a plot.

    python -m tools.docs.plans     measure (some minutes), write the table and docs/images/plans.svg

The step is that of docs/examples/parallel_transformer.py. The processor is shown as so many devices as the mesh
has; the program is partitioned and compiled, and does not run. What devices send to one another is read from the
compiled program, and compared with the formula of `volume_by_formula`.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tools.docs.plans_picture import WAYS, Plan, picture
from tools.hlo_collectives import collectives
from tools.workspace import ROOT

PAGE = ROOT / "docs" / "parallel-transformer.md"
PICTURE = ROOT / "docs" / "images" / "plans.svg"
MESHES = ((2, 4), (8, 8), (32, 16), (64, 64))  # along the data, along the model
EXAMPLES = 4  # for each place along the data
OF_A_PROCESS = 2048  # more devices XLA takes for those of several processes, and wants collectives between these
TIME_LIMIT = 600.0


def on_the_network(group: int, size: float) -> float:
    """What a device sends for an all-reduce of `size` bytes in a ring of `group` (Patarasuk and Yuan, 2009)."""
    return 2 * (group - 1) / group * size


def volume_by_formula(sizes: Any, whole: int, cut: int, data: int, model: int) -> float:
    """What a device sends in a step.

    Over the model the values between layers, twice a layer forward and twice backward; over the data the gradients of
    what the device has of the parameters, and the loss.

    Args:
        whole, cut: bytes of the parameters that every device has, and of those that are cut along the model.
    """
    between = sizes.batch // data * sizes.time * sizes.width * 4
    over_model = 4 * sizes.layers * on_the_network(model, between)
    return over_model + on_the_network(data, whole + cut / model + 4)


# --- one plan, in a process of its own --------------------------------------------------------------------------------


def planned(way: str, data: int, model: int) -> Plan:
    """Lower and compile the step for a mesh. The process must have so many devices."""
    sys.path.insert(0, str(ROOT / "docs" / "examples"))
    import parallel_transformer as example

    import tangrad
    from tangrad._backend_xla.mlir import bytecode

    sizes = example.Sizes(vocabulary=64, width=128, heads=64, hidden=512, layers=2, batch=EXAMPLES * data, time=16)
    arrays = example.initial_parameters(sizes)
    bytes_of: dict[bool, int] = {True: 0, False: 0}

    def described(array: Any, cut: int | None) -> Any:
        bytes_of[cut is None] += array.nbytes
        return tangrad.ShapeDtypeStruct(array.shape, array.dtype)

    parameters = example.for_each_parameter(described, arrays)
    tokens = tangrad.ShapeDtypeStruct((sizes.batch, sizes.time + 1), "int32")
    mesh = tangrad.make_mesh((data, model), ("data", "model"))
    step, _ = (example.step_by_jit if way == "jit" else example.step_by_shard_map)(mesh, parameters)
    started = time.process_time()
    lowered = step.lower(parameters, tokens)
    module = lowered.compiler_ir()
    between = time.process_time()
    hlo = lowered.compile().as_text()
    ended = time.process_time()
    found = collectives(hlo)
    if unexpected := {one.kind for one in found} - {"all-reduce"}:
        raise RuntimeError(f"{way} on {data} x {model} devices has unexpected collectives: {unexpected}")
    volume = sum([on_the_network(one.group, one.bytes) for one in found])
    formula = volume_by_formula(sizes, bytes_of[True], bytes_of[False], data, model)
    return Plan(
        way,
        data,
        model,
        between - started,
        ended - between,
        len(bytecode(module)),
        len(hlo),
        len(found),
        volume,
        formula,
    )


@contextmanager
def devices_of_one_process(count: int) -> Iterator[None]:
    """The processor as so many devices; more than XLA gives a process with collectives that go between several."""
    if count <= OF_A_PROCESS:
        yield
        return
    from jaxlib import _jax  # type: ignore[attr-defined]

    from tangrad._backend_xla import jaxlib_api
    from tangrad._backend_xla.backend import xla

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    service = _jax.get_distributed_runtime_service(address, 1)
    client = _jax.get_distributed_runtime_client(address, 0)
    client.connect()
    xla._platforms.use({"cpu": jaxlib_api.make_cpu_client(count, distributed_client=client)})
    try:
        yield
    finally:
        client.shutdown()
        service.shutdown()


def answer(way: str, data: int, model: int) -> None:
    """Print a plan as JSON: the work of a process."""
    with devices_of_one_process(data * model):
        print(json.dumps(planned(way, data, model)), flush=True)


def ask(way: str, data: int, model: int) -> Plan:
    """The plan, by a process of its own: the number of devices is fixed at their first use."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XLA_", "TANGRAD_"))}
    environment |= {"TANGRAD_BACKEND": "xla", "TANGRAD_NUM_CPU_DEVICES": str(min(data * model, OF_A_PROCESS))}
    command = [sys.executable, "-m", "tools.docs.plans", way, str(data), str(model)]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{way} on {data} x {model} devices: {done.stderr[-2000:]}")
    return Plan(*json.loads(done.stdout.splitlines()[-1]))


# --- the table -------------------------------------------------------------------------------------------


def table(plans: Sequence[Plan]) -> str:
    """A row for each mesh and way."""
    rows = [
        "| devices | data × model | by | lower | compile | StableHLO | HLO | collectives | a device sends | formula |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for plan in sorted(plans, key=lambda plan: (plan.way, plan.devices)):
        rows.append(
            f"| {plan.devices:,} | {plan.data} × {plan.model} | `{plan.way}` | {plan.lower:.2f} s | "
            f"{plan.compile:.1f} s | {plan.stablehlo / 1e3:.0f} kB | {plan.hlo / 1e3:.0f} kB | {plan.collectives} | "
            f"{plan.volume / 1e3:,.1f} kB | {plan.formula / 1e3:,.1f} kB |"
        )
    return "\n".join(rows)


def main(arguments: Sequence[str]) -> int:
    """Measure all plans, or one where it is named; the exit status."""
    if arguments:
        one, data_places, model_places = arguments
        answer(one, int(data_places), int(model_places))
        return 0
    text = PAGE.read_text()
    between = re.compile(r"(<!-- plans -->\n).*?(\n<!-- /plans -->)", re.DOTALL)
    if not between.search(text):
        raise LookupError(f"{PAGE.name} has no marks <!-- plans --> and <!-- /plans -->")
    plans = []
    for way in WAYS:
        for data, model in MESHES:
            plans.append(ask(way, data, model))
            print(plans[-1], file=sys.stderr, flush=True)
    PAGE.write_text(between.sub(lambda match: f"{match[1]}\n{table(plans)}\n{match[2]}", text))
    PICTURE.write_text(picture(plans))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
