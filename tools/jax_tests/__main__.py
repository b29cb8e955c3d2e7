"""Runs JAX's own test files on Tangrad, through the alias `tangrad.compat.jax`: `python -m tools.jax_tests [FILE ...]`.

JAX_CHECKOUT names a checkout of https://github.com/jax-ml/jax; nothing of it is in this repository. What its files
import is the dependency group `jax-tests`; `make jax-tests` installs that first. Each file runs in its own process.
Tests of ours need not pass only where `tools/jax_tests/known.toml` says why.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.jax_tests import CHECKOUT, LIMIT, REPORT
from tools.jax_tests.outcomes import Outcome, as_list, as_table, known, unexpected
from tools.workspace import ROOT, environment_without

REQUIRED = ("absl", "ml_dtypes", "scipy")
# Seconds that a test may take, and all of a file.
TEST_LIMIT, FILE_LIMIT = 120, 3600


def checkout() -> Path:
    """The folder of JAX. Raises LookupError, which says what to do, where its tests cannot be run."""
    named = os.environ.get(CHECKOUT)
    if not named:
        raise LookupError(f"{CHECKOUT} names no checkout of https://github.com/jax-ml/jax")
    folder = Path(named).resolve()
    for needed in ("tests", "jax/_src/internal_test_util"):
        if not (folder / needed).is_dir():
            raise LookupError(f"{CHECKOUT}={named} has no folder {needed}: is it a checkout of JAX?")
    if missing := [name for name in REQUIRED if importlib.util.find_spec(name) is None]:
        raise LookupError(f"JAX's tests import {', '.join(missing)}: install the dependency group jax-tests")
    return folder


def run(name: str, folder: Path, environment: dict[str, str], arguments: Sequence[str] = ()) -> list[Outcome]:
    """How the tests of one file went. Where one ends the process, the others run in a new one."""
    with tempfile.TemporaryDirectory(prefix="tangrad-jax-tests-") as scratch:
        report = Path(scratch) / "report"
        report.touch()
        while True:
            before = _read(report)
            left_out = [f"--deselect=tests/{test}" for test in before]
            log = _pytest(folder, environment | {REPORT: str(report)}, [f"tests/{name}", *left_out, *arguments])
            after = _read(report)
            begun = [test for test, (kind, _) in after.items() if kind == "begun"]
            with report.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps([test, "differs", "ended the process"]) + "\n" for test in begun)
            if not begun or log is None:
                break
        found = [Outcome(test, kind, text) for test, (kind, text) in _read(report).items()]
    if log is None:
        found.append(Outcome(f"{name}::all", "differs", f"took longer than {FILE_LIMIT} s"))
    return found or [Outcome(f"{name}::all", "differs", f"no test ran: {' '.join((log or '')[-600:].split())}")]


def _pytest(folder: Path, environment: dict[str, str], arguments: Sequence[str]) -> str | None:
    options = [
        "-qs",  # what is written goes through descriptors that JAX's tests put aside themselves
        "--tb=no",
        "-p",
        "tools.jax_tests.plugin",
        "-p",
        "no:cacheprovider",
        "--noconftest",
        "-c",
        os.devnull,
    ]
    command = [sys.executable, "-m", "pytest", f"--rootdir={folder}", *options, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=FILE_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    return done.stdout


def _read(report: Path) -> dict[str, tuple[str, str]]:
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return {test: (kind, text) for test, kind, text in lines}  # the last word on each counts


def environment(backend: str, cases: int) -> dict[str, str]:
    """The variables that the tests run under: eight devices, as JAX runs them, and so many draws of each test."""
    return environment_without("TANGRAD_", "PYTEST_", "JAX_") | {
        CHECKOUT: str(checkout()),
        LIMIT: str(TEST_LIMIT),
        "JAX_NUM_GENERATED_CASES": str(cases),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'build' / 'jax-tests'}",
        "TANGRAD_BACKEND": backend,
        "TANGRAD_NUM_CPU_DEVICES": "8",
    }


def main(argv: list[str] | None = None) -> int:
    """Run the files that the command line chooses; the exit status is 1 if a test fails without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="such as array_test.py; default: those of known.toml")
    parser.add_argument("--backend", default="xla", help="xla or numpy; default: xla")
    parser.add_argument("--cases", type=int, default=2, help="how many each drawn test draws; default: 2")
    parser.add_argument("--select", metavar="TEXT", help="only tests whose names it selects, as -k of pytest does")
    parser.add_argument("--report", type=Path, metavar="PATH", help="write all failures with their reasons to a file")
    options = parser.parse_args(argv)
    default, reasons = known()
    try:
        folder, variables = checkout(), environment(options.backend, options.cases)
    except LookupError as error:
        raise SystemExit(str(error)) from None
    arguments = ["-k", options.select] if options.select else []
    files: dict[str, list[Outcome]] = {}
    for name in options.files or default:
        files[name] = run(name, folder, variables, arguments)
        for outcome in unexpected(files[name], reasons):
            print(f"{outcome.test}: {outcome.kind}: {outcome.text}", flush=True)
        if options.report:
            options.report.write_text(f"{as_table(files)}\n\n{as_list(files, reasons)}\n", encoding="utf-8")
    print(as_table(files))
    return 1 if any(unexpected(outcomes, reasons) for outcomes in files.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
