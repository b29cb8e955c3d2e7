"""Names of modules, functions and files in the text of the pages exist."""

import importlib
import re
import tomllib
import warnings

import pytest

import tangrad
from tangrad._core.composition.versioning import DEPRECATED
from tests.docs.test_examples import PAGES
from tools.docs import rooms
from tools.workspace import ROOT, distributions

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
