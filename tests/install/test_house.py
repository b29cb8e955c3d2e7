"""The house: its figures are counted as they say, and words that went stay away."""

import subprocess

import pytest

from tools import words
from tools.house import Figures, main

CORE = {
    "core/pyproject.toml": """
        [project]
        name = "tangrad-core"
        version = "0.1.0"
        """,
    "core/tangrad/__init__.py": "",
    "core/tangrad/core/__init__.py": "from tangrad._core.kernel.trace import f as f\n",
    "core/tangrad/_core/kernel/__init__.py": "",
    "core/tangrad/_core/kernel/trace.py": (
        "# why\n\nfrom typing import Any\n\ndef f() -> Any: ...\ndef _g() -> Any: ...\n"
    ),
    "plugins/one/pyproject.toml": """
        [project]
        name = "tangrad-one"
        version = "0.1.0"
        dependencies = ["tangrad-core==0.1.*", "tangrad-two==0.1.*"]

        [project.entry-points."tangrad.samples"]
        one = "tangrad._one.samples:samples"
        """,
    "plugins/one/LICENSE": "text",
    "plugins/one/tangrad/_one/__init__.py": "",
    "plugins/one/tangrad/_one/use.py": (
        "from tangrad._two.inner import x\nfrom tangrad.core import f\nthread.trace = x\n"
    ),
    "plugins/one/tangrad/_one/samples.py": "samples = 1\n",
    "plugins/two/pyproject.toml": """
        [project]
        name = "tangrad-two"
        version = "0.1.0"
        dependencies = ["tangrad-core==0.1.*"]
        """,
    "plugins/two/tangrad/_two/__init__.py": "",
    "plugins/two/tangrad/_two/inner.py": "x = 1  # type: ignore  # nobody knows\n" + "y = 1\n" * 20,
    "README.md": "What it tells whoever reads.\n",
}
EXPECTED = {
    "tracked_files": 14,
    "distributions": 4,
    "projects": 3,
    "licences": 1,
    "short_files": 4,
    "short_without_reason": 2,
    "forwarding": 1,
    "lines": 32,
    "import_cycles": 0,
    "kernel_names": 1,
    "inner_imports": 1,
    "anys": 3,
    "returning_any": 1,
    "ignored": 1,
    "traces_set": 1,
    "private_words": 3,
}


@pytest.fixture
def figures(tmp_path, monkeypatch):
    for name, text in CORE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([line.strip() for line in text.splitlines()]) + "\n" if "toml" in name else text)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return Figures(tmp_path)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_counted(figures, name):
    assert getattr(figures, name)() == EXPECTED[name]


def test_every_figure_has_a_line(figures, capsys):
    main(figures.root)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(EXPECTED) + 1
    assert any(line.split(maxsplit=1)[1] == "import cycles, as Python executes the modules" for line in lines)


# --- words that went, and the check that finds them -----------------------------------------------------------------


def test_tracked_text_has_none():
    assert words.problems() == []


@pytest.mark.parametrize(
    "line",
    [
        "An array that lies on two devices.",
        "Nobody uses it.",
        "def test_what_an_array_tells():",
        "class LaidType:",
        "told_axes = 1",
        "_settled = set()",
        "if aval.finer is None:",
        "The setting says which.",
        "_said = {}",
    ],
)
def test_words_are_found_in_prose_and_in_identifiers(line):
    ((_, instead),) = words.found_in(line)
    assert instead


@pytest.mark.parametrize("line", ["families", "intelligence", "a replied call", "the layout", "a bodyguard", "nobodyx"])
def test_parts_of_other_words_are_none(line):
    assert list(words.found_in(line)) == []


def test_tests_and_tools_may_use_some_of_them():
    assert list(words.found_in("what the page says", internal=True)) == []
    assert len(list(words.found_in("nobody said so", internal=True))) == 1


@pytest.mark.parametrize(
    "line", ["less_said(x)", "stands_for(x)", "can_stand_for_array", "class SpreadArray:", "place.spread is None"]
)
def test_identifiers_are_found(line):
    assert len(list(words.names_in(line))) == 1


def test_plain_english_is_not_refused():
    assert list(words.names_in("NaN spread to the result; x stands for a number")) == []


def test_files_are_searched(tmp_path, capsys, monkeypatch):
    files = {
        "plugins/one/one.py": "x = 1\ny = settled(x)\n",
        "docs/page.md": "An old name is `stands_for`.\n",
        "docs/second.md": "As the setting says.\n",
        "tests/one.py": "# as the setting says\n",
        "docs/extension-api.md": "An old name is `stands_for`.\n",
        "CHANGELOG.md": "Nobody tells.\n",
        "picture.png": b"\x89PNG\xff told",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    found = words.problems(tmp_path)
    assert [line.partition(";")[0] for line in found] == [
        "docs/page.md:1: 'stands_for'",
        "docs/second.md:1: 'says'",
        "plugins/one/one.py:2: 'settled'",
    ]
    monkeypatch.setattr(words, "problems", lambda: found)
    assert words.main() == 1 and capsys.readouterr().err.splitlines() == found
