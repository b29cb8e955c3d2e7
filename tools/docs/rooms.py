"""The tables of the kernel's rooms in `docs/kernel.md`: each module, how long it is, and what it says of itself.

    python -m tools.docs.rooms            write them into the page
    python -m tools.docs.rooms --check    exit 1 if a module is missing there, or a length is far off

Lines are those of code and documentation, without blank and comment lines, rounded. A page need not change with every
line of code: the check asks that it names the modules that there are, and that its numbers are nearly right.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from tools.workspace import ROOT

PAGE = ROOT / "docs" / "kernel.md"
KERNEL = ROOT / "core" / "tangrad" / "_core"
ROOMS = ("kernel", "composition", "dtypes", "diagnostics", "settings", "tree")
# What a newcomer reads first; the other modules follow by name.
FIRST = {
    "kernel": ("aval", "array", "keys", "primitive", "trace", "jaxpr", "staging", "declarations", "rules"),
    "composition": ("record", "discovery", "plugin", "policy", "registry"),
    "diagnostics": ("errors", "source_info"),
    "settings": ("config",),
    "dtypes": ("objects", "lattice", "promotion"),
    "tree": ("registration", "definition", "operations"),
}
ROW = re.compile(r"^\| `(?P<module>\w+)` \| (?P<lines>\d+) \|", re.MULTILINE)


def code_lines(path: Path) -> int:
    """Return the number of lines of a file that are neither blank nor comments."""
    lines = [line.strip() for line in path.read_text().splitlines()]
    return sum(1 for line in lines if line and not line.startswith("#"))


def modules(room: str) -> dict[str, Path]:
    """Return the modules of a room that have something to read, in reading order."""
    found = {path.stem: path for path in sorted((KERNEL / room).glob("*.py")) if path.stem != "__init__"}
    known = [name for name in FIRST[room] if name in found]
    return {name: found[name] for name in (*known, *[name for name in found if name not in known])}


def rounded(lines: int) -> int:
    """Return a length as the page states it."""
    return max(10, round(lines / 10) * 10)


def table(room: str) -> str:
    """Return the table of a room: its modules in reading order, and all of it."""
    rows = ["| module | lines | what it is |", "|---|---|---|"]
    total = code_lines(KERNEL / room / "__init__.py")
    for name, path in modules(room).items():
        total += code_lines(path)
        rows.append(f"| `{name}` | {rounded(code_lines(path))} | {_summary(path)} |")
    return "\n".join([*rows, f"| all of `tangrad._core.{room}` | {round(total / 100) * 100} | |"])


def _summary(path: Path) -> str:
    text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0].split())
    first = re.match(r"((?:`[^`]*`|[^`])*?\.)(\s|$)", text)
    return (first[1] if first else text).rstrip(".:").replace("|", "&#124;")


def with_tables(text: str) -> str:
    """Return the text of the page with the tables as the code has them now."""
    for room in ROOMS:
        between = re.compile(rf"(<!-- room {room} -->\n)(?:.*?\n)?(<!-- /room {room} -->)", re.DOTALL)
        found = between.search(text)
        if found is None:
            raise LookupError(f"{PAGE.name} has no marks <!-- room {room} --> and <!-- /room {room} -->")
        text = f"{text[: found.start()]}{found[1]}\n{table(room)}\n\n{found[2]}{text[found.end() :]}"
    return text


def problems(text: str) -> list[str]:
    """Return what the page says of modules that is not so."""
    found = []
    for room in ROOMS:
        part = re.search(rf"<!-- room {room} -->\n(.*?)<!-- /room {room} -->", text, re.DOTALL)
        stated = {row["module"]: int(row["lines"]) for row in ROW.finditer(part[1] if part else "")}
        actual = {name: code_lines(path) for name, path in modules(room).items()}
        found += [f"tangrad._core.{room}.{name} is not in the page" for name in actual if name not in stated]
        found += [f"tangrad._core.{room}.{name} is in the page only" for name in stated if name not in actual]
        for name, lines in stated.items():
            if name in actual and abs(actual[name] - lines) > max(25, lines // 5):
                found.append(f"tangrad._core.{room}.{name} has {actual[name]} lines, not {lines}")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, or with `--check` say what is wrong with them. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    text = PAGE.read_text()
    if arguments == ["--check"]:
        wrong = problems(text)
        print("\n".join([*wrong, *(["run python -m tools.docs.rooms"] if wrong else [])]), end="", file=sys.stderr)
        return 1 if wrong else 0
    PAGE.write_text(with_tables(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
