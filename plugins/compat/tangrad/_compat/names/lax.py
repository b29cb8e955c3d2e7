"""`jax.lax`: the primitives, by their names there, and what it hands on from elsewhere."""

from __future__ import annotations

from typing import Any

from tangrad._compat.primitive_names import primitive_called
from tangrad.dtypes import as_dtype


def __getattr__(name: str) -> Any:
    return primitive_called("jax.lax", name)


def dtype(x: Any) -> Any:
    """The dtype of an array, a number or a dtype."""
    return as_dtype(getattr(x, "dtype", x) if not isinstance(x, type) else x)


__all__ = ["dtype"]
