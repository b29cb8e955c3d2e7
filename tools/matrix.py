"""Runs the tests in fresh environments at the corners of what the distributions allow: `python -m tools.matrix`.

A corner is a Python, and the oldest or the newest releases that the requirements in the tree allow for it: lists of
versions are kept nowhere. Each environment has the wheels of all distributions and is kept under `build/matrix` until
its requirements change. The corner of the newest of everything runs the tests of the backends and the transformations,
and the differential tests; the others run `tests/smoke`. A Python that is not installed is reported as not there.
"""

import argparse
import fnmatch
import sys
import time
from pathlib import Path

from tools.matrix_corners import Corner, all_corners
from tools.matrix_environments import LIBRARIES, TESTS, EnvironmentFailed, Outcome, prepare, run_tests
from tools.workspace import ROOT

NOT_THERE, FAILED, PASSED = "not there", "FAILED", "passed"
HEADINGS = ("corner", "result", "Python", *LIBRARIES, "tests", "passed", "failed", "skipped", "seconds")
PAGE = """# The matrix

What `make test-matrix` ran, and how it went: each Python with the oldest and the newest releases that the requirements
allow. `smoke` is `tests/smoke`: every module imported, a program of every family of primitives on every backend,
eagerly, jitted, differentiated and mapped, callbacks, donation, DLPack, the persistent cache, `tangrad doctor`. `full`
adds the tests of the backends and the transformations, and the differential tests against JAX. A dash: what is not
installed there. "not there" is a Python that was not on the machine: nothing has been tried on it.

"""


def run_corner(corner: Corner, arguments: list[str]) -> tuple[list[str], str]:
    """Prepare a corner's environment and run its tests; return its row of the table and, if it failed, the reason."""
    if corner.interpreter is None:
        return [corner.name, NOT_THERE, corner.python, *([""] * (len(HEADINGS) - 3))], ""
    started = time.monotonic()
    print(f"\n== {corner.name}: {corner.tests} on {corner.interpreter}", flush=True)
    try:
        environment = prepare(corner)
        outcome = run_tests(environment, corner, arguments)
    except EnvironmentFailed as error:
        print(f"== {corner.name}: FAILED, there is no environment for it", flush=True)
        return [corner.name, FAILED, corner.python, *([""] * (len(HEADINGS) - 4)), _seconds(started)], str(error)
    versions = environment.versions()
    counts = [str(count) for count in (outcome.passed, outcome.failed, outcome.skipped)]
    result = PASSED if outcome.succeeded else FAILED
    row = [corner.name, result, versions["python"], *[versions.get(name, "–") for name in LIBRARIES], corner.tests]
    print(_verdict(corner, outcome), flush=True)
    return [*row, *counts, _seconds(started)], "" if outcome.succeeded else _reason(outcome)


def _seconds(started: float) -> str:
    return str(round(time.monotonic() - started))


def _verdict(corner: Corner, outcome: Outcome) -> str:
    counts = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
    return f"== {corner.name}: {counts}" + ("" if outcome.succeeded else ": FAILED")


def _reason(outcome: Outcome) -> str:
    why = "no test ran" if not outcome.passed + outcome.failed else f"exit status {outcome.status}"
    return f"{why}; {outcome.log.relative_to(ROOT)} ends with\n{outcome.tail()}"


def as_text(rows: list[list[str]]) -> str:
    """The table with aligned columns."""
    table = [list(HEADINGS), *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(HEADINGS))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in table)


def as_markdown(rows: list[list[str]]) -> str:
    """The page `docs/matrix.md`."""
    lines = ["| " + " | ".join(row) + " |" for row in (list(HEADINGS), ["---"] * len(HEADINGS), *rows)]
    return PAGE + "\n".join(lines) + "\n"


def chosen(corners: list[Corner], patterns: list[str]) -> list[Corner]:
    """The corners that match one of the patterns, or all; a pattern that matches none is an error."""
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(corner.name, pattern) for corner in corners):
            names = ", ".join(corner.name for corner in corners)
            raise SystemExit(f"no corner is called {pattern!r}; there are: {names}")
    return [c for c in corners if not patterns or any(fnmatch.fnmatchcase(c.name, pattern) for pattern in patterns)]


def beside(corner: Corner) -> Corner:
    """What is left of a corner where all tests run on this Python, too; says aloud if they are the newest corner's."""
    if not corner.is_newest_of_everything:
        return corner
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if corner.python != here:
        return corner.with_tests("xla")
    print(
        f"\n!! No Python newer than {here} was found. What needs one (newer releases of jaxlib and JAX) is NOT tested."
    )
    return corner.with_tests("smoke")


def main(argv: list[str] | None = None) -> int:
    """Run the corners that the command line chooses; the exit status is 1 if one failed, or if none could run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corners", nargs="*", help="names or patterns, such as '3.13-*'; default: all")
    parser.add_argument("--list", action="store_true", help="print the corners, and run nothing")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page, too")
    parser.add_argument("--tests", choices=sorted(TESTS), help="run these in every corner, whatever is meant for it")
    parser.add_argument(
        "--beside",
        action="store_true",
        help="beside the whole suite on this Python: of the newest corner the XLA tests",
    )
    parser.add_argument("--pytest", default="", metavar="ARGS", help="further arguments for pytest, in one string")
    options = parser.parse_args(argv)
    corners = chosen(all_corners(), options.corners)
    if options.tests:
        corners = [corner.with_tests(options.tests) for corner in corners]
    if options.beside:
        corners = [beside(corner) for corner in corners]
    if options.list:
        for corner in corners:
            print(f"{corner.name:20} {corner.tests:6} {corner.interpreter or NOT_THERE}")
        return 0
    results = {corner.name: run_corner(corner, options.pytest.split()) for corner in corners}
    rows = [row for row, _ in results.values()]
    for name, (_, reason) in results.items():  # at the end: of a long output often no more is kept
        if reason:
            print(f"\n== {name} FAILED: {reason}")
    print("\n" + as_text(rows), flush=True)
    if options.markdown:
        options.markdown.write_text(as_markdown(rows), encoding="utf-8")
    verdicts = {row[1] for row in rows}
    if PASSED not in verdicts:
        print("no corner has run its tests", file=sys.stderr)
    return 0 if PASSED in verdicts and FAILED not in verdicts else 1


if __name__ == "__main__":
    sys.exit(main())
