"""Products of operands in blocks with a scale each, as narrow floats are stored: `tangrad.lax.scaled_dot`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad._lax.checks import FLOATING, check_dtype
from tangrad._lax.contractions.primitives import DotDimensionNumbers, dot_general_p
from tangrad._lax.elementwise.primitives import convert_element_type_p, mul_p
from tangrad._lax.operands import operand
from tangrad._lax.structure.primitives import broadcast_in_dim_p, reshape_p
from tangrad.core import Array, dtypes
from tangrad.typing import ArrayLike, Dimensions, DType, DTypeLike, Value

# Rank of both operands -> the dimensions where none are given: matrices, and batches of them.
_USUAL = {
    2: DotDimensionNumbers((((1,), (0,)), ((), ()))),
    3: DotDimensionNumbers((((2,), (1,)), ((0,), (0,)))),
}


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: Any = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """The contraction of two arrays, each times the scales of its blocks.

    Args:
        lhs, rhs: arrays of floats, with two dimensions or more.
        lhs_scale, rhs_scale: floats of the operand's shape, but that contracting dimensions may be shorter, by a factor
            that is the size of blocks; None: all 1.
        dimension_numbers: as for `lax.dot_general`; None: those of the product of matrices, or of batches of them.
        preferred_element_type: bfloat16 or float32, the dtype in which is computed and that of the result; None:
            bfloat16.

    Returns:
        An array, as of `lax.dot_general`.

    Raises:
        TypeError: for dtypes that are not floats, or another `preferred_element_type`.
        ValueError: for shapes that do not fit.

    >>> import numpy as np
    >>> import tangrad
    >>> x, scales = np.ones((1, 4), np.float32), np.array([[1.0, 10.0]], np.float32)
    >>> tangrad.lax.scaled_dot(x, x.T, lhs_scale=scales, preferred_element_type="float32")
    Array([[22.]], dtype=float32)
    """
    dtype = dtypes.as_dtype("bfloat16" if preferred_element_type is None else preferred_element_type)
    if dtypes.dtype_name(dtype) not in ("bfloat16", "float32"):
        found = dtypes.dtype_name(dtype)
        raise TypeError(f"scaled_dot: preferred_element_type must be bfloat16 or float32, got {found}")
    left, right = operand("scaled_dot", lhs, "lhs"), operand("scaled_dot", rhs, "rhs")
    if dimension_numbers is None:
        ranks = {x.aval.ndim for x in (left, right)}
        numbers = _USUAL.get(ranks.pop()) if len(ranks) == 1 else None
        if numbers is None:
            raise ValueError(
                "scaled_dot: without dimension_numbers, lhs and rhs must both have two dimensions or three; got shapes "
                f"{left.aval.shape} and {right.aval.shape}"
            )
    else:
        numbers = DotDimensionNumbers(dimension_numbers)
    operands = [
        _scaled(side, x, scale, numbers[0][place], dtype)
        for place, (side, x, scale) in enumerate((("lhs", left, lhs_scale), ("rhs", right, rhs_scale)))
    ]
    return dot_general_p.bind(*operands, dimension_numbers=numbers, precision=None, preferred_element_type=dtype)


def _scaled(side: str, x: Value, scale: Any, contracting: Sequence[int], dtype: DType) -> Value:
    check_dtype("scaled_dot", x.aval, (FLOATING,), side)
    x = _in_dtype(x, dtype)
    if scale is None:
        return x
    scales = operand("scaled_dot", scale, f"{side}_scale")
    check_dtype("scaled_dot", scales.aval, (FLOATING,), f"{side}_scale")
    return mul_p.bind(x, _repeated(side, _in_dtype(scales, dtype), x.aval.shape, contracting))


def _in_dtype(x: Value, dtype: DType) -> Value:
    if x.aval.dtype is dtype and not x.aval.weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def _repeated(side: str, scales: Value, shape: Dimensions, contracting: Sequence[int]) -> Value:
    """Each scale for all elements of its block."""
    sizes = scales.aval.shape
    fits = len(sizes) == len(shape) and all(
        [
            size == whole if axis not in contracting else size and whole % size == 0
            for axis, (size, whole) in enumerate(zip(sizes, shape))
        ]
    )
    if not fits:
        raise ValueError(
            f"scaled_dot: {side}_scale must have the shape {shape} of {side}, but that its contracting dimensions "
            f"{tuple(contracting)} may be divided; got {sizes}"
        )
    if sizes == shape:
        return scales
    # Every dimension with one for the elements of a block behind it.
    blocks = [part for size, whole in zip(sizes, shape) for part in (size, whole // size if size else 1)]
    spread = broadcast_in_dim_p.bind(scales, shape=tuple(blocks), broadcast_dimensions=tuple(range(0, len(blocks), 2)))
    return reshape_p.bind(spread, new_sizes=shape, dimensions=None)
