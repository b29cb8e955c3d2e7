"""What compiling a program took, and what became of it: `compiled.report()`, as data, as a table, and as a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from tangrad._jit.compiling import Compilation
from tangrad._jit.primitives import region_p
from tangrad.core import ClosedJaxpr, Jaxpr
from tangrad.core.tools import sub_jaxprs

if TYPE_CHECKING:
    from tangrad.core import Backend


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long one stage of compiling took.

    Attributes:
        stage: "tracing", "passes", "lowering" or "compiling".
        seconds: of the clock, measured where it happened.
        origin: "made", or where the result came from: "memory" (the trace of an earlier call, `seconds` are what it
            took then) or "disk" (the persistent cache, `seconds` are what reading took).
    """

    stage: str
    seconds: float
    origin: str = "made"


@dataclass(frozen=True, slots=True)
class RegionUse:
    """A part of the program that was compiled once for several calls.

    Attributes:
        name: of the jitted function, or a number for what was found.
        calls: how often it is called. equations: how many it has, those of programs within it included.
    """

    name: str
    calls: int
    equations: int


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of a program; None where the backend does not say.

    Attributes:
        arguments, results, temporaries, code: what they are of.
    """

    arguments: int | None
    results: int | None
    temporaries: int | None
    code: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of a report, as `CompileReport` describes them."""

    name: str
    backend: str
    platform: str
    stages: tuple[StageTime, ...]
    regions: tuple[RegionUse, ...]
    equations_traced: int
    equations_compiled: int
    instructions_lowered: int | None
    instructions_compiled: int | None
    memory: MemoryUse | None

    @property
    def seconds(self) -> float:
        """All stages together, without what came from memory."""
        return sum([stage.seconds for stage in self.stages if stage.origin != "memory"])


_ORIGINS = {"made": "", "memory": "traced earlier", "disk": "from the cache on disk"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def title(report: Facts) -> str:
    """One line that names the program."""
    platform = "" if report.platform in ("", report.backend) else f" ({report.platform})"
    return f"{report.name}, compiled for {report.backend}{platform} in {report.seconds:.3f} s"


def origin(stage: StageTime) -> str:
    """Where the result of a stage came from, where it was not made."""
    return _ORIGINS.get(stage.origin, stage.origin)


def sizes(report: Facts) -> list[tuple[str, int, int | None]]:
    """What was counted before and after, as far as it is known."""
    found: list[tuple[str, int, int | None]] = [("equations", report.equations_traced, report.equations_compiled)]
    lowered, compiled = report.instructions_lowered, report.instructions_compiled
    if lowered is not None:
        found.append(("instructions", lowered, compiled))
    elif compiled is not None:
        found.append(("instructions", compiled, None))
    return found


def memory(use: MemoryUse | None) -> list[tuple[str, str]]:
    """The known sizes in memory, with their names."""
    if use is None:
        return []
    named = (
        ("arguments", use.arguments),
        ("results", use.results),
        ("temporaries", use.temporaries),
        ("code", use.code),
    )
    return [(name, in_bytes(count)) for name, count in named if count is not None]


def in_bytes(count: int) -> str:
    """A number of bytes with three digits or four.

    >>> in_bytes(1536)
    '1.5 KiB'
    """
    size = float(count)
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


# --- A report as a table of text ---


def table(report: Facts) -> str:
    """The lines of a report."""
    parts = [
        [title(report)],
        [f"  {stage.stage:<14}{stage.seconds:>9.3f} s  {origin(stage)}" for stage in report.stages],
        [_counted(*size) for size in sizes(report)],
        [f"  {name:<14}{size:>11}" for name, size in memory(report.memory)],
        _regions(report),
    ]
    return "\n\n".join(["\n".join([line.rstrip() for line in lines]) for lines in parts if lines])


def _counted(name: str, before: int, after: int | None) -> str:
    return f"  {name:<14}{before:>11,}" + ("" if after is None else f"  then {after:,}")


def _regions(report: Facts) -> list[str]:
    if not report.regions:
        return ["  no regions"]
    width = max(14, *[len(region.name) + 2 for region in report.regions])
    rows = [f"  {'region':<{width}}{'calls':>7}{'equations':>11}"]
    return rows + [f"  {region.name:<{width}}{region.calls:>7,}{region.equations:>11,}" for region in report.regions]


WIDTH, LABEL, LINE, BAR = 720, 150, 26, 16  # in pixels: the picture, its names, a row, a bar in it
LONGEST = WIDTH - LABEL - 190  # the longest bar; behind each is room for its text
_COLORS = {
    "tracing": "#4c78a8",
    "passes": "#72b7b2",
    "lowering": "#f2a541",
    "compiling": "#c8553d",
    "equations": "#6b7a8f",
    "instructions": "#8f7a6b",
    "region": "#5b8c5a",
}
_STYLE = (
    ".tangrad-report{font:14px/1.5 system-ui,sans-serif;max-width:760px}"
    ".tangrad-report h2{font-size:1.1em;margin:.6em 0}"
    ".tangrad-report svg{max-width:100%;height:auto}"
    ".tangrad-report td,.tangrad-report th{padding:.1em 1em .1em 0;text-align:left;font-weight:normal}"
)

Bar = tuple[str, float, str, str]  # name, length, the text behind it, colour


def whole_page(report: Facts) -> str:
    """The report as a page of its own, which may load nothing and run nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f"<title>{escape(report.name)} · Tangrad</title></head>\n<body>{fragment(report)}</body></html>\n"
    )


def fragment(report: Facts) -> str:
    """The report as a part of a page, such as a notebook shows."""
    parts = [
        f"<style>{_STYLE}</style>",
        f"<h2>{escape(title(report))}</h2>",
        _picture("seconds", _stage_bars(report)),
        _picture("before, and after", _size_bars(report)),
        _picture("regions: equations that need not be compiled again", _region_bars(report)),
        _table(memory(report.memory)),
    ]
    return f'<div class="tangrad-report">{"".join(parts)}</div>'


def _stage_bars(report: Facts) -> list[Bar]:
    return [
        (stage.stage, stage.seconds, f"{stage.seconds:.3f} s {origin(stage)}".rstrip(), _COLORS[stage.stage])
        for stage in report.stages
    ]


def _size_bars(report: Facts) -> list[Bar]:
    bars: list[Bar] = []
    for name, before, after in sizes(report):
        bars.append((name, before, f"{before:,}", _COLORS[name]))
        if after is not None:
            bars.append(("then", after, f"{after:,}", _COLORS[name]))
    return bars


def _region_bars(report: Facts) -> list[Bar]:
    return [
        (
            region.name,
            (region.calls - 1) * region.equations,
            f"{region.calls:,} calls of {region.equations:,} equations",
            _COLORS["region"],
        )
        for region in report.regions
    ]


def _picture(name: str, bars: Sequence[Bar]) -> str:
    """Horizontal bars, the longest as long as there is room."""
    if not bars:
        return ""
    longest = max([length for _, length, _, _ in bars]) or 1
    rows = [_bar(position, LONGEST / longest, bar) for position, bar in enumerate(bars)]
    height = LINE * len(bars)
    return (
        f"<h2>{escape(name)}</h2>"
        f'<svg role="img" aria-label="{escape(name)}" xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-size="13" fill="currentColor">'
        f"{''.join(rows)}</svg>"
    )


def _bar(position: int, scale: float, bar: Bar) -> str:
    name, length, text, color = bar
    top, width = position * LINE, max(1.0, length * scale)
    base = top + BAR
    short = name if len(name) <= 20 else name[:19] + "…"
    return (
        f'<g><title>{escape(name)}: {escape(text)}</title><text x="0" y="{base}">{escape(short)}</text>'
        f'<rect x="{LABEL}" y="{top + 3}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'
        f'<text x="{LABEL + width + 8:.1f}" y="{base}">{escape(text)}</text></g>'
    )


def _table(rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    cells = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows]
    return f"<h2>memory</h2><table>{''.join(cells)}</table>"


@dataclass(frozen=True, slots=True)
class CompileReport(Facts):
    """What compiling a program took, and what became of it; `print` shows a table, a notebook a picture.

    Attributes:
        name: of the function. backend, platform: what it was compiled for.
        stages: the stages in order, with their times.
        regions: the parts that were compiled once for several calls, the largest saving first.
        equations_traced: of the program as it was traced, those of programs within it included.
        equations_compiled: of the program as the backend got it, after the passes; those of a region count once.
        instructions_lowered: of the module that the backend's compiler got (StableHLO). None where there is none.
        instructions_compiled: of what runs (optimised HLO; calls in the Python function). None if unknown.
        memory: bytes, or None if unknown.
    """

    def to_dict(self) -> dict[str, Any]:
        """The report in dictionaries, lists, strings, numbers and None, as JSON has them."""
        found = {**asdict(self), "seconds": self.seconds}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}

    def html(self) -> str:
        """The report as a page with a picture, which needs no other file and no network."""
        return whole_page(self)

    def _repr_html_(self) -> str:
        return fragment(self)

    def __str__(self) -> str:
        return table(self)


# --- What programs consist of: equations, and the regions among them ---


class Counted:
    """The equations of a program, counted once where they are in a region.

    Attributes:
        equations: their number, those of programs within it included.
        calls: for each region its program, its name, and how often it is called.
    """

    def __init__(self, program: ClosedJaxpr | Jaxpr) -> None:
        self.calls: dict[int, list[Any]] = {}
        self.equations = self._count(program)

    def _count(self, program: ClosedJaxpr | Jaxpr) -> int:
        total = len(program.eqns)
        for equation in program.eqns:
            if equation.primitive is region_p:
                total += self._called(equation.params["jaxpr"], equation.params["name"])
            elif equation.params:
                total += sum([self._count(inner) for inner in sub_jaxprs(equation.params)])
        return total

    def _called(self, region: ClosedJaxpr, name: str) -> int:
        """Count a call. Returns the equations of the region for its first one."""
        found = self.calls.get(id(region))
        if found is not None:
            found[2] += 1
            return 0
        self.calls[id(region)] = [region, name, 1]
        return self._count(region)


def equations_of(program: ClosedJaxpr | Jaxpr) -> int:
    """How many equations a program has, with those of the programs within it as often as they are there."""
    inner = [
        equations_of(inner) for equation in program.eqns if equation.params for inner in sub_jaxprs(equation.params)
    ]
    return len(program.eqns) + sum(inner)


# --- From what the stages of a compilation know to its report ---


_MEMORY = (
    "argument_size_in_bytes",
    "output_size_in_bytes",
    "temp_size_in_bytes",
    "generated_code_size_in_bytes",
)


def report_of(name: str, traced: ClosedJaxpr, made: Compilation, backend: Backend, executable: Any) -> CompileReport:
    """The report of one compilation. The program is lowered again, to count: keeping the module would take memory."""
    facts = executable.compile_facts()
    lowered: dict[str, Any] = getattr(backend.lower(made.program, made.options), "compile_facts", dict)()
    counted = Counted(made.program)
    regions = [RegionUse(label, calls, equations_of(region)) for region, label, calls in counted.calls.values()]
    return CompileReport(
        name=name,
        backend=backend.name,
        platform=backend.platform,
        stages=(
            StageTime("tracing", made.traced, "memory" if made.reused else "made"),
            StageTime("passes", made.passes),
            StageTime("lowering", made.lowered),
            StageTime("compiling", made.compiled, facts.get("origin", "made")),
        ),
        regions=tuple(sorted(regions, key=lambda region: (1 - region.calls) * region.equations)),
        equations_traced=equations_of(traced),
        equations_compiled=counted.equations,
        instructions_lowered=lowered.get("instructions"),
        instructions_compiled=facts.get("instructions"),
        memory=_memory(executable.memory_analysis()),
    )


def _memory(analysis: object) -> MemoryUse | None:
    if analysis is None:
        return None
    arguments, results, temporaries, code = [getattr(analysis, name, None) for name in _MEMORY]
    return MemoryUse(arguments, results, temporaries, code or None)  # XLA reports 0 for code that it did not measure
