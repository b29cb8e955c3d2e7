"""`jax._src.dtypes`: what `jax.dtypes` has, and what dtypes are to type checkers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad import dtypes

DType = np.dtype


def __getattr__(name: str) -> Any:
    return getattr(dtypes, name)


def supports_inf(dtype: Any) -> bool:
    """Whether numbers of a dtype can be infinite."""
    return bool(np.isinf(np.asarray(np.inf).astype(dtypes.as_dtype(dtype)).astype(float)))
