"""`jax._src.lax.control_flow`: loops and conditionals, which `jax.lax` has."""

from __future__ import annotations

from typing import Any

from tangrad import lax


def __getattr__(name: str) -> Any:
    return getattr(lax, name)
