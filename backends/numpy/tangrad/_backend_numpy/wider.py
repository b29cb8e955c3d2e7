"""In which dtype long sums of another keep their digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.core import dtypes

# By name: bfloat16 is there only where ml_dtypes is installed.
_WIDER = {"float32": "float64", "complex64": "complex128", "float16": "float64", "bfloat16": "float64"}
_WIDE = {narrow: dtypes.as_dtype(wide) for narrow, wide in _WIDER.items()}


def wider(dtype: np.dtype, otherwise: Any = None) -> np.dtype | None:
    """The wider dtype for sums of numbers of a dtype, or what is given where there is none, or sums are exact."""
    return _WIDE.get(dtypes.dtype_name(dtype), otherwise)
