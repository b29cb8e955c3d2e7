"""A report as a table of text, and what the table and the page say alike."""

from __future__ import annotations

from tangrad._jit.report.facts import Facts, MemoryUse, StageTime

_ORIGINS = {"made": "", "memory": "traced earlier", "disk": "from the cache on disk"}
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def title(report: Facts) -> str:
    """One line that says which program it is."""
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


# --- A report as a table of text ------------------------------------------------------------------------------------


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
