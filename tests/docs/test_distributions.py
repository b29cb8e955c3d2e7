"""The page on the distributions names each of them once, by the rule that it states."""

import doctest
import re
import subprocess
import sys

import pytest

from tangrad._console.report.entries import entry_problems
from tangrad.core import composition
from tests.docs.test_examples import OPTIONS
from tools.metadata import configuration, parts
from tools.workspace import ROOT, distributions, umbrella

PAGE = (ROOT / "docs/distributions.md").read_text()


def test_every_distribution_has_a_row():
    rows = re.findall(r"^\| `(tangrad[a-z-]*)` \| [^|]+ \| [^|]*\|$", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted([umbrella().name, *distributions()])


def test_folder_distribution_and_package_have_one_name():
    for part in distributions().values():
        name = part.name.removeprefix("tangrad-").replace("-", "_")
        group = part.folder.parent.name
        assert part.folder.name == name.removeprefix("backend_" if group == "backends" else ""), part.name
        inner = {module.split(".")[1] for module in part.modules if re.match(r"tangrad\._[a-z]", module)}
        assert inner == {f"_{name}"}, part.name


def test_former_distributions_are_gone():
    former = re.findall(r"`(tangrad-[a-z-]+)`", PAGE.partition("| former |")[2])
    gone = [name for name in former if name not in distributions()]
    assert len(gone) == 14


def test_the_doctor_has_nothing_against_our_entry_points():
    assert not [problem.what for problem in entry_problems(composition()) if "tangrad-" in problem.what]


@pytest.mark.parametrize("name", sorted(set(parts()) - {"tangrad-compat"}))
def test_the_first_session_with_a_distribution(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # one of them writes a file
    session = doctest.DocTestParser().get_doctest(parts()[name]["example"] + "\n", {}, name, None, None)
    assert session.examples
    report = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(session, out=report.append)
    assert not report, "".join(report)


def test_the_first_session_with_the_alias_of_jax(tmp_path):
    (tmp_path / "session.txt").write_text(parts()["tangrad-compat"]["example"])  # where nothing has imported jax
    command = [sys.executable, "-m", "doctest", "session.txt"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("part", [umbrella(), *distributions().values()], ids=lambda part: part.name)
def test_the_metadata_of_a_wheel_is_whole(part):
    project = configuration(part.folder)["project"]
    kinds = {line.split(" :: ")[0] for line in project["classifiers"]}
    assert kinds >= {"Development Status", "Intended Audience", "Operating System", "Topic", "Typing"}
    assert project["keywords"] and project["license"] and project["authors"]
    text = project["readme"]["text"]
    assert ">>> " in text or "pip install" in text
    assert not re.search(r"\]\((?!https?:|#)", text), "a link that leads nowhere outside the repository"
