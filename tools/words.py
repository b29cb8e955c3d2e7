"""Words of a private language that went, and what to write instead of each.

    python -m tools.words        (part of `make lint`)

Refuses them in all tracked text: code, tests, documentation and tools, in prose and as parts of identifiers
(`SpreadArray`, `is_told`); some of them, which tests and tools may use, in the rest. The words that are ours to use
are in `docs/glossary.md`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.workspace import ROOT

# Word -> what to write instead.
WENT = {
    "lie": "be (in, on, within); of arrays on devices: be sharded, be placed",
    "lies": "is (in, on, within); of arrays on devices: is sharded as, is on",
    "lying": "stored, placed, sharded",
    "laid": "stored, placed, sharded, padded",
    "tell": "return, report, notify; tell apart: distinguish",
    "tells": "returns, reports, notifies; tells apart: distinguishes",
    "told": "notified, given, passed; told apart: distinguished",
    "untold": "missing, not in the type",
    "telling": "that has, that records",
    "nobody": "the passive (unused, not mapped, no distribution ships it), no, none",
    "somebody": "a user, a caller, another package, the passive",
    "anybody": "any user, any distribution",
    "everybody": "all, every process",
    "whoever": "the caller, code that, the one that",
    "settle": "resolve (conflicts), decide, fix",
    "settles": "resolves, decides, fixes",
    "settled": "resolved, decided, converged",
    "settling": "resolving",
    "unsettled": "open",
    "finer": "refined (of types), smaller",
}
# The same, of all that is tracked but tests and tools.
WENT_FROM_PRODUCT = {
    "says": "is, has, gives, names, states, determines, reports, means",
    "said": "called, declared, given, stated, reported; often the sentence can be shorter",
}
INTERNAL = ("tests/", "tools/", ".ci/")
# Pattern of an identifier -> what to write instead.
IDENTIFIERS = {
    r"\bless_said\b": "with_plain_type",
    r"\b(?:can_)?stands?_for(?:_array)?\b": "represented_array, can_represent_array",
    r"\bSpread[A-Z]\w*": "Sharded...",
    r"\.spread\b": ".user_sharding; spread is no second word for sharding",
}
# What is history, or about these words, by the end of its path; and old names that still work, where they are listed.
EXEMPT = ("CHANGELOG.md", "LICENSE", "tools/words.py", "tests/install/test_house.py")
STILL_WORK = re.compile(r"\btold_axes\b")  # names of doors that give the new one with a warning
OLD_NAMES = ("composition/policy.py", "docs/extension-api.md", "changes/+names.changed.md")

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMES = [(re.compile(pattern), instead) for pattern, instead in IDENTIFIERS.items()]


def found_in(line: str, *, internal: bool = False) -> Iterator[tuple[str, str]]:
    """Each word of a line that went, as it is written, with what to write instead. `internal`: of a test or a tool."""
    for part in _PARTS.findall(line):
        word = part.lower()
        if word in WENT:
            yield part, WENT[word]
        elif word in WENT_FROM_PRODUCT and not internal:
            yield part, WENT_FROM_PRODUCT[word]


def names_in(line: str) -> Iterator[tuple[str, str]]:
    """Each identifier of a line that went, with what to write instead."""
    for pattern, instead in _NAMES:
        for match in pattern.finditer(line):
            yield match[0], instead


def problems(root: Path = ROOT) -> list[str]:
    """A line for each use of a word that went: where it is, the word, and what to write instead."""
    found = []
    for name in _tracked(root):
        for number, line in enumerate(_text(root / name).splitlines(), 1):
            words = found_in(STILL_WORK.sub("", line), internal=name.startswith(INTERNAL))
            uses = [*words, *(() if name.endswith(OLD_NAMES) else names_in(line))]
            found += [f"{name}:{number}: {word!r}; write: {instead}" for word, instead in uses]
    return found


def _tracked(root: Path) -> list[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout
    return [name for name in dict.fromkeys(listed.splitlines()) if not name.endswith(EXEMPT)]


def _text(path: Path) -> str:
    """The text of a file; empty for what is none (pictures, data), and for links that lead nowhere."""
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, FileNotFoundError):
        return ""


def main() -> int:
    """Print what is wrong, and return the exit status."""
    found = problems()
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
