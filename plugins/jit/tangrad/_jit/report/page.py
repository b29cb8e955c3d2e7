"""A report as HTML that needs nothing beside itself: tables, and a picture in SVG. All texts are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tangrad._jit.report.facts import Facts
from tangrad._jit.report.text import memory, origin, sizes, title

WIDTH, LABEL, LINE, BAR = 720, 150, 26, 16  # in pixels: the picture, its names, a row, a bar in it
LONGEST = WIDTH - LABEL - 190  # the longest bar; behind each is room for what it says
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

Bar = tuple[str, float, str, str]  # name, length, what is said behind it, colour


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
    name, length, said, color = bar
    top, width = position * LINE, max(1.0, length * scale)
    base = top + BAR
    short = name if len(name) <= 20 else name[:19] + "…"
    return (
        f'<g><title>{escape(name)}: {escape(said)}</title><text x="0" y="{base}">{escape(short)}</text>'
        f'<rect x="{LABEL}" y="{top + 3}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'
        f'<text x="{LABEL + width + 8:.1f}" y="{base}">{escape(said)}</text></g>'
    )


def _table(rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    cells = [f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>' for name, value in rows]
    return f"<h2>memory</h2><table>{''.join(cells)}</table>"
