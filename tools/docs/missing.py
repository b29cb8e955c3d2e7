"""The names of JAX that are missing here, with the reason for each: the table in `docs/coming-from-jax.md`.

    python -m tools.docs.missing            write it into the page
    python -m tools.docs.missing --check    exit 1 if the page has another

The reasons are in `docs/missing-from-jax.toml`, for this table and for the test that compares them with JAX.
"""

from __future__ import annotations

import re
import sys
import tomllib

from tools.workspace import ROOT

PAGE = ROOT / "docs" / "coming-from-jax.md"
DATA = ROOT / "docs" / "missing-from-jax.toml"
_MARKED = re.compile(r"(<!-- missing -->\n).*?(\n<!-- /missing -->)", re.DOTALL)


def reasons() -> dict[str, dict[str, str]]:
    """For each public module, a reason for each pattern of names."""
    return tomllib.loads(DATA.read_text())


def table() -> str:
    """A row for each pattern."""
    rows = ["| in JAX | why it is not here |", "|---|---|"]
    for module, patterns in reasons().items():
        rows += [f"| `jax.{module}.{pattern}` | {reason} |" for pattern, reason in patterns.items()]
    return "\n".join(rows)


def with_table(text: str) -> str:
    """Return the text of the page with what stands between its marks replaced by the table."""
    if not _MARKED.search(text):
        raise LookupError(f"{PAGE.name} has no marks <!-- missing --> and <!-- /missing -->")
    return _MARKED.sub(lambda match: f"{match[1]}\n{table()}\n{match[2]}", text)


def main(arguments: list[str] | None = None) -> int:
    """Write the table, or with `--check` compare it. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    text = PAGE.read_text()
    wanted = with_table(text)
    if text == wanted:
        return 0
    if arguments == ["--check"]:
        print("docs/coming-from-jax.md differs: run python -m tools.docs.missing", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
