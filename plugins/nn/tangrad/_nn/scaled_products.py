"""Products of matrices that are stored as narrow floats in blocks with a scale each."""

from __future__ import annotations

from typing import Any

import numpy as np

from tangrad.core import Array, dtypes
from tangrad.extend.lax import dot_general
from tangrad.extend.numpy import asarray, repeat
from tangrad.typing import ArrayLike, DTypeLike

FLOAT32 = np.dtype(np.float32)
_ROWS_WITH_ROWS = (((2,), (2,)), ((0,), (0,)))


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """The products of rows of two batches of matrices, each times the scales of its blocks.

    Computed in float32, on every platform.

    Args:
        lhs: an array (b, m, k).
        rhs: an array (b, n, k).
        lhs_scales: an array (b, m, k / s), where s is the size of blocks of `lhs`.
        rhs_scales: an array (b, n, k / t), where t is the size of blocks of `rhs`.
        preferred_element_type: the dtype of the result.

    Returns:
        An array (b, m, n).

    Raises:
        ValueError: for shapes that do not fit.

    >>> import tangrad
    >>> import tangrad.numpy as np
    >>> x, scales = np.ones((1, 1, 4)), np.array([[[1.0, 10.0]]])
    >>> tangrad.nn.scaled_matmul(x, x, scales, scales)
    Array([[[202.]]], dtype=float32)
    """
    kind = dtypes.check_user_dtype_supported(preferred_element_type, "preferred_element_type")
    left = _scaled("lhs", asarray(lhs), asarray(lhs_scales))
    right = _scaled("rhs", asarray(rhs), asarray(rhs_scales))
    if left.shape[0] != right.shape[0] or left.shape[2] != right.shape[2]:
        raise ValueError(
            "scaled_matmul takes lhs (b, m, k) and rhs (b, n, k), with the same b and k; got shapes "
            f"{left.shape} and {right.shape}"
        )
    return dot_general(left, right, _ROWS_WITH_ROWS, preferred_element_type=FLOAT32).astype(kind)


def _scaled(side: str, x: Any, scales: Any) -> Array:
    shape, sizes = x.shape, scales.shape
    if len(shape) != 3 or len(sizes) != 3 or sizes[:2] != shape[:2] or not sizes[2] or shape[2] % sizes[2]:
        raise ValueError(
            f"scaled_matmul: {side} must have three dimensions, and {side}_scales those, of which the last may be "
            f"divided; got shapes {shape} and {sizes}"
        )
    return x.astype(FLOAT32) * repeat(scales.astype(FLOAT32), shape[2] // sizes[2], axis=2)
