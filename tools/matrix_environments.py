"""Environments for the corners of the matrix, and pytest in them. uv does the work: see `Corner` for what goes in."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from tools.build_wheels import kept
from tools.matrix_corners import OLDEST, PEERS, TESTING, Corner
from tools.workspace import ROOT

FOLDER = ROOT / "build/matrix"
UV = [sys.executable, "-m", "uv"]
# Whose versions the table shows.
LIBRARIES = ("jaxlib", "jax", "numpy", "ml_dtypes", "scipy", "pluggy")
_FULL = ["tests/smoke", "tests/backends", "tests/transformations", "tests/differential"]
TESTS = {
    "smoke": ["tests/smoke"],
    "xla": [*_FULL, "-k", "not numpy"],  # of tests that run on each backend, those on XLA
    "full": _FULL,
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
