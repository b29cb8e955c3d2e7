"""Finds the examples in Markdown files: fenced blocks of Python.

Three kinds of block, distinguished by how they begin:
- `>>> ...`: a session; its output is compared (`...` matches anything, runs of blanks are equal);
- `# some/path.py`: the contents of a file that the text asks the reader to write; the guide's own test writes it;
- anything else: a program, run as it stands.
The blocks of one page share their names, in the order of the page: a reader types them one after the other.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# (?P<path>[\w./-]+\.(py|toml))\n")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text, and where it stands."""

    language: str
    text: str
    line: int

    @property
    def is_session(self) -> bool:
        return self.language == "python" and self.text.lstrip().startswith(">>>")

    @property
    def file(self) -> str | None:
        """The path of the file whose contents this is, or None."""
        found = FILE.match(self.text)
        return found["path"] if found else None

    @property
    def is_program(self) -> bool:
        return self.language == "python" and not self.is_session and self.file is None


def blocks(page: Path) -> list[Block]:
    """Return every fenced block of a Markdown page, in order."""
    return blocks_of(page.read_text())


def blocks_of(text: str) -> list[Block]:
    """Return every fenced block of Markdown, in order."""
    found = []
    for match in FENCE.finditer(text):
        indent = len(match["indent"])
        body = "".join(line[indent:] if line.strip() else line for line in match["body"].splitlines(keepends=True))
        found.append(Block(match["language"], body, text.count("\n", 0, match.start()) + 1))
    return found
