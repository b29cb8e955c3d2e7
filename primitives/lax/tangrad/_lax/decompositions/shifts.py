"""Moving elements along a dimension, with zeros where they come from."""

from __future__ import annotations

from typing import Any

from tangrad._lax.structure import functions as s
from tangrad.core import literal
from tangrad.typing import Value


def shifted(x: Value, offset: int, axis: int) -> Any:
    """Element i - offset at place i; 0 where there is none."""
    config = [(offset, -offset, 0) if dimension == axis else (0, 0, 0) for dimension in range(x.aval.ndim)]
    return x if offset == 0 else s.pad(x, literal(0, x.aval.dtype), config)
