"""The names of JAX that are missing here, with the reason for each: a table of `docs/coming-from-jax.md`.

The reasons are in `missing.toml`, and in `newer.toml` for what JAX has added since the first release that is compared.
They serve these tables and the test that compares them with JAX.
"""

from __future__ import annotations

import tomllib

from tools.workspace import ROOT

FOLDER = ROOT / "tools" / "docs"


def reasons(file: str = "missing.toml") -> dict[str, dict[str, str]]:
    """For each public module, a reason for each pattern of names."""
    return tomllib.loads((FOLDER / file).read_text())


def table(file: str = "missing.toml") -> str:
    """A row for each pattern."""
    rows = ["| in JAX | why it is not here |", "|---|---|"]
    for module, patterns in reasons(file).items():
        place = "jax" if module == "jax" else f"jax.{module}"
        rows += [f"| `{place}.{pattern}` | {reason} |" for pattern, reason in patterns.items()]
    return "\n".join(rows)


def newer_table() -> str:
    """The same of what newer releases of JAX have added."""
    return table("newer.toml")
