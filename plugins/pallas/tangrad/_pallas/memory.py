"""Memory that nothing was written to: NaN, the least integer, False."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.core import as_operand, dtypes
from tangrad.extend.lax import full

if TYPE_CHECKING:
    from tangrad.typing import Value


def unwritten_number(dtype: Any) -> int | float | bool:
    """What is read where nothing was written. Raises TypeError for dtypes that kernels do not have."""
    if dtypes.issubdtype(dtype, np.inexact):
        return float("nan")
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).min)
    if dtype == np.dtype(bool):
        return False
    raise TypeError(f"kernels have no memory of dtype {dtypes.dtype_name(dtype)}: numbers and truth values alone")


def unwritten(shape: tuple[int, ...], dtype: Any) -> Value:
    """An array to which nothing was written."""
    return as_operand(full(shape, unwritten_number(dtype), dtype))
