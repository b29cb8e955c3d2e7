"""Words that went stay away, and the check would find them."""

import subprocess

import pytest

from tools import words


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
    ],
)
def test_words_are_found_in_prose_and_in_identifiers(line):
    ((_, instead),) = words.found_in(line)
    assert instead


@pytest.mark.parametrize("line", ["families", "intelligence", "a replied call", "the layout", "a bodyguard", "nobodyx"])
def test_parts_of_other_words_are_none(line):
    assert list(words.found_in(line)) == []


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
        "plugins/one/one.py:2: 'settled'",
    ]
    monkeypatch.setattr(words, "problems", lambda: found)
    assert words.main() == 1 and capsys.readouterr().err.splitlines() == found
