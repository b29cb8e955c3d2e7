"""The names of JAX that are missing here, with the reason for each: a table of `docs/coming-from-jax.md`.

The reasons are in `missing.toml`, for this table and for the test that compares them with JAX.
"""

from __future__ import annotations

import tomllib

from tools.workspace import ROOT

DATA = ROOT / "tools" / "docs" / "missing.toml"


def reasons() -> dict[str, dict[str, str]]:
    """For each public module, a reason for each pattern of names."""
    return tomllib.loads(DATA.read_text())


def table() -> str:
    """A row for each pattern."""
    rows = ["| in JAX | why it is not here |", "|---|---|"]
    for module, patterns in reasons().items():
        place = "jax" if module == "jax" else f"jax.{module}"
        rows += [f"| `{place}.{pattern}` | {reason} |" for pattern, reason in patterns.items()]
    return "\n".join(rows)
