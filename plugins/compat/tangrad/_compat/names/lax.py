"""`jax.lax`: what it hands on from elsewhere."""

from __future__ import annotations

from typing import Any

from tangrad.dtypes import as_dtype


def dtype(x: Any) -> Any:
    """The dtype of an array, a number or a dtype."""
    return as_dtype(getattr(x, "dtype", x) if not isinstance(x, type) else x)


__all__ = ["dtype"]
