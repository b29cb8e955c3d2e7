"""The table of everyday eager code in `docs/speed.md`, brought up to date with what was measured.

    python -m tests.benchmarks --only "again:" --json again.json
    python -m tests.benchmarks.cliff_table again.json

A file may have any of the rows; the others stay as they are in the table. Prints which rows are over their limits.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .report import show_seconds
from .rows import cliff_rows

PAGE = Path(__file__).parents[2] / "docs" / "speed.md"
HEAD = "| work | first (X) | JAX | ratio | programs, JAX's | again (X) | JAX | ratio | again (N) to NumPy |"
COLUMNS = {("cliff", "X"): (1, 2, 3), ("again", "X"): (5, 6, 7), ("again", "N"): (None, None, 8)}
PROGRAMS = 4


def updated(line: str, measured: dict[tuple[str, str], dict[str, Any]]) -> str:
    """A line of the table with what was measured of its work, by the part of the name before the colon and backend."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    for kind, (ours, peers, ratio) in COLUMNS.items():
        result = measured.get(kind)
        if result is None or result["judged"] is None:
            continue
        if ours is None:
            cells[ratio] = f"{result['judged']:.1f}"
            continue
        cells[ours], cells[peers] = show_seconds(result["subject"]), show_seconds(result["peer_value"])
        cells[ratio] = f"{result['judged']:.2f}"
        if kind[0] == "cliff":
            cells[PROGRAMS] = ", ".join(map(str, result["compilations"]))
    return f"| {' | '.join(cells)} |"


def with_results(page: str, results: Sequence[dict[str, Any]]) -> str:
    """The page with the results in its table. Raises ValueError where the page has no such table."""
    by_work: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for result in results:
        part, _, name = result["work"].partition(": ")
        by_work.setdefault(f"`{name}`", {})[part, result["backend"]] = result
    before, found, table = page.partition(HEAD)
    if not found:
        raise ValueError(f"there is no table with the heading {HEAD!r}")
    lines = table.split("\n")
    for number, line in enumerate(lines):
        work = line.removeprefix("| ").partition(" |")[0]
        if work in by_work:
            lines[number] = updated(line, by_work[work])
    return before + found + "\n".join(lines)


def over(page: str) -> list[str]:
    """The rows of the page's table that are over their limits, with the ratio."""
    limits = {(row.name.partition(":")[0], row.backend): row.peers[0].limit for row in cliff_rows()}
    found = []
    for line in page.partition(HEAD)[2].split("\n")[2:]:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        for kind, (_, _, ratio) in COLUMNS.items():
            if len(cells) > ratio and cells[ratio] not in ("", "–") and float(cells[ratio]) > limits[kind]:
                found.append(f"{kind[0]} ({kind[1]}) {cells[0]} {cells[ratio]}")
    return found


def main(files: Sequence[str]) -> None:
    """Bring the page up to date with files of results."""
    page = PAGE.read_text(encoding="utf-8")
    for file in files:
        page = with_results(page, json.loads(Path(file).read_text(encoding="utf-8"))["results"])
    PAGE.write_text(page, encoding="utf-8")
    print("\n".join(sorted(over(page))))


if __name__ == "__main__":
    main(sys.argv[1:])
