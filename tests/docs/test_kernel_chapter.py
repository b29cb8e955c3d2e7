"""The chapter on the kernel: it names every module of every room, and its numbers are nearly right."""

import re

import pytest

from tools.docs import rooms


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
