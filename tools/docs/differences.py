"""The table of calls that JAX accepts and Tangrad does not: `differences.toml`, read and written as Markdown.

Each entry has a reason and the calls that it is about, as "name(argument)". Which there are is found out by
`tests/differential/test_signatures.py`; how arguments are written there says
`tests/differential/signatures.py`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent / "differences.toml"


def entries() -> list[dict[str, Any]]:
    """The entries, in the order of the file."""
    found: list[dict[str, Any]] = tomllib.loads(TABLE.read_text())["difference"]
    return found


def stated() -> dict[str, str]:
    """Call -> the reason why it is not accepted."""
    return {call: entry["reason"] for entry in entries() for call in entry["calls"]}


def table() -> str:
    """A row for each reason, with its calls."""
    rows = ["| what JAX accepts | here |", "|---|---|"]
    for entry in entries():
        calls = ", ".join([f"`{call}`" for call in entry["calls"]])
        rows.append(f"| {calls} | {entry['reason']} |")
    return "\n".join(rows)
