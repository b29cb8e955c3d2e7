"""`jax._src.dtypes`: what `jax.dtypes` has, and what dtypes are to type checkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad import dtypes
from tangrad.core import dtypes as core_dtypes

DType = np.dtype


def to_complex_dtype(dtype: Any) -> Any:
    """The complex dtype of the precision of a dtype."""
    return core_dtypes.to_complex_dtype(dtype)


def to_inexact_dtype(dtype: Any) -> Any:
    """The dtype itself where it is inexact, else the floating one that stands for it."""
    return core_dtypes.to_inexact_dtype(dtype)


def __getattr__(name: str) -> Any:
    return getattr(dtypes, name)


def supports_inf(dtype: Any) -> bool:
    """Whether numbers of a dtype can be infinite."""
    return bool(np.isinf(np.asarray(np.inf).astype(dtypes.as_dtype(dtype)).astype(float)))
