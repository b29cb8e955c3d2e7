"""Runs the tests in fresh environments at the corners of what the distributions allow: `python -m tools.matrix`.

A corner is a Python, and the oldest or the newest releases that the requirements in the tree allow for it: lists of
versions are kept nowhere. Each environment has the wheels of all distributions and is kept under `build/matrix` until
its requirements change. The corner of the newest of everything runs the tests of the backends and the transformations,
and the differential tests; the others run `tests/smoke`. A Python that is not installed is reported as not there.
"""

import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tools.build_wheels import kept
from tools.workspace import ROOT, Distribution, distributions, requirement_name, supported_pythons, umbrella

OLDEST, NEWEST = "oldest", "newest"
# What is installed for the tests: the group that pytest is in, and that of the peers.
TESTING, PEERS = "test", "peers"


@dataclass(frozen=True)
class Corner:
    """One environment to test in.

    Attributes:
        name: such as `3.13-oldest`.
        python: its version, such as `3.13`.
        releases: which of the allowed ones are taken, OLDEST or NEWEST.
        pins: requirements beside those of the distributions.
        without: libraries that are not installed; nor are the distributions that require them.
        tests: `smoke`, `full`, or `xla`, which is the latter without the NumPy backend and the transformations.
    """

    name: str
    python: str
    releases: str
    pins: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tests: str = "smoke"

    @property
    def is_newest_of_everything(self) -> bool:
        """Whether more than a smoke test is meant for it: nothing that is found here is newer."""
        return self.tests != "smoke"

    @property
    def interpreter(self) -> Path | None:
        """The path of its Python; None where it is not installed."""
        return find_python(f"python{self.python}")

    @property
    def distributions(self) -> list[Distribution]:
        """The distributions of the tree that are installed."""
        left_out = {part.name for part in distributions().values() if self._lacks(part)}
        return [part for part in (*distributions().values(), umbrella()) if part.name not in left_out]

    def _lacks(self, part: Distribution) -> bool:
        return any(requirement_name(line) in self.without for line in part.foreign_requirements)

    @property
    def requirements(self) -> list[str]:
        """What the distributions require of others, the pins with it; sorted."""
        lines = {line for part in self.distributions for line in part.foreign_requirements}
        return sorted(lines | set(self.pins))

    def with_tests(self, tests: str) -> "Corner":
        """The same corner with other tests."""
        return replace(self, tests=tests)


@cache
def find_python(command: str) -> Path | None:
    """The path of an interpreter that a command names, as the Makefile finds it; None where it is not there."""
    done = subprocess.run([str(ROOT / "tools/find_python.sh"), command], capture_output=True, text=True)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def all_corners() -> list[Corner]:
    """Every corner; the newest of everything first, the one that says most."""
    pythons = candidates()
    newest = max((p for p in pythons if find_python(f"python{p}")), key=_minor, default=pythons[-1])
    corners = [
        Corner(
            f"{python}-{releases}",
            python,
            releases,
            tests="full" if (python, releases) == (newest, NEWEST) else "smoke",
        )
        for python in sorted(pythons, key=_minor, reverse=True)
        for releases in (NEWEST, OLDEST)
    ]
    # Each minor release of jaxlib but the newest with the newest of the rest: it has the private interfaces.
    for minor in jaxlib_releases(newest)[:-1]:
        corners.append(Corner(f"{newest}-jaxlib-{minor}", newest, NEWEST, pins=(f"jaxlib=={minor}.*",)))
    # The NumPy backend alone on the oldest NumPy, older than jaxlib and ml_dtypes ask for.
    bare = ("jaxlib", "ml_dtypes")
    corners.append(Corner(f"{pythons[0]}-numpy-alone", pythons[0], OLDEST, without=bare))
    return sorted(corners, key=lambda corner: not corner.is_newest_of_everything)


def candidates() -> list[str]:
    """The versions of Python that are supported, and the next one."""
    supported = list(supported_pythons())
    return [*supported, f"3.{_minor(supported[-1]) + 1}"]


def _minor(python: str) -> int:
    return int(python.partition(".")[2])


def _requirement(name: str) -> str:
    lines = {line for part in distributions().values() for line in part.foreign_requirements}
    (found,) = [line for line in lines if requirement_name(line) == name]
    return found


def jaxlib_releases(python: str) -> list[str]:
    """The minor releases of jaxlib that are allowed and exist for a Python: up to that of the JAX that is its peer."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    peers = [Requirement(line) for line in groups[PEERS] if requirement_name(line) == "jax"]
    (peer,) = [one for one in peers if one.marker is None or one.marker.evaluate({"python_version": python})]
    return [minor for minor in minor_releases(_requirement("jaxlib")) if _has_release_below(peer, minor)]


def _has_release_below(peer: Requirement, minor: str) -> bool:
    upper = next(bound.version for bound in peer.specifier if bound.operator == "<")
    return Version(minor) < Version(upper)


def minor_releases(requirement: str) -> list[str]:
    """The minor releases from the lower bound of a requirement to below the upper one.

    >>> minor_releases("jaxlib>=0.10,<0.13")
    ['0.10', '0.11', '0.12']
    """
    match = re.search(r">=(\d+)\.(\d+),<(\d+)\.(\d+)", requirement)
    if match is None or match[1] != match[3]:
        raise ValueError(f"expected a requirement of minor releases such as >=0.10,<0.13, got {requirement!r}")
    return [f"{match[1]}.{minor}" for minor in range(int(match[2]), int(match[4]))]


# --- Environments for the corners of the matrix, and pytest in them ---


FOLDER = ROOT / "build/matrix"
UV = [sys.executable, "-m", "uv"]
# Whose versions the table shows.
LIBRARIES = ("jaxlib", "jax", "numpy", "ml_dtypes", "scipy", "pluggy")
_ON_XLA = ["tests/smoke", "tests/backends", "tests/differential"]
TESTS = {
    "smoke": ["tests/smoke"],
    "xla": [*_ON_XLA, "-k", "not numpy"],  # of tests that run on each backend, those on XLA
    "full": [*_ON_XLA, "tests/transformations"],
}
# What the tests must not inherit: paths and choices of the one who runs them.
NOT_HANDED_ON = ("PYTHON", "TANGRAD", "JAX", "XLA", "VIRTUAL_ENV", "PYTEST")


class EnvironmentFailed(Exception):
    """An environment could not be made; the message is what uv printed."""


@dataclass(frozen=True)
class Environment:
    """A virtual environment in `folder`."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def versions(self) -> dict[str, str]:
        """The versions of Python and of LIBRARIES, those that are there, as the environment itself sees them."""
        program = f"""
import importlib.metadata as metadata, json, platform
found = {{"python": platform.python_version()}}
for name in {LIBRARIES!r}:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""
        return json.loads(_run([str(self.python), "-c", program]))


@dataclass(frozen=True)
class Outcome:
    """How pytest ended: its exit status, its counts, and the file of what it printed."""

    status: int
    passed: int
    failed: int
    skipped: int
    log: Path

    @property
    def succeeded(self) -> bool:
        return self.status == 0 and self.passed > 0 and self.failed == 0

    def tail(self, lines: int = 20) -> str:
        """The last lines that it printed."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


def _run(command: list[str], **options) -> str:
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, **options)
    if done.returncode:
        raise EnvironmentFailed(f"{' '.join(command[:8])} …: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def prepare(corner: Corner) -> Environment:
    """Return the corner's environment: the one that is kept, if its requirements are the same, with today's wheels."""
    folder = FOLDER / corner.name
    environment, stamp = Environment(folder), folder / "requirements.txt"
    wanted = f"# {corner.interpreter}\n{_resolve(corner)}"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        _run([*UV, "venv", "--quiet", "--python", str(corner.interpreter), str(folder)])
        file = folder / "wanted.txt"
        file.write_text(wanted)
        _run([*UV, "pip", "install", "--quiet", "--python", str(environment.python), "-r", str(file)])
        file.rename(stamp)
    _install_wheels(environment, corner)
    # Requirements that the resolution did not know of: those of the wheels themselves.
    _run([*UV, "pip", "check", "--python", str(environment.python)])
    return environment


def _resolve(corner: Corner) -> str:
    """Every distribution to install, of others, in one version each: first what ours require, then what tests need."""
    lowest = ["--resolution", "lowest-direct"] if corner.releases == OLDEST else []
    libraries = _compile(corner, corner.requirements, lowest)
    groups = [TESTING, *([PEERS] if corner.tests != "smoke" else [])]
    asked = [argument for group in groups for argument in ("--group", f"{ROOT / 'pyproject.toml'}:{group}")]
    return _compile(corner, libraries.splitlines(), asked)


def _compile(corner: Corner, lines: list[str], arguments: list[str]) -> str:
    command = [*UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += ["--python", str(corner.interpreter), *arguments, "-"]
    return _run(command, input="\n".join(lines) + "\n")


def _install_wheels(environment: Environment, corner: Corner) -> None:
    wheels = kept()
    names = [part.name.replace("-", "_") for part in corner.distributions]
    chosen = [str(path) for name in names for path in wheels.glob(f"{name}-*.whl")]
    stamp = environment.folder / "wheels"
    wanted = "\n".join(chosen)
    if not stamp.exists() or stamp.read_text() != wanted:
        options = ["--quiet", "--no-deps", "--reinstall", "--no-cache", "--python", str(environment.python)]
        _run([*UV, "pip", "install", *options, *chosen])
        stamp.write_text(wanted)


def run_tests(environment: Environment, corner: Corner, arguments: list[str]) -> Outcome:
    """Run the corner's tests with the environment's pytest, and count."""
    log, report = environment.folder / "pytest.log", environment.folder / "pytest.xml"
    report.unlink(missing_ok=True)
    command = [str(environment.python), "-m", "pytest", "-q", "-n", "2", f"--junit-xml={report}"]
    command += [
        "-m",
        "not slow and not sweep",
        "-o",
        f"cache_dir={environment.folder / 'pytest-cache'}",
        *TESTS[corner.tests],
        *arguments,
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_HANDED_ON)}
    with log.open("w") as file:
        done = subprocess.run(command, cwd=ROOT, env=kept, stdout=file, stderr=subprocess.STDOUT)
    return _counted(done.returncode, report, log)


def _counted(status: int, report: Path, log: Path) -> Outcome:
    if not report.exists():  # it did not come as far as the tests
        return Outcome(status or 1, 0, 0, 0, log)
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        for name in counts:
            counts[name] += int(suite.get(name, 0))
    failed = counts["failures"] + counts["errors"]
    return Outcome(status, counts["tests"] - failed - counts["skipped"], failed, counts["skipped"], log)


# --- Running, and the table of results ---


NOT_THERE, FAILED, PASSED = "not there", "FAILED", "passed"
HEADINGS = ("corner", "result", "Python", *LIBRARIES, "tests", "passed", "failed", "skipped", "seconds")
PAGE = """# The matrix

What `make test-matrix` ran, and how it went: each Python with the oldest and the newest releases that the requirements
allow. `smoke` is `tests/smoke`: every module imported, a program of every family of primitives on every backend,
eagerly, jitted, differentiated and mapped, callbacks, donation, DLPack, the persistent cache, `tangrad doctor`. `full`
adds the tests of the backends and the transformations, and the differential tests against JAX; `xla` is what of these,
transformations apart, runs on XLA: `.ci/run` runs it on the newest Python beside all tests on another. A dash: what is
not installed there. "not there" is a Python that was not on the machine: nothing has been tried on it.

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


def beside(corners: list[Corner]) -> list[Corner]:
    """What is left of corners where all tests run on this Python with the newest libraries, too.

    Of the newest corner these are the XLA tests; if it is this Python's own, it is a smoke test, and a note is printed.
    """
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = []
    for corner in corners:
        is_own = corner.name == f"{here}-{NEWEST}"
        if corner.is_newest_of_everything:
            found.append(corner.with_tests("smoke" if is_own else "xla"))
            if is_own:
                note = "What needs one (newer releases of jaxlib and JAX) is NOT tested."
                print(f"\n!! No Python newer than {here} was found. {note}")
        elif not is_own:
            found.append(corner)
    return found


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
        help="beside the whole suite on this Python, which needs no corner: of the newest one the XLA tests",
    )
    parser.add_argument("--pytest", default="", metavar="ARGS", help="further arguments for pytest, in one string")
    options = parser.parse_args(argv)
    corners = chosen(all_corners(), options.corners)
    if options.tests:
        corners = [corner.with_tests(options.tests) for corner in corners]
    if options.beside:
        corners = beside(corners)
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
