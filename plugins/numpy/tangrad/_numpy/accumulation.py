"""In which dtypes sums and products are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._numpy.operands import BOOL, INT32, convert
from tangrad.core import Array, dtypes

if TYPE_CHECKING:
    from tangrad.typing import DType


def counting_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype in which integers and booleans are added up: at least the default integer."""
    if dtype is BOOL:
        return dtypes.default_int_dtype()
    default = (
        dtypes.default_uint_dtype() if dtypes.issubdtype(dtype, np.unsignedinteger) else dtypes.default_int_dtype()
    )
    return dtype if dtype.itemsize >= default.itemsize else default


def computation_dtype(dtype: Any) -> np.dtype:
    """The dtype in which sums of floats are taken: float32 for the 16-bit ones."""
    if dtypes.issubdtype(dtype, np.floating) and dtype.itemsize < 4:
        return dtypes.as_dtype("float32")
    return dtype


def as_added(x: Array, dtype: DType) -> Array:
    """An operand as it is added up to a result of `dtype`: truths, of which arithmetic knows nothing, as 0 and 1."""
    return convert(convert(x, BOOL), INT32) if dtype is BOOL else convert(x, computation_dtype(dtype))
