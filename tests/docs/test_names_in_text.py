"""Names of modules, functions and files in the text of the pages exist."""

import importlib
import re
import tomllib

import pytest

import tangrad
from tests.docs.test_examples import PAGES
from tools.workspace import ROOT, distributions

# What the reader of a page makes.
MADE = {"tangrad.lax.discounting", "tangrad.lax.lambertw", "train.py"}
PREFIXES = {"tangrad.config.jax_"}  # of names that follow
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
    names = set(re.findall(r"`(tangrad(?:\.[A-Za-z]\w*)+)", text)) - MADE - PREFIXES - CONTRIB - groups()
    assert not [name for name in sorted(names) if not exists(name)]
    named = {name.rpartition("/")[2] for name in re.findall(r"`((?:[\w/]+/)?\w+\.py)`", text)} - MADE
    assert not named - files


def test_what_does_not_exist_is_found():
    assert exists("tangrad.numpy.linalg.norm") and exists("tangrad._core.composition.record")
    assert not exists("tangrad._core.composition.plugins") and not exists("tangrad.numpy.no_such_function")
