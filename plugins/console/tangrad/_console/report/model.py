"""A report: tables of short texts for people, and the same facts as data for programs."""

from __future__ import annotations

from typing import Any, NamedTuple

# How a cell is meant. The page gives each a look of its own, in colour and without; text has the words alone.
PLAIN, GOOD, MADE, QUIET, WARNING, BAD = "plain", "good", "made", "quiet", "warning", "bad"
LINE = "line"  # for a shell: as text it has a line to itself and is never broken


class Entry(NamedTuple):
    """One cell of a table.

    Attributes:
        text: what the cell says.
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
        verdict: the one line that says whether all is well; None where nothing is judged.
    """

    title: str
    lines: list[str]
    tables: list[Table]
    data: dict[str, Any]
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
