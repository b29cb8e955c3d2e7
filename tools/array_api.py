"""Runs the public suite of the array API standard on Tangrad and on NumPy: `python -m tools.array_api [SUBJECT ...]`.

The suite is on no package index: ARRAY_API_TESTS names a checkout of https://github.com/data-apis/array-api-tests with
its submodule. What it imports is the dependency group `array-api`; `make array-api` installs that first. Tests of ours
need not pass only where `tools/array_api.toml` says why.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tools.workspace import ROOT, environment_without

VARIABLE = "ARRAY_API_TESTS"
REASONS = ROOT / "tools" / "array_api.toml"
VERSIONS = ("2024.12", "2025.12")
BACKENDS = {"numpy": "NumPy", "xla": "XLA"}
# What the suite imports beside pytest and Hypothesis.
REQUIRED = ("ndindex", "pytest_jsonreport")
# The seconds that one subject may take.
LIMIT = 3600


@dataclass(frozen=True)
class Reason:
    """Why some tests need not pass."""

    what: str
    why: str
    tests: frozenset[str]
    versions: frozenset[str]
    backends: frozenset[str]
    # Whether what they draw decides: then they may pass, too.
    drawn: bool


def reasons() -> list[Reason]:
    """The reasons that the table gives, in its order."""
    return [
        Reason(
            row["what"],
            row["why"],
            frozenset(row["tests"]),
            frozenset(row.get("versions", VERSIONS)),
            frozenset(row.get("backends", BACKENDS)),
            row.get("drawn", False),
        )
        for row in tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    ]


@dataclass(frozen=True)
class Subject:
    """What is tested: a module, on a backend if it is ours."""

    module: str
    backend: str | None = None

    def environment(self) -> dict[str, str]:
        """The variables that it runs under. The suite takes 64-bit dtypes for granted."""
        own = {} if self.backend is None else {"TANGRAD_BACKEND": self.backend, "TANGRAD_ENABLE_X64": "1"}
        return environment_without("TANGRAD_", "PYTEST_") | own

    def expected_failures(self, version: str, certain: bool = False) -> set[str]:
        """The tests that need not pass; with `certain` those that cannot."""
        return {
            name
            for reason in reasons()
            if version in reason.versions and self.backend in reason.backends and not (certain and reason.drawn)
            for name in reason.tests
        }


SUBJECTS = {
    "numpy": Subject("numpy"),
    "tangrad-numpy": Subject("tangrad.numpy", "numpy"),
    "tangrad-xla": Subject("tangrad.numpy", "xla"),
}


@dataclass(frozen=True)
class Outcome:
    """How each test of a run went: its name -> "passed", "failed" or "skipped"; and what the run printed."""

    tests: dict[str, str]
    log: str

    def count(self, result: str) -> int:
        """How many tests went so."""
        return list(self.tests.values()).count(result)

    @property
    def failed(self) -> set[str]:
        """The names of the tests that failed."""
        return {name for name, result in self.tests.items() if result == "failed"}


def suite_folder() -> Path:
    """The folder of the suite. Raises LookupError, which says what to do, where it cannot be run."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise LookupError(f"{VARIABLE} names no checkout of https://github.com/data-apis/array-api-tests")
    folder = Path(named).resolve()
    for needed in ("array_api_tests", "array-api/src"):
        if not (folder / needed).is_dir():
            raise LookupError(f"{VARIABLE}={named} has no folder {needed}: is it a checkout with its submodule?")
    if missing := [name for name in REQUIRED if importlib.util.find_spec(name) is None]:
        raise LookupError(f"the suite imports {', '.join(missing)}: install the dependency group array-api")
    return folder


def run(subject: Subject, version: str, examples: int, arguments: Sequence[str] = ()) -> Outcome:
    """Run the suite in a process of its own; each run draws the same examples, but where tests ask Hypothesis for one.

    Raises RuntimeError where no test ran, LookupError where there is no suite.
    """
    folder = suite_folder()
    with tempfile.TemporaryDirectory(prefix="tangrad-array-api-") as scratch:
        report = Path(scratch) / "report.xml"
        variables = {
            "ARRAY_API_TESTS_MODULE": subject.module,
            "ARRAY_API_TESTS_VERSION": version,
            "HYPOTHESIS_STORAGE_DIRECTORY": scratch,
        }
        options = [f"--junitxml={report}", f"--max-examples={examples}", "--disable-deadline", "--derandomize"]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", *options, *arguments],
            cwd=folder,
            env=subject.environment() | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
        )
        tests = _read(report) if report.exists() else {}
    if not tests:
        raise RuntimeError(f"no test of the suite ran on {subject}:\n{done.stdout[-4000:]}")
    return Outcome(tests, done.stdout)


def _read(report: Path) -> dict[str, str]:
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        result = "failed" if {child.tag for child in case} & {"failure", "error"} else "passed"
        if case.find("skipped") is not None:
            result = "skipped"
        found[f"{case.get('classname', '').removeprefix('array_api_tests.')}::{case.get('name')}"] = result
    return found


def as_table(rows: Sequence[tuple[str, str, Outcome]]) -> str:
    """The counts as a table in Markdown."""
    lines = ["| | version | passed | failed | skipped |", "|---|---|---|---|---|"]
    for name, version, outcome in rows:
        counts = [outcome.count(result) for result in ("passed", "failed", "skipped")]
        lines.append(f"| {name} | {version} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)


def reasons_table() -> str:
    """A row for each reason why tests do not pass, for the documentation."""
    lines = ["| what does not pass | backend | tests | why |", "|---|---|---|---|"]
    for reason in reasons():
        backends = "both" if len(reason.backends) == 2 else BACKENDS[next(iter(reason.backends))]
        count = f"{len(reason.tests)}{', by what they draw' if reason.drawn else ''}"
        lines.append(f"| {reason.what} | {backends} | {count} | {reason.why} |")
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> int:
    """Run the subjects that the command line chooses; the exit status is 1 if a test fails without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help=f"of {', '.join(SUBJECTS)}; default: all")
    parser.add_argument("--version", choices=VERSIONS, action="append", help=f"of the standard; default: {VERSIONS[0]}")
    parser.add_argument("--examples", type=int, default=20, help="how many each test draws; default: 20")
    options = parser.parse_args(argv)
    if unknown := set(options.subjects) - set(SUBJECTS):
        parser.error(f"unknown subjects {', '.join(sorted(unknown))}; there are {', '.join(SUBJECTS)}")
    rows, unexpected = [], 0
    for version in options.version or VERSIONS[:1]:
        for name in options.subjects or SUBJECTS:
            try:
                outcome = run(SUBJECTS[name], version, options.examples)
            except LookupError as error:
                raise SystemExit(str(error)) from None
            rows.append((name, version, outcome))
            for test in sorted(outcome.failed - SUBJECTS[name].expected_failures(version)):
                unexpected += SUBJECTS[name].backend is not None
                print(f"{name}, {version}: {test} failed", flush=True)
    print(as_table(rows))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
