"""The reference: complete, made of the docstrings as they are, the same at every build; and the tables in the text."""

import importlib
import inspect
import re
import types
import zlib

import pytest

from tangrad._console.explanations.catalogue import PUBLIC_NAMES
from tangrad._core.composition.hook_names import ARGUMENTS
from tangrad.core.tools import rule_kinds
from tools.docs import extension, reference, tables
from tools.docs.docstrings import escape, signature, summary, to_markdown
from tools.docs.search import inventory
from tools.import_graph import PUBLIC_MODULES, exported_names
from tools.workspace import distributions

FIRST_PARTY = [f"tangrad.{name}" for names in PUBLIC_NAMES.values() for name in names.split()]


@pytest.fixture(scope="module")
def pages():
    return reference.pages()


def test_every_public_name_has_a_place(pages):
    anchors = reference.anchors()
    missing = [name for name in FIRST_PARTY if name not in anchors]
    assert not missing
    for name in FIRST_PARTY:
        path, _, anchor = anchors[name].partition("#")
        assert re.search(rf"#{re.escape(anchor)}[ }}]", pages[path]), name


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_what_the_kernel_exports_is_documented(module):
    """Authors are promised these names: each is in the reference, and says what it is."""
    anchors = reference.anchors()
    exported = {name: getattr(importlib.import_module(module), name) for name in exports(module)}
    assert exported
    for name, value in exported.items():
        if inspect.ismodule(value):
            continue
        if callable(value) and not isinstance(value, types.GenericAlias | types.UnionType):
            assert inspect.getdoc(value), f"{module}.{name} has no docstring"
            assert f"{module}.{name}" in anchors, f"{module}.{name} is not in the reference"


def exports(module: str) -> set[str]:
    return exported_names(distributions()["tangrad-core"].modules[module])


def test_packages_are_on_pages(pages):
    own = {reference.source(package) for package in reference.packages()}
    assert set(pages) == own | {"reference/index.md", extension.PAGE}
    overview = pages["reference/index.md"]
    for package in ("tangrad.numpy.linalg", "tangrad.lax", "tangrad.core", "tangrad.tree_util", "tangrad.errors"):
        assert f"`{package}`" in overview
    for distribution in PUBLIC_NAMES:
        assert f"`{distribution}`" in overview


def test_every_group_hook_and_rule_kind_is_on_a_page(pages):
    text = pages[extension.PAGE]
    for part in distributions().values():
        for group in part.entry_points:
            if group.startswith("tangrad."):
                shown = "tangrad.rules.<kind>" if group.startswith("tangrad.rules.") else group
                assert f"| `{shown}` |" in text, group
    for kind in rule_kinds():
        assert f"| `{kind}` | `(" in text
    assert all(f"| `{name}({', '.join(arguments)})` |" in text for name, arguments in ARGUMENTS.items())


def test_links_within_pages_have_targets(pages):
    for path, text in pages.items():
        anchors = set(re.findall(r"\{: #(\S+)", text))
        wanted = set(re.findall(r"\]\(#([^)]+)\)", text))
        assert wanted <= anchors, path


def test_aliases_point_to_where_the_object_is_described(pages):
    text = pages["reference/numpy.md"]
    assert "| `acos`{: #tangrad.numpy.acos } | the same as `tangrad.numpy.arccos` |" in text
    assert "### `arccos` {: #tangrad.numpy.arccos .name }" in text and "### `acos`" not in text


def test_builds_are_equal(pages):
    assert pages == reference.pages()
    assert not [path for path, text in pages.items() if " at 0x" in text]


def test_groups_are_named_by_the_modules(pages):
    assert "## Sorting\n" in pages["reference/numpy.md"]
    assert "## Automatic differentiation\n" in pages["reference/tangrad.md"]
    assert "entry points of `tangrad.api`" not in pages["reference/lax.md"]


# --- signatures -----------------------------------------------------------------------------------------------------


def plain(x, /, y: int, *rest, key: "str | None" = None, _inner=0, **more) -> "list[int]":
    """Do nothing."""


def long(first_argument, second_argument, third_argument, fourth_argument, fifth_argument="a default"):
    """Do nothing either."""


def test_signatures():
    parameters, text = signature("plain", plain)
    assert text == "plain(x, /, y: int, *rest, key: str | None = None, **more) -> list[int]"
    assert parameters[:2] == ["x", "y"]
    lines = signature("long", long)[1].splitlines()
    assert lines[0] == "long(" and lines[-2:] == ["    fifth_argument='a default',", ")"]
    assert signature("x", 3) == ([], "")


def test_constructors_that_take_nothing_are_left_out():
    assert signature("Empty", type("Empty", (), {})) == ([], "")


# --- docstrings -----------------------------------------------------------------------------------------------------

DOCSTRING = """
The sum of `x` and x**2.

    total = x + x**2

Args:
    x, y: arrays;
    None: of nothing.

        More about them.
    *rest: others.

Returns:
    an array of `x`'s shape.

Raises (at a call): TypeError for text.

Raises:
    TypeError: for text, and
    for lists.

>>> 1 + 1
2

>>> 2 + 2
4
"""


def test_docstrings_become_markdown():
    text = to_markdown(inspect.cleandoc(DOCSTRING), ["x", "y", "rest"])
    assert "The sum of `x` and x\\*\\*2." in text
    assert "\n    total = x + x**2\n" in text
    assert "- `x`, `y`: arrays;\n    None: of nothing.\n" in text and "- `rest`: others." in text
    assert "**Returns**: an array of `x`'s shape." in text
    assert "**Raises** (at a call): TypeError for text." in text
    assert "- `TypeError`: for text, and\n    for lists." in text
    assert text.count("```pycon") == 1 and "2\n\n>>> 2 + 2\n4\n```" in text


def test_markup_in_text_is_escaped():
    assert escape("a*b, `a*b`, <x>, [y]") == "a\\*b, `a*b`, &lt;x&gt;, \\[y\\]"
    assert summary("One\ntwo.\n\nThree.") == "One two."


# --- tables in the text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", tables.PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_code(page):
    text = page.read_text()
    assert text == tables.with_tables(text), "run python -m tools.docs.tables"


def test_every_table_is_on_a_page():
    marks = re.findall(r"<!-- ([a-z ]+) -->", "".join(page.read_text() for page in tables.PAGES))
    assert sorted(marks) == sorted(tables.TABLES)


@pytest.mark.parametrize(("text", "named"), [("no marks", "settings"), ("<!-- odd -->\n\n<!-- /odd -->", "odd")])
def test_tables_need_their_marks(text, named):
    with pytest.raises(LookupError, match=named):
        tables.with_tables(text)


@pytest.mark.parametrize("arguments", [[], ["--check"]])
def test_the_command_that_writes_tables(arguments, tmp_path, monkeypatch, capsys):
    page = tmp_path / "debugging.md"
    page.write_text("<!-- settings -->\nold\n<!-- /settings -->\n<!-- variables -->\nold\n<!-- /variables -->\n")
    monkeypatch.setattr(tables, "PAGES", (page,))
    assert tables.main(arguments) == (1 if arguments else 0)
    assert ("`enable_x64`" in page.read_text()) == (not arguments)
    assert ("tools.docs.tables" in capsys.readouterr().err) == bool(arguments)


# --- The inventory of names for the documentation of other projects ---


def test_an_inventory_has_a_line_for_each_name():
    *header, rest = inventory("P", "1.0", {"p.b": "b/#p.b", "p.a": "a/#p.a"}).split(b"\n", 4)
    assert header[0] == b"# Sphinx inventory version 2" and header[1:3] == [b"# Project: P", b"# Version: 1.0"]
    assert zlib.decompress(rest).decode().splitlines() == ["p.a py:obj 1 a/#p.a -", "p.b py:obj 1 b/#p.b -"]
