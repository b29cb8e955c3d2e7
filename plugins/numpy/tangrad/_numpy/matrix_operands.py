"""What the functions of `tangrad.numpy.linalg` do to their operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tangrad._numpy.conversion import asarray
from tangrad.core import Array, dtypes

if TYPE_CHECKING:
    from tangrad.typing import ArrayLike, Value


def inexact_matrix(name: str, x: ArrayLike) -> Array:
    """An array of a floating or complex dtype. Raises TypeError for what is no number."""
    array = asarray(x)
    if dtypes.issubdtype(array.dtype, np.inexact):
        return array
    if dtypes.issubdtype(array.dtype, np.integer) or dtypes.issubdtype(array.dtype, np.bool_):
        return array.astype(dtypes.to_inexact_dtype(array.dtype))
    raise TypeError(f"{name} takes numbers, got dtype {dtypes.dtype_name(array.dtype)}")


def square_matrix(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """As `inexact_matrix`. Raises ValueError unless the matrices have as many rows as columns."""
    array = inexact_matrix(name, x)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{name}: {argument} must be square matrices, of shape (..., n, n), got shape {array.shape}")
    return array


def real_dtype(array: Value) -> np.dtype:
    """The dtype of the sizes of an array's elements."""
    return dtypes.to_floating_dtype(array.dtype)
