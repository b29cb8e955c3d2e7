"""Runs the tests of packages written for JAX, on JAX and on Tangrad: `python -m tools.packages [PACKAGE ...]`.

`tools/packages.toml` lists the packages, which come from the index. Where a package ships no tests, they are taken from
a checkout, of the release's tag if it has that: PACKAGE_CHECKOUTS names the folder that the checkouts are in, each with
its repository's name. Two environments are made in `build/packages`, with the same versions: one with JAX; one without
it, where `import jax` is Tangrad's alias. What passes there is the measure of what passes here. With `--record` the
results go into `tools/packages_results.toml`, of which the documentation has a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from tools.workspace import ROOT, distributions, environment_without

VARIABLE = "PACKAGE_CHECKOUTS"
LIST = ROOT / "tools" / "packages.toml"
RESULTS = ROOT / "tools" / "packages_results.toml"
BUILD = ROOT / "build" / "packages"
JAX = "jax==0.10.2"
SIDES = ("jax", "tangrad")
# What runs the tests, beside what the packages require.
RUNNERS = ("pytest>=8.4", "pytest-reportlog>=0.4", "pytest-timeout>=2.3")
# The seconds that one test may take.
TEST_LIMIT = 300


@dataclass(frozen=True)
class Package:
    """A package, and where its tests are: in itself, or in a folder of a checkout of its repository."""

    name: str
    version: str
    # The module that has the tests, where the package ships them; else the repository and its folder.
    module: str = ""
    repository: str = ""
    folder: str = ""
    # Other distributions that its tests import, and options for pytest.
    requires: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    # Whether it is installed without what it requires itself.
    alone: bool = False
    # The part of its tests that is run: files, and of those one test in so many.
    only: tuple[str, ...] = ()
    every: int = 1
    # Why some need not pass: patterns of names -> reason.
    reasons: tuple[tuple[str, str], ...] = ()

    def is_expected(self, test: str) -> bool:
        """Whether the list says why `test` need not pass."""
        return any(fnmatchcase(test, pattern) for pattern, _ in self.reasons)


@dataclass(frozen=True)
class Outcome:
    """How a run went: its tests with "passed", "failed" or "skipped", CPU seconds, peak memory in MB."""

    tests: dict[str, str]
    seconds: float
    megabytes: float
    # Whether it ended by itself, and came to every test that was chosen.
    is_whole: bool
    # The tests that the suite has, whether they were chosen or not.
    collected: int = 0

    def named(self, result: str) -> set[str]:
        """The tests that went so."""
        return {name for name, found in self.tests.items() if found == result}


@cache
def packages() -> dict[str, Package]:
    """The packages of the list, by name, in its order."""
    rows = tomllib.loads(LIST.read_text(encoding="utf-8"))["package"]
    found = {}
    for row in rows:
        fields: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in row.items()}
        fields["reasons"] = tuple(row.get("reasons", {}).items())
        found[row["name"]] = Package(**fields)
    return found


# --- Environments -----------------------------------------------------------------------------------------------------


def _uv(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "uv", *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"uv {' '.join(arguments[:3])} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def environments() -> dict[str, Path]:
    """Make the environments where there are none, and return their interpreters by side.

    The versions are resolved once, beside JAX; the other side has the same ones, and Tangrad in JAX's place. Tangrad is
    installed again where its entry points or requirements have changed.
    """
    interpreters = {side: BUILD / side / "bin" / "python" for side in SIDES}
    listed = packages().values()
    wanted = [f"{package.name}=={package.version}" for package in listed if not package.alone]
    wanted += [name for package in listed for name in package.requires]
    wanted = [JAX, *RUNNERS, *wanted]
    alone = [f"{package.name}=={package.version}" for package in listed if package.alone]
    made, stamp = "\n".join([*wanted, *alone]), BUILD / "made"
    if not stamp.exists() or stamp.read_text() != made:
        shutil.rmtree(BUILD, ignore_errors=True)
        pins: list[str] = []
        for side, interpreter in interpreters.items():
            _uv("venv", "--quiet", "--python", sys.executable, str(BUILD / side))
            target = ("pip", "install", "--quiet", "--python", str(interpreter))
            if side == "jax":
                _uv(*target, *wanted)
                if alone:
                    _uv(*target, "--no-deps", *alone)
                pins = _uv("pip", "freeze", "--python", str(interpreter)).splitlines()
            else:
                _uv(*target, "--no-deps", *[line for line in pins if not line.startswith("jax==")])
                _uv(*target, "pluggy", "importlib-metadata", "typing-extensions")
        stamp.write_text(made)
    _install_tangrad(interpreters["tangrad"])
    return interpreters


def _install_tangrad(interpreter: Path) -> None:
    """Install Tangrad, editable, unless it is there with the entry points and requirements that it has now."""
    folders = [ROOT, *(part.folder for part in distributions().values())]
    described = "\n".join((folder / "pyproject.toml").read_text(encoding="utf-8") for folder in folders)
    stamp = BUILD / "described"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != described:
        editable = [word for folder in folders for word in ("--editable", str(folder))]
        _uv("pip", "install", "--quiet", "--python", str(interpreter), "--no-deps", "--reinstall", *editable)
        stamp.write_text(described, encoding="utf-8")


def _tag_of(version: str, checkout: Path) -> str | None:
    """The tag of the release in a checkout, which may be of another commit; None where there is none."""
    if not (checkout / ".git").exists():
        return None
    tags = subprocess.run(["git", "tag"], cwd=checkout, capture_output=True, text=True, check=True).stdout.split()
    return next((tag for tag in tags if re.fullmatch(rf"(.*-)?v?{re.escape(version)}", tag)), None)


def _tests_of(package: Package, scratch: Path) -> list[str]:
    """pytest's arguments for the package's tests, which are copied into `scratch` unless the package ships them.

    They are copied without the package beside them, which would be imported in the place of the installed one, and as
    the release had them where the checkout has its tag. Raises LookupError, which says what to do, where there is no
    checkout.
    """
    if package.module:
        return ["--pyargs", *(package.only or (package.module,))]
    checkouts = os.environ.get(VARIABLE)
    if not checkouts:
        raise LookupError(f"{VARIABLE} names no folder with a checkout of {package.repository}")
    checkout = Path(checkouts) / package.repository.rpartition("/")[2]
    source = checkout / package.folder
    if not source.is_dir():
        wanted = f"a checkout of {package.repository} with a folder {package.folder}"
        raise LookupError(f"{VARIABLE}={checkouts} is no folder with {wanted}")
    if (tag := _tag_of(package.version, checkout)) is None:
        shutil.copytree(source, scratch / "tests")
    else:
        archive = scratch / "tests.tar"
        command = ["git", "archive", f"--output={archive}", f"{tag}:{package.folder}"]
        subprocess.run(command, cwd=checkout, check=True)
        shutil.unpack_archive(archive, scratch / "tests")
        archive.unlink()
    return [f"tests/{path}" for path in package.only] or ["tests"]


# --- Runs -------------------------------------------------------------------------------------------------------------


# Why a test was not run: its file had taken the seconds that a file may take.
_LEFT_OUT = "left out: its file took too long"
# A plugin of pytest, which notes how many tests there are, and runs a part of them that is spread over all of a suite.
# Names decide, so that both sides run the same ones where a file can be imported on one side only. Files that take long
# are ended each by itself: those after them are run.
_PART = """import time
from collections import Counter
from pathlib import Path
from zlib import crc32

import pytest

spent = Counter()


def file_of(item):
    return item.nodeid.partition("::")[0]


def pytest_collection_modifyitems(config, items):
    Path("collected").write_text(str(len(items)))
    left = [item for item in items if crc32(item.nodeid.encode()) % {every}]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in set(left)]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if spent[file_of(item)] > {seconds}:
        pytest.skip("{left_out}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    began = time.process_time()
    yield
    spent[file_of(item)] += time.process_time() - began
"""


def run(package: Package, side: str, interpreter: Path, limit: float, file_limit: float = inf) -> Outcome:
    """Run the tests in a process of its own, which is ended after `limit` seconds; what ended before that counts.

    The rest of a file's tests is left out once those before them took `file_limit` seconds of CPU time.

    Raises LookupError where there is no checkout, RuntimeError where no test ran.
    """
    with tempfile.TemporaryDirectory(prefix="tangrad-packages-") as folder:
        scratch = Path(folder)
        report = scratch / "report.jsonl"
        run_as = ["-m", "pytest"] if side == "jax" else ["-m", "tangrad.compat.jax", "-m", "pytest"]
        options = [f"--report-log={report}", f"--timeout={TEST_LIMIT}", "-q", "-p", "no:cacheprovider"]
        options.append("--continue-on-collection-errors")  # of files whose libraries are not installed, on either side
        seconds = f"float({str(file_limit)!r})"
        part = _PART.format(every=package.every, seconds=seconds, left_out=_LEFT_OUT)
        (scratch / "part_of_suite.py").write_text(part, encoding="utf-8")
        options += ["-p", "part_of_suite"]
        command = [str(interpreter), *run_as, *_tests_of(package, scratch), *options, *package.options]
        with open(scratch / "log", "w+") as log:
            status, used, is_whole = _wait(command, scratch, log.fileno(), limit)
            log.seek(0)
            tests = dict(_read(report)) if report.exists() else {}
            if not tests:
                raise RuntimeError(f"no test of {package.name} ran on {side} (status {status}):\n{log.read()[-3000:]}")
        count = scratch / "collected"
        collected = int(count.read_text()) if count.exists() else 0
    came_to = {name: result for name, result in tests.items() if result != "left out"}
    is_whole = is_whole and len(came_to) == len(tests)
    return Outcome(came_to, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, is_whole, collected)


def _wait(command: Sequence[str], folder: Path, log: int, limit: float) -> tuple[int, os.struct_rusage, bool]:  # type: ignore[name-defined]
    variables = environment_without("TANGRAD_", "JAX_", "PYTEST_") | {"JAX_PLATFORMS": "cpu", "TANGRAD_BACKEND": "xla"}
    process = subprocess.Popen(command, cwd=folder, env=variables, stdout=log, stderr=log)
    late = threading.Timer(limit, os.kill, (process.pid, signal.SIGKILL))
    began = time.monotonic()
    late.start()
    _, status, used = os.wait4(process.pid, 0)
    late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used, time.monotonic() - began < limit


def _read(report: Path) -> Iterator[tuple[str, str]]:
    """Yield tests and how they went: a test fails where its set-up, it itself or its end fails.

    Those that were not run because their files had taken too long are "left out".
    """
    failed = set()
    for line in report.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry.get("$report_type") not in ("TestReport", "CollectReport") or not entry.get("nodeid"):
            continue
        name, result = entry["nodeid"], entry["outcome"]
        if result == "failed":
            failed.add(name)
        elif entry["$report_type"] == "CollectReport" or (entry["when"] != "call" and result == "passed"):
            continue
        if result == "skipped" and _LEFT_OUT in str(entry.get("longrepr")):
            result = "left out"
        yield name, "failed" if name in failed else result


# --- Results ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """What passes on JAX of a package's tests, and of those here; CPU time and peak memory beside JAX's."""

    name: str
    version: str
    on_jax: int
    here: int
    explained: int
    time: float
    memory: float
    # False where one of the runs, or a file's, was ended at its limit: then what both sides came to is compared.
    is_whole: bool
    # That one test in so many was chosen.
    every: int = 1
    # The tests that the suite has on JAX, those that both sides ran or skipped.
    suite: int = 0
    ran: int = 0


def compare(package: Package, theirs: Outcome, ours: Outcome) -> tuple[Comparison, list[str]]:
    """The comparison, and the tests that pass on JAX, do not here, and have no reason in the list."""
    is_whole = theirs.is_whole and ours.is_whole
    both = theirs.named("passed") if is_whole else theirs.named("passed") & set(ours.tests)
    lost = sorted(both - ours.named("passed"))
    unexpected = [test for test in lost if not package.is_expected(test)]
    row = Comparison(
        package.name,
        package.version,
        len(both),
        len(both) - len(lost),
        len(lost) - len(unexpected),
        round(ours.seconds / theirs.seconds, 2),
        round(ours.megabytes / theirs.megabytes, 2),
        is_whole,
        package.every,
        theirs.collected,
        len(theirs.tests if is_whole else theirs.tests.keys() & ours.tests.keys()),
    )
    return row, unexpected


def results() -> list[Comparison]:
    """The recorded results, in the order of the list."""
    recorded = tomllib.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return [Comparison(name, **recorded[name]) for name in packages() if name in recorded]


def record(rows: Sequence[Comparison]) -> None:
    """Put the rows into the file of results, each in the place of an earlier one of its package."""
    merged = {row.name: row for row in (*results(), *rows)}
    lines = ["# Written by `python -m tools.packages --record`.", ""]
    for name in packages():
        if row := merged.get(name):
            fields = [(field, value) for field, value in vars(row).items() if field != "name"]
            lines += [f"[{name}]", *[f"{field} = {json.dumps(value)}" for field, value in fields], ""]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")


def _run_of(row: Comparison) -> str:
    """The part of its suite that was run, in words."""
    if row.is_whole and row.every == 1:
        return "all"
    chosen = f"1 in {row.every}" if row.every > 1 else ""
    reached = f"{row.ran:,}" if row.ran else "in part"
    return ", ".join(word for word in (chosen, "" if row.is_whole else reached) if word)


def as_table(rows: Sequence[Comparison]) -> str:
    """The rows as a table in Markdown."""
    lines = [
        "| package | version | tests | run | pass on JAX | of these here | % | CPU time | peak memory |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        share = f"{100 * row.here / row.on_jax:.1f}" if row.on_jax else ""
        tests = f"{row.suite:,}" if row.suite else ""
        counts = f"{tests} | {_run_of(row)} | {row.on_jax:,} | {row.here:,} | {share}"
        # Runs that were ended at a limit came to different tests: their costs do not compare.
        costs = f"{row.time:.2f} | {row.memory:.2f}" if row.is_whole else " | "
        lines.append(f"| {row.name} | {row.version} | {counts} | {costs} |")
    return "\n".join(lines)


def results_table() -> str:
    """The recorded results, for the documentation."""
    return as_table(results())


def main(arguments: list[str] | None = None) -> int:
    """Run the packages that the command line chooses; the exit status is 1 if a test fails without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"of {', '.join(packages())}; default: all")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for one package on one side; default: 3600")
    help_file = "CPU seconds after which the rest of a file's tests is left out; default: none"
    parser.add_argument("--file-limit", type=float, default=inf, help=help_file)
    parser.add_argument("--record", action="store_true", help=f"put the results into {RESULTS.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    if unknown := set(options.packages) - set(packages()):
        parser.error(f"unknown packages {', '.join(sorted(unknown))}; there are {', '.join(packages())}")
    rows, unexpected = [], 0
    for name in options.packages or packages():
        package = packages()[name]
        try:
            outcomes = [
                run(package, side, python, options.limit, options.file_limit) for side, python in environments().items()
            ]
        except LookupError as error:
            raise SystemExit(str(error)) from None
        row, failed = compare(package, *outcomes)
        rows.append(row)
        unexpected += len(failed)
        for test in failed:
            print(f"{name}: {test} passes on JAX and not here", flush=True)
        if options.record:
            record(rows)
    print(as_table(rows))
    return 1 if unexpected else 0


if __name__ == "__main__":
    sys.exit(main())
