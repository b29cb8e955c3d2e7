"""A report: tables of short texts for people, and the same facts as data for programs; and cures.

A cure is a line for a shell that mends a problem when it is pasted there.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from tangrad._console.report.requirements import normal_name

# How a cell is meant. The page gives each a look of its own, in colour and without; text has the words alone.
PLAIN, GOOD, MADE, QUIET, WARNING, BAD = "plain", "good", "made", "quiet", "warning", "bad"
LINE = "line"  # for a shell: as text it has a line to itself and is never broken


class Entry(NamedTuple):
    """One cell of a table.

    Attributes:
        text: the words in the cell.
        tone: how it is meant.
        explanation: what the page shows in addition when the pointer rests on the cell; lines are kept.
        signs: the signs of the report's keys that the cell belongs to: the page filters by them.
    """

    text: str
    tone: str = PLAIN
    explanation: str = ""
    signs: tuple[str, ...] = ()


class Sign(NamedTuple):
    """A short sign that cells bear, how they look, what it means, and how many cells bear it (None: not counted)."""

    text: str
    meaning: str
    tone: str = PLAIN
    number: int | None = None


class Key(NamedTuple):
    """What signs mean: the legend."""

    title: str
    signs: list[Sign]


class Table(NamedTuple):
    """A table with one heading per column.

    In a `matrix` all columns but the first hold signs. One that is `long` has sentences in its cells: as text it is a
    list.
    """

    title: str
    columns: list[str]
    rows: list[list[Entry]]
    matrix: bool = False
    long: bool = False


class Problem(NamedTuple):
    """What is wrong, and what to do about it.

    Attributes:
        what: what is wrong.
        cure: what to do, in words.
        paste: a line for a shell that does it, or does without what is wrong; empty where no line can.
    """

    what: str
    cure: str
    paste: str = ""


class Report(NamedTuple):
    """A whole report.

    Attributes:
        title, lines, tables: what people read.
        data: what programs read.
        succeeded: decides the exit status of a command that checks something.
        keys: what the signs in the tables mean.
        verdict: the one line on whether all is well; None where nothing is judged.
    """

    title: str
    lines: list[str]
    tables: list[Table]
    data: dict[str, object]
    succeeded: bool = True
    keys: list[Key] = []  # never added to
    verdict: str | None = None


def one_line(text: object, limit: int = 4000) -> str:
    """Return a text without line breaks, cut at `limit` characters."""
    joined = " ".join(str(text).split())
    return joined if len(joined) <= limit else joined[: limit - 3] + "..."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 problem`, `2 problems`.

    >>> counted(2, "problem")
    '2 problems'
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def install(*requirements: str) -> str:
    """Install what is missing or too old."""
    return f"pip install {' '.join(map(shlex.quote, requirements))}"


def deny(pattern: str) -> str:
    """Go without a distribution, plugin or rule, beside whatever is denied already."""
    return _added("TANGRAD_DENY", pattern)


def prefer(cell: str, distribution: str) -> str:
    """Resolve a conflict, beside whatever is preferred already."""
    return _added("TANGRAD_PREFER", f"{cell}={distribution}")


def _added(variable: str, text: str) -> str:
    return f'export {variable}="${{{variable}:+${variable},}}"{shlex.quote(text)}'


def leave_out(variable: str, item: str) -> str:
    """Take one of its items out of a variable that is a list with commas; empty where it is not in there."""
    for written in os.environ.get(variable, "").split(","):
        if _normal(written) == _normal(item):
            others = f"tr , '\\n' | grep -vxF {shlex.quote(written)} | paste -sd, -"
            return f'export {variable}="$(echo "${variable}" | {others})"'
    return ""


def _normal(pattern: str) -> str:
    """A pattern as policies compare it, however it is written."""
    return normal_name(pattern.strip().replace(":tangrad.", ":"))


def assign(variable: str, value: str) -> str:
    """Set a variable for this shell and what it starts."""
    return f"export {variable}={shlex.quote(value)}"


def unset(variable: str) -> str:
    """Take a variable away."""
    return f"unset {variable}"


def off_path(folder: str) -> str:
    """Take a folder off PYTHONPATH; empty where it is not on it."""
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [one for one in path if os.path.abspath(one) != folder]
    return assign("PYTHONPATH", os.pathsep.join(rest)) if len(rest) < len(path) else ""


def delete_files(files: Iterable[str]) -> str:
    """Delete these files, and nothing beside them."""
    return f"rm -f {' '.join(map(shlex.quote, files))}"


def delete_matching(folder: str, pattern: str) -> str:
    """Delete the files of a folder whose names match a pattern of the shell's."""
    return f"rm -f {shlex.quote(folder)}/{pattern}"


def delete(folder: str) -> str:
    """Delete a folder, and all that is in it."""
    return f"rm -r {shlex.quote(folder)}"
