"""The tables in the text, as the code has them: settings and variables in `docs/debugging.md`; what is missing of JAX,
what differs call by call, and its names of settings in `docs/coming-from-jax.md`; what does not pass of the public
suite of the array API in `docs/array-api.md`; packages in `docs/contrib/index.md`; kinds of rules in
`docs/plugin-guide.md`; distributions in `docs/distributions.md`.

    python -m tools.docs.tables            write them into the page
    python -m tools.docs.tables --check    exit 1 if the page has others

They stand in the page itself, between marks, so that they can be read where nothing is built.
"""

from __future__ import annotations

import re
import sys

from tangrad._compat.setting_names import NAMES, Alias, Fixed
from tangrad._console.explanations.catalogue_data import PUBLIC_NAMES
from tangrad._console.report.surroundings import _OTHER_VARIABLES
from tangrad._core.kernel.all_settings import usable_settings
from tools import array_api, metadata
from tools.docs import differences, extension, missing, packages
from tools.workspace import ROOT

NAMES_OF_PAGES = (
    "debugging.md",
    "coming-from-jax.md",
    "array-api.md",
    "contrib/index.md",
    "plugin-guide.md",
    "distributions.md",
)
PAGES = tuple([ROOT / "docs" / page for page in NAMES_OF_PAGES])
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


def jax_settings_table() -> str:
    """A row for each of JAX's names of settings: what it is here."""
    rows = ["| in JAX | here |", "|---|---|"]
    for name, known in NAMES.items():
        if isinstance(known, Alias):
            here = f"`{known.setting}`"
        elif isinstance(known, Fixed):
            here = f"always `{known.value!r}`: {known.reason}"
        else:
            here = f"changes nothing: {known.reason}"
        rows.append(f"| `{name}` | {here} |")
    return "\n".join(rows)


TABLES = {
    "settings": settings_table,
    "variables": variables_table,
    "jax settings": jax_settings_table,
    "differences": differences.table,
    "missing": missing.table,
    "newer": missing.newer_table,
    "array api": array_api.reasons_table,
    "packages": packages.table,
    "rule kinds": extension.kinds_table,
    "distributions": metadata.parts_table,
}
MARKED = re.compile(r"(?P<begin><!-- (?P<mark>[a-z ]+) -->\n).*?(?P<end>\n<!-- /(?P=mark) -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """Return the text of a page with what stands between its marks replaced by the tables.

    Raises LookupError for a page without marks, and for a mark that names no table.
    """

    def filled(match: re.Match[str]) -> str:
        if match["mark"] not in TABLES:
            raise LookupError(f"there is no table {match['mark']!r}; the tables are {', '.join(TABLES)}")
        return f"{match['begin']}\n{TABLES[match['mark']]()}\n{match['end']}"

    text, count = MARKED.subn(filled, text)
    if not count:
        raise LookupError(f"a page has no marks, such as <!-- settings --> and <!-- /settings -->: {text[:60]!r}")
    return text


def main(arguments: list[str] | None = None) -> int:
    """Write the tables, or with `--check` compare them. Returns the exit status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    status = 0
    for page in PAGES:
        text = page.read_text()
        wanted = with_tables(text)
        if text == wanted:
            continue
        if arguments == ["--check"]:
            print(f"docs/{page.name} differs: run python -m tools.docs.tables", file=sys.stderr)
            status = 1
        else:
            page.write_text(wanted)
    return status


if __name__ == "__main__":
    sys.exit(main())
