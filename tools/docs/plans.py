"""Plans for more devices than there are: a training step compiled for meshes of 8 to 4,096, in numbers and as a plot.

    python -m tools.docs.plans     measure (some minutes), write the table and docs/images/plans.svg

The step is that of docs/examples/parallel_transformer.py. The processor is shown as so many devices as the mesh
has; the program is partitioned and compiled, and does not run. What devices send to one another is read from the
compiled program, and compared with the formula of `volume_by_formula`.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from tools.workspace import ROOT

# --- the collectives of a compiled program, read from its HLO text ---------------------------------------------

BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
INSTRUCTION = re.compile(rf"= (?P<type>\(.*?\)|\S+) (?P<kind>{'|'.join(KINDS)})(?:-start)?\((?P<rest>.*)")
ARRAY = re.compile(r"(?P<dtype>[a-z]+\d*)\[(?P<shape>[\d,]*)\]")
IOTA = re.compile(r"replica_groups=\[(?P<groups>\d+),(?P<size>\d+)\]<=")
LISTED = re.compile(r"replica_groups=\{\{(?P<first>[\d,]+)\}")
MESH = re.compile(r"replica_groups=mesh\[(?P<axes>[^\]]*)\].*? \{(?P<over>[^}]*)\}")


class Collective(NamedTuple):
    """One instruction: its kind, the devices of a group, the bytes of its result on each device, how many arrays."""

    kind: str
    group: int
    bytes: int
    arrays: int


def collectives(text: str) -> list[Collective]:
    """The collectives of a program as XLA prints it, in order; those of loops and branches once.

    Raises ValueError for replica groups in a notation that is not known.

    >>> line = "%sum = f32[4,6]{1,0} all-reduce(%x), replica_groups={{0,1},{2,3}}, to_apply=%add"
    >>> collectives(line)
    [Collective(kind='all-reduce', group=2, bytes=96, arrays=1)]
    """
    found = []
    for match in INSTRUCTION.finditer(text):
        sizes = [
            BYTES[array["dtype"]] * math.prod([int(size) for size in array["shape"].split(",") if size])
            for array in ARRAY.finditer(match["type"])
        ]
        found.append(Collective(match["kind"], _group(match["kind"], match["rest"]), sum(sizes), len(sizes)))
    return found


def _group(kind: str, rest: str) -> int:
    """The devices of a group."""
    if kind == "collective-permute":
        return 2
    if found := IOTA.search(rest):
        return int(found["size"])
    if found := LISTED.search(rest):
        return found["first"].count(",") + 1
    if found := MESH.search(rest):
        sizes = dict([axis.split("=") for axis in found["axes"].split(",")])
        return math.prod([int(sizes[axis]) for axis in found["over"].split(",")])
    raise ValueError(f"no replica groups that are known in {rest}")


# --- the picture ---------------------------------------------------------------------------------------------

WAYS = ("jit", "shard_map")


class Plan(NamedTuple):
    """A step compiled for a mesh.

    Attributes:
        lower, compile: seconds of the processor.
        stablehlo, hlo: bytes of the program that the compiler gets, and of the text of what it makes.
        collectives: how many there are.
        volume, formula: bytes that a device sends, as read from the program and as it should.
    """

    way: str
    data: int
    model: int
    lower: float
    compile: float
    stablehlo: int
    hlo: int
    collectives: int
    volume: float
    formula: float

    @property
    def devices(self) -> int:
        """How many there are."""
        return self.data * self.model


STYLE = """
    .paper{fill:#fbfcfd} .grid{stroke:#dfe4e9;stroke-width:1} .axis{stroke:#8793a0;stroke-width:1.5}
    text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif}
    text{font-size:13px;fill:#1d2530}
    .b{font-weight:650;font-size:15px} .s{fill:#56616d} .c{text-anchor:middle} .e{text-anchor:end}
    .jit{stroke:#2f74c0;fill:#2f74c0} .shard_map{stroke:#c9702b;fill:#c9702b}
    .formula{stroke:#8793a0;fill:none;stroke-dasharray:5 4}
    .line{fill:none;stroke-width:2}
    @media (prefers-color-scheme:dark){
      .paper{fill:#1a2027} .grid{stroke:#323c46} .axis{stroke:#8d99a6} text{fill:#e2e8ee} .s{fill:#a3afbb}
      .jit{stroke:#6ea8e6;fill:#6ea8e6} .shard_map{stroke:#e0935a;fill:#e0935a} .line{fill:none}
    }
"""
WIDTH, HEIGHT, LEFT, TOP = 230, 170, 60, 76


class Panel(NamedTuple):
    """A plot over the number of devices: its title, its unit, what it shows of a plan, and whether beside a formula."""

    title: str
    unit: str
    value: Callable[[Plan], float]
    formula: Callable[[Plan], float] | None = None


PANELS = (
    Panel("Size of the program", "kB of StableHLO", lambda plan: plan.stablehlo / 1e3),
    Panel("Time to lower and compile", "seconds of the processor", lambda plan: plan.lower + plan.compile),
    Panel("Sent by a device in a step", "kB", lambda plan: plan.volume / 1e3, lambda plan: plan.formula / 1e3),
)


def picture(plans: Sequence[Plan]) -> str:
    """The plots beside one another, as SVG."""
    total = len(PANELS) * (WIDTH + LEFT + 20) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} 320" role="img" aria-labelledby="t d">',
        '  <title id="t">Plans for 8 to 4,096 devices</title>',
        f'  <desc id="d">{description(plans)}</desc>',
        f"  <style>{STYLE}  </style>",
        f'  <rect class="paper" width="{total}" height="320" rx="10"/>',
    ]
    for number, panel in enumerate(PANELS):
        parts += plot(panel, plans, 20 + number * (WIDTH + LEFT + 20) + LEFT)
    for number, way in enumerate(WAYS):
        parts.append(f'  <circle class="{way}" cx="{LEFT + 20 + 110 * number}" cy="302" r="4"/>')
        parts.append(f'  <text x="{LEFT + 30 + 110 * number}" y="306">{way}</text>')
    parts.append(f'  <path class="formula line" d="M{LEFT + 250} 302h26"/>')
    parts.append(f'  <text x="{LEFT + 284}" y="306">formula</text>')
    return "\n".join([*parts, "</svg>", ""])


def description(plans: Sequence[Plan]) -> str:
    """The plots in words."""
    ends = [min(plans, key=lambda plan: plan.devices).devices, max(plans, key=lambda plan: plan.devices).devices]
    first, last = [next(plan for plan in plans if plan.devices == count and plan.way == "jit") for count in ends]
    return (
        f"Three plots over the number of devices. By jit the program grows from {first.stablehlo / 1e3:.0f} to "
        f"{last.stablehlo / 1e3:.0f} kB between {ends[0]} and {ends[1]:,} devices, and takes "
        f"{first.lower + first.compile:.1f} and {last.lower + last.compile:.1f} s to lower and compile; what a device "
        "sends in a step is what the formula gives."
    )


def plot(panel: Panel, plans: Sequence[Plan], left: int) -> list[str]:
    """One plot, whose frame begins at `left`."""
    shown = [*[panel.value(plan) for plan in plans], *[panel.formula(plan) for plan in plans if panel.formula]]
    step = nice(max(shown) / 4)
    top = step * math.ceil(max(shown) / step)
    counts = sorted({plan.devices for plan in plans})
    low, high = math.log2(counts[0]), math.log2(counts[-1])

    def at(devices: int, value: float) -> tuple[float, float]:
        return left + 12 + (math.log2(devices) - low) / (high - low) * (WIDTH - 24), TOP + HEIGHT * (1 - value / top)

    lines = [
        f'  <text x="{left - 40}" y="32" class="b">{panel.title}</text>',
        f'  <text x="{left - 40}" y="54" class="s">{panel.unit}</text>',
        f'  <text x="{left + WIDTH / 2}" y="{TOP + HEIGHT + 40}" class="s c">devices</text>',
    ]
    for number in range(round(top / step) + 1):
        y = at(counts[0], number * step)[1]
        lines.append(f'  <path class="{"grid" if number else "axis"}" d="M{left} {y:.1f}h{WIDTH}"/>')
        lines.append(f'  <text x="{left - 8}" y="{y + 4:.1f}" class="s e">{number * step:,.10g}</text>')
    for count in counts:
        lines.append(f'  <text x="{at(count, 0)[0]:.1f}" y="{TOP + HEIGHT + 20}" class="s c">{count}</text>')
    for way in WAYS:
        own = sorted([plan for plan in plans if plan.way == way], key=lambda plan: plan.devices)
        if panel.formula is None:
            lines.append(f'  <path class="{way} line" d="{path([at(p.devices, panel.value(p)) for p in own])}"/>')
        elif way == WAYS[0]:
            lines.append(f'  <path class="formula line" d="{path([at(p.devices, panel.formula(p)) for p in own])}"/>')
        for plan in own:
            x, y = at(plan.devices, panel.value(plan))
            lines.append(f'  <circle class="{way}" cx="{x:.1f}" cy="{y:.1f}" r="{5 if way == WAYS[0] else 3}"/>')
    return lines


def path(points: Sequence[tuple[float, float]]) -> str:
    """A line through points."""
    return "M" + "L".join([f"{x:.1f} {y:.1f}" for x, y in points])


def nice(step: float) -> float:
    """The least of 1, 2 or 5 times a power of ten that is not below a step."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(count * power for count in (1, 2, 5, 10) if count * power >= step)


# --- the step, and what is measured --------------------------------------------------------------------------------


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
    mesh = tangrad.make_mesh((data, model), ("data", "model"), tangrad.sharding.AxisType.Auto)
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
