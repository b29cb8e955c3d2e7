"""The results as a table for the terminal, as Markdown, as JSON; and the workloads beside the best of the peers."""

import json
import os
import platform
from collections.abc import Sequence

from .driver import Result
from .sides import JAX, NUMPY, SIDES, TORCH

SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns"))
HEAD = ("work", "tangrad", "peer", "", "ratio", "budget", "")
ALIGNMENT = "<>><>><"
NOTE_WIDTH = 110


def show_seconds(value: float) -> str:
    """Three significant digits with a fitting unit."""
    scale, unit = next(pair for pair in SCALES if abs(value) >= pair[0])
    return f"{value / (scale or 1e-9):.3g} {unit}"


def show(value: float | None, unit: str) -> str:
    """A time or a size; a dash where it was not measured."""
    if value is None:
        return "–"
    return f"{value / 1e6:.1f} MB" if unit == "bytes" else show_seconds(value)


def cells(result: Result) -> tuple[str, ...]:
    """One line of the table."""
    row = result.row
    each = "/eqn" if row.per_equation else ""
    judged, limit = judged_cells(result)
    return (
        row.title,
        show(result.subject, row.unit) + (each if result.subject is not None else ""),
        show(result.peer, row.unit) + (each if result.peer is not None else ""),
        SIDES[result.peer_name].title,
        judged,
        limit,
        result.verdict,
    )


def judged_cells(result: Result) -> tuple[str, str]:
    """What is judged, and the budget, in the same unit."""
    row = result.row
    if row.judge == "ratio":
        return ("–" if result.judged is None else f"{result.judged:.3f}"), f"≤ {result.limit:.2f}"
    judged, limit = show(result.judged, row.unit), show(result.limit, row.unit)
    if row.judge == "difference":
        judged, limit = judged if judged.startswith(("-", "–")) else f"+{judged}", f"+{limit}"
    return judged, f"≤ {limit}"


def remark(result: Result) -> str:
    """Notes and errors of a result, cut to a line."""
    text = result.error or "; ".join(result.notes)
    return text if len(text) <= NOTE_WIDTH else text[: NOTE_WIDTH - 1] + "…"


def text_table(results: Sequence[Result]) -> str:
    """Columns aligned for a terminal; notes on the right."""
    lines = [HEAD, *(cells(result) for result in results)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEAD))]
    remarks = ["", *(remark(result) for result in results)]
    shown = []
    for line, note in zip(lines, remarks, strict=True):
        padded = (f"{cell:{side}{width}}" for cell, side, width in zip(line, ALIGNMENT, widths, strict=True))
        shown.append("  ".join([*padded, note]).rstrip())
    return "\n".join(shown)


def markdown_table(results: Sequence[Result]) -> str:
    """The table for the README."""
    lines = ["| work | Tangrad | peer | | ratio | budget | |", "|---|---:|---:|---|---:|---:|---|"]
    lines += ["| " + " | ".join(cells(result)) + " |" for result in results]
    return "\n".join(lines)


def summary(results: Sequence[Result]) -> str:
    """How many lines are within their budget."""
    verdicts = [result.verdict for result in results]
    return ", ".join(f"{verdicts.count(name)} {name}" for name in ("OK", "OVER", "ERROR") if name in verdicts)


def machine() -> dict[str, object]:
    """What the numbers were taken on."""
    return {"python": platform.python_version(), "system": platform.platform(), "processors": os.cpu_count()}


def as_json(results: Sequence[Result]) -> str:
    """Everything measured, for other programs."""
    rows = [
        {
            "work": result.row.name,
            "backend": result.row.backend,
            "peer": result.peer_name,
            "unit": result.row.unit + ("/equation" if result.row.per_equation else ""),
            "subject": result.subject,
            "peer_value": result.peer,
            "judge": result.row.judge,
            "judged": result.judged,
            "limit": result.limit,
            "verdict": result.verdict,
            "compilations": result.compilations,
            "notes": result.notes,
            "error": result.error,
        }
        for result in results
    ]
    return json.dumps({"machine": machine(), "results": rows}, indent=1, ensure_ascii=False)


PREFIX = "peers: "
PEERS = (JAX.name, NUMPY.name, TORCH.name)
PEERS_HEAD = """| work, ms | X | N | JAX | NumPy | PyTorch | X to the best | N to the best |
|---|---:|---:|---:|---:|---:|---:|---:|"""


def best_table(results: Sequence[Result]) -> str:
    """The table as Markdown, and how many workloads are at or near the best; nothing where none was measured."""
    measured = [result for result in results if result.row.name.startswith(PREFIX) and result.judged is not None]
    names = list(dict.fromkeys([result.row.name for result in measured]))
    lines = [_line(name, [result for result in measured if result.row.name == name]) for name in names]
    counts = [
        f"{letter}: {sum([ratio <= limit for ratio in ratios])} of {len(ratios)} within {limit}"
        for letter, limit in (("X", 1.02), ("N", 1.5))
        if (ratios := [found for name in names if (found := to_the_best(measured, name, letter)) is not None])
    ]
    return "\n".join([PEERS_HEAD, *lines, "", "; ".join(counts)]) if lines else ""


def to_the_best(results: Sequence[Result], name: str, letter: str) -> float | None:
    """The greatest of a workload's ratios to its peers: that to the fastest."""
    ratios = [
        result.judged
        for result in results
        if result.row.name == name and result.row.backend == letter and result.judged is not None
    ]
    return max(ratios, default=None)


def _line(name: str, results: Sequence[Result]) -> str:
    ours = {result.row.backend: result.subject for result in results}
    theirs = {result.peer_name: result.peer for result in results}
    times = [ours.get("X"), ours.get("N"), *[theirs.get(peer) for peer in PEERS]]
    ratios = [to_the_best(results, name, letter) for letter in ("X", "N")]
    cells = [_shown(None if time is None else time * 1e3) for time in times]
    return " | ".join(["| " + name.removeprefix(PREFIX), *cells, *map(_shown, ratios)]) + " |"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
