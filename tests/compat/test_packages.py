"""`tools.packages`, which runs the tests of packages written for JAX: its reports, comparisons and limits."""

import dataclasses
import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tools import packages
from tools.packages import Comparison, Outcome, Package, compare, main, run

SIX = Package("six", "1.0", module="six", reasons=(("*::test_words*", "JAX's words"),))


def entry(kind, name, when, outcome):
    return json.dumps({"$report_type": kind, "nodeid": name, "when": when, "outcome": outcome})


def test_how_a_test_went(tmp_path):
    report = tmp_path / "report.jsonl"
    lines = [
        entry("CollectReport", "a.py", "collect", "passed"),
        entry("CollectReport", "b.py", "collect", "failed"),
        json.dumps({"$report_type": "SessionFinish", "exitstatus": 1}),
    ]
    for name, outcomes in {
        "a.py::passes": ("passed", "passed", "passed"),
        "a.py::fails": ("passed", "failed", "passed"),
        "a.py::fails_at_its_end": ("passed", "passed", "failed"),
        "a.py::fails_before": ("failed", None, "passed"),
        "a.py::is_skipped": ("skipped", None, "passed"),
    }.items():
        stages = zip(("setup", "call", "teardown"), outcomes, strict=True)
        lines += [entry("TestReport", name, stage, outcome) for stage, outcome in stages if outcome is not None]
    report.write_text("\n".join(lines))
    assert dict(packages._read(report)) == {
        "b.py": "failed",
        "a.py::passes": "passed",
        "a.py::fails": "failed",
        "a.py::fails_at_its_end": "failed",
        "a.py::fails_before": "failed",
        "a.py::is_skipped": "skipped",
    }


def test_what_passes_on_jax_is_the_measure():
    theirs = Outcome(
        {"t::a": "passed", "t::b": "passed", "t::test_words": "passed", "t::c": "failed"}, 10.0, 200.0, True
    )
    ours = Outcome({"t::a": "passed", "t::b": "failed", "t::test_words": "failed", "t::c": "passed"}, 5.0, 100.0, True)
    row, unexpected = compare(SIX, theirs, ours)
    assert row == Comparison("six", "1.0", 3, 1, 1, 0.5, 0.5, True, ran=4) and unexpected == ["t::b"]


def test_a_test_that_is_missing_here_is_lost():
    theirs = Outcome({"t::a": "passed", "t::b": "passed"}, 1.0, 1.0, True)
    row, unexpected = compare(SIX, theirs, Outcome({"t::a": "passed"}, 1.0, 1.0, True))
    assert (row.on_jax, row.here) == (2, 1) and unexpected == ["t::b"]
    # Of a run that was ended at its limit, what both came to is compared.
    row, unexpected = compare(SIX, theirs, Outcome({"t::a": "passed"}, 1.0, 1.0, False))
    assert (row.on_jax, row.here, row.is_whole) == (1, 1, False) and not unexpected


PYTEST = """\
import json, os, sys, time
report = next(word.split("=")[1] for word in sys.argv if word.startswith("--report-log="))
assert not [name for name in os.environ if name.startswith("JAX_") and name != "JAX_PLATFORMS"]
print("as", sys.argv[1:3], os.environ["TANGRAD_BACKEND"])
with open(report, "w") as file:
    for name in os.environ.get("NAMES", "").split():
        entry = {"$report_type": "TestReport", "nodeid": name, "when": "call", "outcome": "passed"}
        print(json.dumps(entry), file=file)
time.sleep(float(os.environ.get("LAST", "0")))
"""


@pytest.fixture
def interpreter(tmp_path):
    """What runs in the place of an environment's Python: it writes a report, whatever it is asked to run."""
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n{PYTEST}")
    path.chmod(0o755)
    return path


def test_a_run(interpreter, monkeypatch):
    monkeypatch.setenv("NAMES", "t::a t::b")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")  # of the caller's, and not of the run's
    outcome = run(SIX, "jax", interpreter, limit=60)
    assert outcome.tests == {"t::a": "passed", "t::b": "passed"} and outcome.is_whole
    assert outcome.seconds > 0 and outcome.megabytes > 1


# What takes the options of pytest-reportlog and pytest-timeout in an environment that has neither.
REPORTS = """\
import json


def pytest_addoption(parser):
    parser.addoption("--report-log")
    parser.addoption("--timeout")


def pytest_configure(config):
    config.report = open(config.getoption("--report-log"), "w")
    config.pluginmanager.register(Reports(config.report))


class Reports:
    def __init__(self, file):
        self.file = file

    def pytest_runtest_logreport(self, report):
        fields = {name: getattr(report, name) for name in ("nodeid", "when", "outcome")}
        why = str(report.longrepr)
        print(json.dumps({"$report_type": "TestReport", "longrepr": why, **fields}), file=self.file, flush=True)
"""


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A function that runs a suite of 30 tests and one of one test, by the plugin for parts of suites."""
    tests = tmp_path / "seven" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_many.py").write_text("\n".join(f"def test_{n}(): pass" for n in range(30)))
    (tests / "test_one.py").write_text("def test_one(): pass")
    (tmp_path / "report_lines.py").write_text(REPORTS)
    monkeypatch.setenv(packages.VARIABLE, str(tmp_path))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    options = ("-p", "report_lines")
    package = Package("seven", "1.0", repository="https://example.org/of/seven", folder="tests", options=options)

    def run_part(every=1, file_limit=math.inf):
        return run(dataclasses.replace(package, every=every), "jax", python, 60, file_limit), tests

    return run_part


def test_one_test_in_so_many_is_run(suite):
    outcome, tests = suite(every=3)
    among_many = {name for name in outcome.tests if "test_many" in name}
    assert 3 <= len(among_many) <= 20 and outcome.named("passed") == set(outcome.tests)
    assert outcome.is_whole and outcome.collected == 31
    (tests / "test_before.py").write_text("def test_one(): pass")  # what one side has more changes no choice
    again, _ = suite(every=3)
    assert {name for name in again.tests if "test_many" in name} == among_many and again.collected == 32


def test_a_file_that_takes_long_is_ended_by_itself(suite):
    outcome, _ = suite(file_limit=0)
    # The first test of each file, and those after it in no count.
    assert outcome.tests == {"tests/test_many.py::test_0": "passed", "tests/test_one.py::test_one": "passed"}
    assert not outcome.is_whole and outcome.collected == 31
    whole, _ = suite()
    assert len(whole.tests) == 31 and whole.is_whole
    seven = Package("seven", "1.0", module="seven")
    row, unexpected = compare(seven, whole, outcome)
    assert (row.on_jax, row.here, row.suite, row.ran) == (2, 2, 31, 2) and not unexpected


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"is_whole": True, "suite": 1200, "ran": 1200}, "| 1,200 | all | 586 |"),
        ({"is_whole": False, "suite": 1200, "ran": 1100}, "| 1,200 | 1,100 | 586 |"),
        ({"is_whole": True, "every": 3, "suite": 1200, "ran": 400}, "| 1,200 | 1 in 3 | 586 |"),
        ({"is_whole": False, "every": 3, "suite": 1200, "ran": 390}, "| 1,200 | 1 in 3, 390 | 586 |"),
        ({"is_whole": False, "every": 3}, "|  | 1 in 3, in part | 586 |"),
    ],
)
def test_the_table_names_the_part_that_was_run(row, words):
    comparison = Comparison("chex", "0.1.92", 586, 580, 6, 0.1, 0.7, **row)
    assert words in packages.as_table([comparison])


def test_a_run_that_is_ended_keeps_what_it_came_to(interpreter, monkeypatch):
    monkeypatch.setenv("NAMES", "t::a")
    monkeypatch.setenv("LAST", "600")
    outcome = run(SIX, "tangrad", interpreter, limit=3)
    assert outcome.tests == {"t::a": "passed"} and not outcome.is_whole


def test_where_no_test_runs_it_says_what_was_printed(interpreter, monkeypatch):
    monkeypatch.delenv("NAMES", raising=False)
    with pytest.raises(RuntimeError, match=r"no test of six ran on tangrad[^$]*tangrad.compat.jax"):
        run(SIX, "tangrad", interpreter, limit=60)


def test_a_checkout_is_copied_without_the_package(interpreter, tmp_path, monkeypatch):
    package = Package("seven", "1.0", repository="https://example.org/of/seven", folder="tests")
    monkeypatch.delenv(packages.VARIABLE, raising=False)
    with pytest.raises(LookupError, match=r"PACKAGE_CHECKOUTS names no folder with a checkout of .*seven"):
        run(package, "jax", interpreter, limit=60)
    monkeypatch.setenv(packages.VARIABLE, str(tmp_path))
    with pytest.raises(LookupError, match=r"is no folder with a checkout of .*seven with a folder tests"):
        run(package, "jax", interpreter, limit=60)
    (tmp_path / "seven" / "tests").mkdir(parents=True)
    (tmp_path / "seven" / "seven").mkdir()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert packages._tests_of(package, scratch) == ["tests"]
    assert [path.name for path in scratch.iterdir()] == ["tests"]


def test_environments_are_made_once_and_follow_our_entry_points(tmp_path, monkeypatch):
    calls, tree = [], tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").write_text("[project]")

    def uv(*arguments):
        calls.append(arguments)
        if arguments[0] == "venv":
            (tmp_path / "build" / Path(arguments[-1]).name).mkdir(parents=True)
        return "jax==0.10.2\nsix==1.0\nseven==2.0\n" if arguments[:2] == ("pip", "freeze") else ""

    seven = Package("seven", "2.0", module="seven", requires=("eight",), alone=True)
    for name, value in {
        "_uv": uv,
        "BUILD": tmp_path / "build",
        "ROOT": tree,
        "distributions": dict,
        "packages": lambda: {"six": SIX, "seven": seven},
    }.items():
        monkeypatch.setattr(packages, name, value)

    def installed(side):
        """What was installed since the last look, a list for each call."""
        found = [call for call in calls if call[:2] == ("pip", "install") and Path(call[4]).parts[-3] == side]
        return [list(call[5:]) for call in found]

    interpreters = packages.environments()
    assert list(interpreters) == ["jax", "tangrad"]
    # A package whose bounds exclude this JAX comes after the others, without what it requires.
    everything, alone = installed("jax")
    assert {"jax==0.10.2", "six==1.0", "eight"} <= set(everything) and "seven==2.0" not in everything
    assert alone == ["--no-deps", "seven==2.0"]
    # The other side has the same versions, and no JAX.
    pinned, _, ours = installed("tangrad")
    assert pinned == ["--no-deps", "six==1.0", "seven==2.0"]
    assert ours == ["--no-deps", "--reinstall", "--editable", str(tree)]

    calls.clear()
    assert packages.environments() == interpreters and not calls
    (tree / "pyproject.toml").write_text('[project.entry-points."tangrad.api"]')
    assert packages.environments() == interpreters
    assert [ours] == [call for side in interpreters for call in installed(side)] and len(calls) == 1
    calls.clear()
    monkeypatch.setattr(packages, "packages", lambda: {"six": SIX})
    packages.environments()
    assert len(installed("jax")) == 1 and len(installed("tangrad")) == 3


@pytest.mark.parametrize("tag", ["v1.0", "1.0", "seven-v1.0"])
def test_tests_are_those_of_the_release(tmp_path, monkeypatch, tag):
    package = Package("seven", "1.0", repository="https://example.org/of/seven", folder="inner/tests")
    monkeypatch.setenv(packages.VARIABLE, str(tmp_path))
    checkout, scratch = tmp_path / "seven", tmp_path / "scratch"
    tests = checkout / "inner" / "tests"
    tests.mkdir(parents=True)
    scratch.mkdir()

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=checkout, check=True, capture_output=True)

    git("init")
    for name, at in ("old", "v11.0"), ("one", tag), ("new", "v1.0.1"):
        (tests / "test_of.py").write_text(name)
        git("add", ".")
        git("commit", "--message", name)
        git("tag", at)
    assert packages._tests_of(package, scratch) == ["tests"]
    assert (scratch / "tests" / "test_of.py").read_text() == "one"
    assert [path.name for path in scratch.iterdir()] == ["tests"]


def test_results_are_kept_by_package(tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "RESULTS", tmp_path / "results.toml")
    first = Comparison("optax", "0.2.8", 4000, 3990, 10, 0.9, 0.8, True)
    packages.record([first, Comparison("chex", "0.1.92", 500, 500, 0, 0.2, 0.7, True)])
    packages.record([Comparison("chex", "0.1.92", 586, 580, 6, 0.1, 0.7, False)])
    assert packages.results() == [Comparison("chex", "0.1.92", 586, 580, 6, 0.1, 0.7, False), first]
    assert "| optax | 0.2.8 |  | all | 4,000 | 3,990 | 99.8 | 0.90 | 0.80 |" in packages.results_table()
    assert "| in part | 586 | 580 | 99.0 |  |  |" in packages.results_table()


def test_the_list_says_where_each_packages_tests_are(capsys):
    listed = tomllib.loads(packages.LIST.read_text())["package"]
    assert len({row["name"] for row in listed}) == len(listed) == len(packages.packages())
    for package in packages.packages().values():
        assert bool(package.module) != bool(package.repository and package.folder), package.name
        assert all(reason.strip() for _, reason in package.reasons)
    with pytest.raises(SystemExit):
        main(["numpy"])
    assert "unknown packages numpy; there are chex, " in capsys.readouterr().err
