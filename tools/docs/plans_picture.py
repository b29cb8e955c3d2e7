"""The picture of plans for many devices: what `tools.docs.plans` measures, as plots beside one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

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
        "sends in a step is what the formula says."
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
