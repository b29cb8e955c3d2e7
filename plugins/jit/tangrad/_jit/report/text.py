"""A report as a table of text."""

from __future__ import annotations

from tangrad._jit.report.facts import Facts
from tangrad._jit.report.words import memory, origin, sizes, title


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
