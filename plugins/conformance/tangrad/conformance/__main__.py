"""Checks primitives, of a distribution or by name: `tangrad conformance`, or `python -m tangrad.conformance`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size

from tangrad._conformance.checks import CHECKS
from tangrad._conformance.collection import own_checks, primitives_of
from tangrad._conformance.report import Report
from tangrad._conformance.runner import sweep
from tangrad.core import Primitive, backend_names, find_primitive


def main(arguments: Sequence[str] | None = None) -> int:
    """Check primitives: every rule of every kind, on every backend."""
    options = _parser().parse_args(arguments)
    try:
        primitives = [find_primitive(name) for name in options.primitives] or primitives_of(*options.distribution)
    except LookupError as error:
        print(f"tangrad.conformance: {error}", file=sys.stderr)
        return 2
    progress = Progress(len(primitives)) if sys.stderr.isatty() else None
    report = sweep(primitives, options.check, progress, number=options.sample, backends=options.backend)
    if progress is not None:
        progress.end()
    print(report.text())
    if options.html:
        try:
            Path(options.html).write_text(report.html(), encoding="utf-8")
        except OSError as error:
            print(f"tangrad.conformance: {error}", file=sys.stderr)
            return 2
    return 1 if report.failures else 0


class Progress:
    """A line on the terminal, written over and over: how far it is, and what was found so far."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, position: int, primitive: Primitive, report: Report) -> None:
        """Show which primitive is checked now."""
        width = 24
        bar = "█" * (width * position // self.count)
        found = f"{len(report.cells)} cells, {len(report.failures)} failed"
        line = f"{bar:░<{width}} {position + 1}/{self.count}  {found}  {primitive.identity}"
        print(f"\r\x1b[K{line[: get_terminal_size().columns - 1]}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Leave the line empty."""
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    command = "tangrad conformance" if Path(sys.argv[0]).stem == "tangrad" else "python -m tangrad.conformance"
    parser = argparse.ArgumentParser(prog=command, description=__doc__)
    parser.add_argument("primitives", nargs="*", help="identities, family.name; all if left out")
    whose = "all primitives of this distribution, or, of others, those that it has rules for"
    parser.add_argument("--distribution", action="append", default=[], help=whose)
    checks = [*CHECKS, *own_checks()]
    parser.add_argument("--check", action="append", choices=checks, help="only this check")
    parser.add_argument("--backend", action="append", choices=list(backend_names()), help="only on this backend")
    parser.add_argument("--sample", type=int, help="only the sample of this number")
    parser.add_argument("--html", metavar="FILE", help="write the matrix as a page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
