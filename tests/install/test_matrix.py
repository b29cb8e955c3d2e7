"""The matrix: its corners come from the tree, what is not there is not counted as run, and failures fail."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import matrix
from tools.matrix import (
    Corner,
    Environment,
    EnvironmentFailed,
    Outcome,
    _counted,
    all_corners,
    candidates,
    jaxlib_releases,
    minor_releases,
)
from tools.workspace import ROOT, supported_pythons

HERE = Path(sys.executable)


@pytest.fixture
def found(monkeypatch):
    """Makes these versions of Python the ones that are installed."""

    def pretend(*versions: str) -> None:
        there = {f"python{version}" for version in versions}
        monkeypatch.setattr(matrix, "find_python", lambda command: HERE if command in there else None)

    return pretend


def test_corners_are_each_python_with_the_oldest_and_the_newest(found):
    found("3.11", "3.12", "3.13")
    corners = {corner.name: corner for corner in all_corners()}
    assert corners.keys() >= {f"{python}-{end}" for python in supported_pythons() for end in ("oldest", "newest")}
    assert [corner.name for corner in all_corners() if corner.is_newest_of_everything] == ["3.13-newest"]
    assert corners["3.13-jaxlib-0.10"].requirements.count("jaxlib==0.10.*") == 1
    assert any(line.startswith("jaxlib>=") for line in corners["3.11-oldest"].requirements)
    bare = corners["3.11-numpy-alone"]
    assert {re.match(r"\w+", line)[0] for line in bare.requirements} >= {"numpy", "pluggy"}
    assert not [line for line in bare.requirements if line.startswith(("jaxlib", "ml_dtypes", "scipy"))]
    assert "tangrad" in {part.name for part in bare.distributions}


def test_a_python_is_asked_only_for_releases_that_it_has(found):
    """Where an old Python is the only one, the releases of jaxlib that are made for newer ones are left out."""
    for version, minors in {"3.11": ["0.10"], "3.12": ["0.10", "0.11", "0.12"]}.items():
        found(version)
        assert jaxlib_releases(version) == minors
        names = [corner.name for corner in all_corners() if "-jaxlib-" in corner.name]
        assert names == [f"{version}-jaxlib-{minor}" for minor in minors[:-1]]


def test_a_python_that_comes_up_is_tried(found):
    assert candidates()[-1] == "3.15"
    found("3.11", "3.15")
    (newest,) = [corner for corner in all_corners() if corner.is_newest_of_everything]
    assert newest.name == "3.15-newest"


@pytest.mark.parametrize("requirement", ["jaxlib", "jaxlib>=0.10", "jaxlib>=0.10,<1.2"])
def test_only_ranges_of_minor_releases_are_counted(requirement):
    with pytest.raises(ValueError, match="expected a requirement of minor releases"):
        minor_releases(requirement)


def outcomes(monkeypatch, **by_name: Outcome | EnvironmentFailed) -> None:
    """Corners with these outcomes in place of what running them would give; others have no interpreter."""
    monkeypatch.setattr(matrix, "all_corners", lambda: [Corner(name, "3.11", "newest") for name in by_name])
    monkeypatch.setattr(matrix, "find_python", lambda command: HERE)

    def run(environment, corner, arguments):
        found = by_name[corner.name]
        if isinstance(found, EnvironmentFailed):
            raise found
        return found

    monkeypatch.setattr(matrix, "prepare", lambda corner: Environment(HERE.parent.parent))
    monkeypatch.setattr(matrix, "run_tests", run)


def outcome(status: int, passed: int, failed: int = 0) -> Outcome:
    return Outcome(status, passed, failed, 1, ROOT / "README.md")


def test_the_exit_status(monkeypatch, capsys, tmp_path):
    page = tmp_path / "matrix.md"
    outcomes(monkeypatch, good=outcome(0, 3), bad=outcome(1, 3, 1), none=outcome(5, 0), broken=EnvironmentFailed("uv"))
    assert matrix.main(["good", "--markdown", str(page)]) == 0
    (row,) = [line for line in page.read_text().splitlines() if line.startswith("| good ")]
    assert "| passed |" in row and "| smoke | 3 | 0 | 1 |" in row
    for name in ("bad", "none", "broken"):
        assert matrix.main([name]) == 1
        assert matrix.main(["good", name]) == 1
    assert "no test ran" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no corner is called 'godo'; there are: good, bad"):
        matrix.main(["godo"])


def test_what_is_not_there_is_said_and_does_not_count(monkeypatch, capsys):
    outcomes(monkeypatch, good=outcome(0, 3))
    monkeypatch.setattr(matrix, "find_python", lambda command: None)
    assert matrix.main([]) == 1
    said = capsys.readouterr()
    assert re.search(r"^good +not there +3\.11$", said.out, re.MULTILINE)
    assert "no corner has run its tests" in said.err


def test_beside_the_whole_suite(capsys):
    here = f"3.{sys.version_info.minor}"
    newest, oldest = Corner("3.99-newest", "3.99", "newest", tests="full"), Corner(f"{here}-oldest", here, "oldest")
    own = Corner(f"{here}-newest", here, "newest")
    assert matrix.beside([newest, own, oldest]) == [newest.with_tests("xla"), oldest]
    assert capsys.readouterr().out == ""
    assert matrix.beside([own.with_tests("full"), oldest]) == [own, oldest]
    assert f"No Python newer than {here} was found" in capsys.readouterr().out


def test_tests_are_counted(tmp_path):
    log, report = tmp_path / "log", tmp_path / "report.xml"
    log.write_text("the end\n")
    assert not _counted(0, report, log).succeeded, "without a report nothing has run"
    suite = '<testsuites><testsuite tests="7" failures="{}" errors="{}" skipped="2"/></testsuites>'
    report.write_text(suite.format(0, 0))
    counted = _counted(0, report, log)
    assert (counted.passed, counted.failed, counted.skipped, counted.succeeded) == (5, 0, 2, True)
    report.write_text(suite.format(1, 2))
    assert _counted(1, report, log).failed == 3 and not _counted(1, report, log).succeeded
    report.write_text(suite.format(0, 0))
    assert not _counted(2, report, log).succeeded, "pytest was interrupted"


def test_an_interpreter_is_found_that_does_not_run_by_its_name(tmp_path):
    """As pyenv has it: a command that refuses, and the interpreter in its folder; the newest release of several."""
    refusing = tmp_path / "bin/python3.77"
    releases = [tmp_path / f"pyenv/versions/{name}/bin/python3.77" for name in ("3.77.2", "3.77.10", "3.77.11t")]
    for path, text in [(refusing, "exit 127"), *[(path, f"echo {path}") for path in releases]]:
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    environment = {
        "PATH": f"{refusing.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "PYENV_ROOT": str(tmp_path / "pyenv"),
    }

    def find(name: str) -> subprocess.CompletedProcess:
        command = [str(ROOT / "tools/find_python.sh"), name]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    assert find("python3.77").stdout.strip() == str(releases[1])
    absent = find("python3.78")
    assert absent.returncode == 1 and absent.stdout == ""
    assert "there is no Python interpreter python3.78" in absent.stderr and "PYTHON=/path" in absent.stderr
    assert find(sys.executable).stdout.strip() == sys.executable


def test_the_workflow_has_the_supported_pythons():
    text = (ROOT / ".github/workflows/ci.yml").read_text()
    (listed,) = re.findall(r"^ +python: \[(.*)\]$", text, re.MULTILINE)
    assert tuple(listed.replace('"', "").split(", ")) == supported_pythons()
