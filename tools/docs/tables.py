"""The tables in the text, as the code has them: settings and variables in `docs/debugging.md`; what is missing of JAX,
what differs call by call, and its names of settings in `docs/coming-from-jax.md`; what does not pass of the public
suite of the array API in `docs/array-api.md`, and of JAX's own tests in `docs/jax-tests.md`; packages in
`docs/contrib/index.md`; kinds of rules in `docs/plugin-guide.md`; distributions in `docs/distributions.md`.

    python -m tools.docs.tables            write them into the page
    python -m tools.docs.tables --check    exit 1 if the page has others

They stand in the page itself, between marks, so that they can be read where nothing is built.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from tangrad._compat.settings import NAMES, Alias, Fixed
from tangrad._console.explanations.catalogue import PUBLIC_NAMES
from tangrad._console.report.surroundings import _OTHER_VARIABLES
from tangrad._core.kernel.all_settings import usable_settings
from tools import array_api, metadata
from tools import packages as packages_tool
from tools.contrib import packages
from tools.docs import extension
from tools.docs.rooms import code_lines, rounded
from tools.jax_tests import outcomes as jax_tests
from tools.workspace import ROOT

FOLDER = ROOT / "tools" / "docs"

# --- Names of JAX that are missing here ---


def reasons(newer: bool = False) -> dict[str, dict[str, str]]:
    """For each public module, a reason for each pattern of names; or for what JAX has added since the first release.

    The first release is the one that is compared. They serve the tables, and the test that compares them with JAX.
    """
    found: dict[str, Any] = tomllib.loads((FOLDER / "missing.toml").read_text())
    later: dict[str, dict[str, str]] = found.pop("newer")
    return later if newer else found


def missing_table(newer: bool = False) -> str:
    """A row for each pattern."""
    rows = ["| in JAX | why it is not here |", "|---|---|"]
    for module, patterns in reasons(newer).items():
        place = "jax" if module == "jax" else f"jax.{module}"
        rows += [f"| `{place}.{pattern}` | {reason} |" for pattern, reason in patterns.items()]
    return "\n".join(rows)


def newer_table() -> str:
    """The same of what newer releases of JAX have added."""
    return missing_table(newer=True)


# --- Calls that JAX accepts and Tangrad does not ---
# Each entry has a reason and the calls that it is about, as "name(argument)". Which there are is found out by
# `tests/differential/test_signatures.py`; how arguments are written there says `tests/differential/signatures.py`.


DIFFERENCES = FOLDER / "differences.toml"


def entries() -> list[dict[str, Any]]:
    """The entries, in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(DIFFERENCES.read_text())["difference"]
    return found


def stated() -> dict[str, str]:
    """Call -> the reason why it is not accepted."""
    return {call: entry["reason"] for entry in entries() for call in entry["calls"]}


def differences_table() -> str:
    """A row for each reason, with its calls."""
    rows = ["| what JAX accepts | here |", "|---|---|"]
    for entry in entries():
        calls = ", ".join([f"`{call}`" for call in entry["calls"]])
        rows.append(f"| {calls} | {entry['reason']} |")
    return "\n".join(rows)


# --- The packages in `contrib/` ---
# Lines are those of code and documentation, without blank and comment lines, rounded: few changes of code change the
# table. Tests, and programs beside the package, are not counted.


OTHER_LANGUAGES = {".cc": "C++"}


def packages_table() -> str:
    """A row for each package."""
    rows = ["| package | what it is | lines of Python |", "|---|---|---:|"]
    for name, folder in packages().items():
        summary = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["description"]
        page = f"../../contrib/{name}/README.md"
        rows.append(f"| [`contrib/{name}`]({page}) | {summary.rstrip('.')} | {_length(folder / 'src')} |")
    return "\n".join(rows)


def _length(source: Path) -> str:
    parts = [f"{rounded(sum(map(code_lines, source.rglob('*.py')))):,}"]
    for suffix, language in OTHER_LANGUAGES.items():
        found = [line for path in source.rglob(f"*{suffix}") for line in path.read_text().splitlines()]
        if found:
            parts.append(f"{rounded(len([line for line in found if line.strip()]))} of {language}")
    return ", and ".join(parts)


# --- The pages that have them ---

NAMES_OF_PAGES = (
    "debugging.md",
    "coming-from-jax.md",
    "array-api.md",
    "jax-tests.md",
    "contrib/index.md",
    "users-packages.md",
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
    "differences": differences_table,
    "missing": missing_table,
    "newer": newer_table,
    "array api": array_api.reasons_table,
    "jax tests": jax_tests.reasons_table,
    "packages": packages_table,
    "suites": packages_tool.results_table,
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
