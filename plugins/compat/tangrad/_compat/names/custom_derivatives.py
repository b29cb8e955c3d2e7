"""`jax.custom_derivatives`: its primitives, by their names there."""

from __future__ import annotations

from typing import Any

from tangrad._compat.primitive_names import primitive_called


def __getattr__(name: str) -> Any:
    return primitive_called("jax.custom_derivatives", name)
