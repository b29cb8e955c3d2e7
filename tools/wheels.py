"""The metadata of built wheels. `python -m tools.wheels dist` prints a table, and fails if something is missing.

`tools/metadata.py` says what is put in; this looks at what has come out.
"""

from __future__ import annotations

import re
import sys
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from tools import metadata

FIELDS = ("Summary", "License-Expression", "Requires-Python", "Keywords", "Description-Content-Type")
KINDS = {"Development Status", "Intended Audience", "Operating System", "Programming Language", "Topic", "Typing"}
# With the texts of the license and the notice; all others require it.
HAS_LICENSE = ("tangrad", "tangrad-core")
LEADS_NOWHERE = re.compile(r"\]\((?!https?:|#)[^)]*\)|<img src=\"(?!https?:)")
LONGEST = 40  # lines of a README, examples among them; the umbrella's is the repository's


def read(wheel: Path) -> tuple[Message, list[str]]:
    """Return the metadata of a wheel, and the names of its files."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        path = next(name for name in names if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(archive.read(path)), names


def problems(wheel: Path) -> list[str]:
    """Return what a wheel lacks."""
    message, files = read(wheel)
    name, text = message["Name"], str(message.get_payload())
    found = [f"no {field}" for field in FIELDS if not message[field]]
    found += [f"no classifier {kind}" for kind in sorted(KINDS - _kinds(message))]
    if bool(message["Project-URL"]) != bool(metadata.home()):
        found.append("Project-URL" + (" is missing" if metadata.home() else " without a home"))
    if name in HAS_LICENSE and not any("licenses/LICENSE" in file for file in files):
        found.append("no LICENSE")
    if LEADS_NOWHERE.search(text):
        found.append("a link of the README that leads nowhere outside of the repository")
    if name != "tangrad" and (len(text.splitlines()) > LONGEST or ">>> " not in text):
        found.append(f"a README of more than {LONGEST} lines, or without an example")
    return found


def table(wheels: list[Path]) -> str:
    """Return a row for each wheel."""
    rows = ["| wheel | kB | python | license | keywords | classifiers | README, lines | lacks |", "|" + "---|" * 8]
    for wheel in wheels:
        message, _ = read(wheel)
        columns = [
            f"{message['Name']} {message['Version']}",
            f"{wheel.stat().st_size / 1000:.0f}",
            message["Requires-Python"],
            message["License-Expression"],
            (message["Keywords"] or "").replace(",", ", "),
            ", ".join(sorted(_kinds(message))),
            str(len(str(message.get_payload()).splitlines())),
            "; ".join(problems(wheel)),
        ]
        rows.append("| " + " | ".join(map(str, columns)) + " |")
    return "\n".join(rows)


def _kinds(message: Message) -> set[str]:
    return {line.split(" :: ")[0] for line in message.get_all("Classifier", [])}


def main(arguments: list[str]) -> int:
    """Print the table of a folder's wheels; the exit status is 1 if one lacks something."""
    wheels = sorted(Path(arguments[0]).glob("tangrad*.whl"))
    print(table(wheels))
    return 1 if not wheels or any(map(problems, wheels)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
