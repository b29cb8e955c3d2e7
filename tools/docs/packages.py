"""The table of the packages in `contrib/`, in `docs/contrib/index.md`: what each says of itself, and how long it is.

Lines are those of code and documentation, without blank and comment lines, rounded: few changes of code change the
table. Tests, and programs beside the package, are not counted.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from tools.contrib import packages
from tools.docs.rooms import code_lines, rounded

OTHER_LANGUAGES = {".cc": "C++"}


def table() -> str:
    """A row for each package."""
    rows = ["| package | what it is | lines of Python |", "|---|---|---:|"]
    for name, folder in packages().items():
        summary = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["description"]
        rows.append(f"| [`contrib/{name}`]({name}.md) | {summary.rstrip('.')} | {_length(folder / 'src')} |")
    return "\n".join(rows)


def _length(source: Path) -> str:
    parts = [f"{rounded(sum(map(code_lines, source.rglob('*.py')))):,}"]
    for suffix, language in OTHER_LANGUAGES.items():
        found = [line for path in source.rglob(f"*{suffix}") for line in path.read_text().splitlines()]
        if found:
            parts.append(f"{rounded(len([line for line in found if line.strip()]))} of {language}")
    return ", and ".join(parts)
