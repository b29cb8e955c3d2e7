"""The tables of settings and environment variables in `docs/debugging.md`, as the code has them.

    python -m tools.docs.tables            write them into the page
    python -m tools.docs.tables --check    exit 1 if the page has others

They stand in the page itself, between marks, so that they can be read where nothing is built.
"""

from __future__ import annotations

import re
import sys

from tangrad.composition.catalogue_data import PUBLIC_NAMES
from tangrad.console.report.surroundings import _OTHER_VARIABLES
from tangrad.settings.table import usable_settings
from tools.workspace import ROOT

PAGE = ROOT / "docs" / "debugging.md"
# Public context managers that bear another name than their setting.
ALSO = {"backend": "use_backend", "check_tracer_leaks": "checking_leaks"}


def settings_table() -> str:
    """A row for each setting: its name, its default, its context manager if there is one, what it does."""
    public = set(" ".join(PUBLIC_NAMES.values()).split())
    rows = ["| setting | default | for a block | what it does |", "|---|---|---|---|"]
    for name, setting in usable_settings().items():
        manager = ALSO.get(name, name)
        block = f"`tangrad.{manager}(...)`" if manager in public else ""
        rows.append(f"| `{name}` | `{setting.default!r}` | {block} | {setting.doc} |")
    return "\n".join(rows)


def variables_table() -> str:
    """A row for each environment variable that is not a setting's."""
    rows = ["| variable | what it does |", "|---|---|"]
    rows += [f"| `{name}` | {meaning} |" for name, meaning in _OTHER_VARIABLES.items()]
    return "\n".join(rows)


def with_tables(text: str) -> str:
    """Return the text of the page with what stands between its marks replaced by the tables."""
    for mark, table in (("settings", settings_table()), ("variables", variables_table())):
        between = re.compile(rf"(<!-- {mark} -->\n).*?(\n<!-- /{mark} -->)", re.DOTALL)
        if not between.search(text):
            raise LookupError(f"{PAGE.name} has no marks <!-- {mark} --> and <!-- /{mark} -->")
        text = between.sub(lambda match, table=table: f"{match[1]}\n{table}\n{match[2]}", text)  # type: ignore[misc]
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, or with `--check` compare them. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    text = PAGE.read_text()
    wanted = with_tables(text)
    if text == wanted:
        return 0
    if arguments == ["--check"]:
        print("docs/debugging.md differs: run python -m tools.docs.tables", file=sys.stderr)
        return 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
