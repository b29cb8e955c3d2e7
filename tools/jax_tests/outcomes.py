"""How JAX's tests went, and why some need not pass: `known.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tools.workspace import ROOT

KNOWN = ROOT / "tools" / "jax_tests" / "known.toml"
# How a test goes, and the heading of its column.
KINDS = {
    "passed": "passed",
    "differs": "differ",
    "accepted": "work where JAX raises",
    "words": "other words in errors",
    "missing": "ask for a public name that is missing",
    "private": "ask for private names",
    "skipped": "skipped",
}
FAILED = ("differs", "accepted", "words", "missing")


@dataclass(frozen=True)
class Outcome:
    """How one test went, and what it said."""

    test: str
    kind: str
    text: str


@dataclass(frozen=True)
class Reason:
    """Why some tests need not pass: those of these names (patterns), kinds of failure and messages (an expression)."""

    what: str
    why: str
    tests: tuple[str, ...]
    kinds: tuple[str, ...]
    message: str

    def covers(self, outcome: Outcome) -> bool:
        """Whether it is the reason of a failure."""
        named = any(fnmatchcase(outcome.test, pattern) for pattern in self.tests)
        return named and outcome.kind in self.kinds and re.search(self.message, outcome.text) is not None


def known() -> tuple[list[str], list[Reason]]:
    """The files that are run by default, and the reasons why some of their tests need not pass, the first one first."""
    table = tomllib.loads(KNOWN.read_text(encoding="utf-8"))
    return table["files"], [
        Reason(
            row["what"],
            row["why"],
            tuple(row.get("tests", ["*"])),
            tuple(row.get("kinds", FAILED)),
            row.get("message", ""),
        )
        for row in table["reason"]
    ]


def reason_of(outcome: Outcome, reasons: Sequence[Reason]) -> Reason | None:
    """The first reason of a failure that is known."""
    return next((reason for reason in reasons if reason.covers(outcome)), None)


def as_table(files: dict[str, list[Outcome]]) -> str:
    """The counts by file, in Markdown."""
    lines = [f"| file | {' | '.join(KINDS.values())} |", f"|---|{'---|' * len(KINDS)}"]
    for name, outcomes in files.items():
        kinds = [outcome.kind for outcome in outcomes]
        lines.append(f"| {name} | {' | '.join(str(kinds.count(kind)) for kind in KINDS)} |")
    return "\n".join(lines)


def failures(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Those that failed."""
    return [each for each in outcomes if each.kind in FAILED]


def as_list(files: dict[str, list[Outcome]], reasons: Sequence[Reason]) -> str:
    """Each test that failed, what it said, and the reason that is known."""
    lines = []
    for outcome in (each for outcomes in files.values() for each in failures(outcomes)):
        reason = reason_of(outcome, reasons)
        known = "no reason is known" if reason is None else reason.what
        lines.append(f"- `{outcome.test}` ({outcome.kind}; {known}): {outcome.text}")
    return "\n".join(lines)


def unexpected(outcomes: Iterable[Outcome], reasons: Sequence[Reason]) -> list[Outcome]:
    """The failures without a reason."""
    return [each for each in failures(outcomes) if reason_of(each, reasons) is None]


def reasons_table() -> str:
    """A row for each reason why tests do not pass, for the documentation."""
    lines = ["| what does not pass | why |", "|---|---|"]
    lines += [f"| {reason.what} | {reason.why} |" for reason in known()[1]]
    return "\n".join(lines)
