"""What the pages name exists, and is complete: modules, functions, files, distributions, rooms."""

import doctest
import importlib
import re
import subprocess
import sys
import tomllib
import warnings

import pytest

import tangrad
from tangrad._console.report.composed import entry_problems
from tangrad._core.composition.policy import DEPRECATED
from tangrad._runtime.container import JOINED
from tangrad.core import composition
from tests.docs.test_examples import OPTIONS, PAGES
from tools.docs import rooms
from tools.metadata import configuration, parts
from tools.workspace import ROOT, distributions, umbrella

# --- Names of modules, functions and files in the text of the pages exist ---


# What the reader of a page makes.
MADE = {"tangrad.lax.discounting", "tangrad.lax.lambertw", "tangrad.lax.versine", "tangrad.numpy.versine", "train.py"}
PREFIXES = {"tangrad.config.jax_"}  # of names that follow
OLD = {f"tangrad.core.{name}" for name in DEPRECATED}  # they warn; tests/unit/test_versioning.py looks at them
CONTRIB = {
    f"tangrad.{name}"
    for project in (ROOT / "contrib").glob("*/pyproject.toml")
    for name in tomllib.loads(project.read_text())["project"].get("entry-points", {}).get("tangrad.api", {})
}


def groups() -> set[str]:
    """The groups of entry points that some distribution of ours has, or that hooks serve."""
    declared = {group for part in distributions().values() for group in part.entry_points}
    return declared | {"tangrad.cluster_detectors", "tangrad.conformance_checks", "tangrad.hooks"}


def exists(name: str) -> bool:
    found = tangrad
    parts = name.split(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a table lists former names, too
        return _found(found, parts)


def _found(found: object, parts: list[str]) -> bool:
    for end, part in enumerate(parts[1:], 2):
        try:
            found = getattr(found, part)
        except AttributeError:
            try:
                found = importlib.import_module(".".join(parts[:end]))
            except ImportError:
                return False
    return True


@pytest.fixture(scope="module")
def files() -> set[str]:
    folders = ("core", "plugins", "primitives", "backends", "contrib", "docs", "tools", "tests")
    return {path.name for folder in folders for path in (ROOT / folder).rglob("*.py")}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_in_the_text_exist(page, files):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    names = set(re.findall(r"`(tangrad(?:\.[A-Za-z]\w*)+)", text)) - MADE - PREFIXES - OLD - CONTRIB - groups()
    assert not [name for name in sorted(names) if not exists(name)]
    named = {name.rpartition("/")[2] for name in re.findall(r"`((?:[\w/]+/)?\w+\.py)`", text)} - MADE
    assert not named - files


# A path from the top of the repository, without what the reader fills in.
PATHS = re.compile(r"`((?:core|plugins|primitives|backends|contrib|docs|tools|tests)/[\w./-]*)`")
ORDER = ["life-of-a-value.md", "architecture.md", "kernel.md", "plugin-guide.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_in_the_text_exist(page):
    assert not [path for path in PATHS.findall(page.read_text()) if not (ROOT / path).exists()]


@pytest.mark.parametrize("name", [*ORDER, "glossary.md"])
def test_the_pages_on_how_it_works_are_looked_at(name):
    assert ROOT / "docs" / name in PAGES


@pytest.mark.parametrize("name", ["life-of-a-value.md", "kernel.md"])
def test_modules_of_the_kernel_that_are_to_be_read_exist(name):
    """Those that the reading order lists by their names alone: `aval`, `primitive`, ...; ..."""
    text = (ROOT / "docs" / name).read_text()
    pattern = (
        r"order is also a good one to read the\s+kernel in: ([^.]*)\." if "life" in name else r"(?m)^\d\. .*\* (.*)$"
    )
    listed = re.findall(r"`([\w.]+)`", " ".join(re.findall(pattern, text)))
    assert len(listed) >= 6
    known = {path.stem for path in rooms.KERNEL.rglob("*.py")} | {f"tangrad._core.{room}" for room in rooms.ROOMS}
    assert not set(listed) - known


@pytest.mark.parametrize("name", ORDER)
def test_there_is_one_reading_order(name):
    head = (ROOT / "docs" / name).read_text().split("\n\n")[1]
    found = re.findall(r"(\d)\. (?:\[[^]]*\]\(([\w.-]*)\)|[^*,;]*\*\*)", head)
    assert [place for place, _ in found] == ["1", "2", "3", "4"]
    assert [page or name for _, page in found] == ORDER
    assert "(glossary.md)" in head


def test_the_navigation_has_the_same_order():
    pages = re.findall(r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert [page for page in pages if page in ORDER[:3]] == ORDER[:3] and "glossary.md" in pages


def test_the_glossary_is_short_and_says_where():
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)
    assert rows[0] == ("word", "what it means", "defined in") and 30 <= len(rows) - 1 <= 40
    assert all("`tangrad." in place or ".md" in place for _, _, place in rows[1:])


def test_what_does_not_exist_is_found():
    assert exists("tangrad.numpy.linalg.norm") and exists("tangrad._core.composition.record")
    assert not exists("tangrad._core.composition.plugins") and not exists("tangrad.numpy.no_such_function")


# --- The page on the distributions names each of them once, by the rule that it states ---


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
    assert len(gone) == 18


def test_saved_programs_of_former_distributions_ask_for_those_that_they_joined():
    rows = re.findall(r"^\| (`.+`) \| `(tangrad-[a-z-]+)` \|$", PAGE.partition("| former |")[2], re.MULTILINE)
    assert {present: tuple(re.findall(r"tangrad-[a-z-]+", formers)) for formers, present in rows} == JOINED


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


# --- The chapter on the kernel: it names every module of every room, and its numbers are nearly right ---


def test_the_chapter_is_up_to_date():
    assert rooms.problems(rooms.PAGE.read_text()) == [], "run python -m tools.docs.rooms"


def test_every_room_has_a_heading_and_the_reading_order():
    text = rooms.PAGE.read_text()
    assert re.findall(r"^## `tangrad\._core\.(\w+)`", text, re.MULTILINE) == list(rooms.ROOMS)
    folders = {path.parent.name for path in rooms.KERNEL.glob("*/__init__.py")}
    assert folders == {*rooms.ROOMS}
    names = [row["module"] for row in rooms.ROW.finditer(rooms.table("kernel"))]
    assert names.index("aval") < names.index("primitive") < names.index("trace") < names.index("rules")
    assert all(name in rooms.modules(room) for room, first in rooms.FIRST.items() for name in first)


def test_lines_are_counted(tmp_path):
    file = tmp_path / "module.py"
    file.write_text('"""What it is."""\n\n# why\nx = 1  # one\n\n')
    assert rooms.code_lines(file) == 2


def test_what_is_wrong_is_said():
    text = rooms.with_tables(rooms.PAGE.read_text())
    assert rooms.problems(text) == []
    assert rooms.problems(text.replace("| `aval` |", "| `avals` |")) == [
        "tangrad._core.kernel.aval is not in the page",
        "tangrad._core.kernel.avals is in the page only",
    ]
    longer = re.sub(r"\| `aval` \| \d+ \|", "| `aval` | 3000 |", text)
    assert re.fullmatch(r"tangrad\._core\.kernel\.aval has \d+ lines, not 3000", rooms.problems(longer)[0])
    with pytest.raises(LookupError, match="room kernel"):
        rooms.with_tables("no marks")


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_the_command(arguments, tmp_path, monkeypatch, capsys):
    page = tmp_path / "kernel.md"
    page.write_text("".join(f"<!-- room {room} -->\nold\n<!-- /room {room} -->\n" for room in rooms.ROOMS))
    monkeypatch.setattr(rooms, "PAGE", page)
    assert rooms.main(arguments) == (1 if arguments else 0)
    assert ("| `aval` |" in page.read_text()) == (not arguments)
    assert ("run python -m tools.docs.rooms" in capsys.readouterr().err) == bool(arguments)
