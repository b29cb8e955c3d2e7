"""The contraction and the type of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.checks import ANY, check_dtype, check_int
from tangrad._lax.contractions.precision import is_algorithm
from tangrad.core import PrimitiveSet, ShapedArray, class_boundary, dtypes
from tangrad.core.caches import exact_equality
from tangrad.typing import DType

contractions = PrimitiveSet("contractions", api=1)


@class_boundary
@exact_equality
class DotDimensionNumbers(tuple[Any, ...]):
    """The dimensions of a contraction: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`.

    A tuple of tuples of integers and nothing else, which caches may therefore compare as it is.

    >>> import tangrad
    >>> tangrad.lax.DotDimensionNumbers((([1], [0]), ([], [])))
    (((1,), (0,)), ((), ()))
    """

    __slots__ = ()

    def __new__(cls, dimension_numbers: Any) -> DotDimensionNumbers:
        if type(dimension_numbers) is cls:
            return dimension_numbers
        try:
            (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
        except (TypeError, ValueError):
            raise TypeError(
                "dot_general: dimension_numbers must be ((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch)), "
                f"four sequences of dimensions, got {dimension_numbers!r}"
            ) from None
        contracting = _dimensions(lhs_contract), _dimensions(rhs_contract)
        return super().__new__(cls, (contracting, (_dimensions(lhs_batch), _dimensions(rhs_batch))))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (tuple(self),)


def _dimensions(value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"dot_general: dimension_numbers must hold sequences of integers, got {value!r}")
    items = value if hasattr(value, "__iter__") else (value,)
    return tuple([check_int("dot_general", item, "a dimension in dimension_numbers") for item in items])


@contractions.primitive(name="dot_general")
def dot_general_p(
    lhs: ShapedArray,
    rhs: ShapedArray,
    *,
    dimension_numbers: DotDimensionNumbers,
    precision: Any,
    preferred_element_type: DType | None,
) -> ShapedArray:
    """The products of two arrays, summed over contracting dimensions and paired along batch dimensions.

    The dimensions of the result are the batch dimensions, then what is left of `lhs`, then what is left of `rhs`.
    """
    numbers = DotDimensionNumbers(dimension_numbers)
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    _check_side("lhs", lhs, lhs_contract, lhs_batch)
    _check_side("rhs", rhs, rhs_contract, rhs_batch)
    _check_sizes("contracting", lhs, lhs_contract, rhs, rhs_contract)
    _check_sizes("batch", lhs, lhs_batch, rhs, rhs_batch)
    dtype = _result_dtype(lhs, rhs, precision, preferred_element_type)
    return ShapedArray(result_shape(lhs.shape, rhs.shape, numbers), dtype)


def result_shape(lhs: Sequence[int], rhs: Sequence[int], numbers: DotDimensionNumbers) -> tuple[int, ...]:
    """The shape of the contraction of two shapes."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    return (
        *[lhs[axis] for axis in lhs_batch],
        *[size for axis, size in enumerate(lhs) if axis not in lhs_contract and axis not in lhs_batch],
        *[size for axis, size in enumerate(rhs) if axis not in rhs_contract and axis not in rhs_batch],
    )


def free_axes(rank: int, contracting: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of one side that are neither contracted nor batch dimensions."""
    return tuple([axis for axis in range(rank) if axis not in contracting and axis not in batch])


# --- checks --------------------------------------------------------------------------------------------------------


def _check_side(side: str, operand: ShapedArray, contracting: Sequence[int], batch: Sequence[int]) -> None:
    check_dtype("dot_general", operand, ANY, side)
    for axis in (*contracting, *batch):
        if not 0 <= axis < operand.ndim:
            raise ValueError(
                f"dot_general: dimension {axis} of {side} in dimension_numbers is out of bounds: "
                f"{side} has shape {operand.shape}, its dimensions are in [0, {operand.ndim})"
            )
    if len({*contracting, *batch}) != len(contracting) + len(batch):
        raise ValueError(
            f"dot_general: the contracting dimensions {tuple(contracting)} and batch dimensions {tuple(batch)} "
            f"of {side} must not repeat a dimension"
        )


def _check_sizes(
    kind: str, lhs: ShapedArray, lhs_axes: Sequence[int], rhs: ShapedArray, rhs_axes: Sequence[int]
) -> None:
    left = tuple([lhs.shape[axis] for axis in lhs_axes])
    right = tuple([rhs.shape[axis] for axis in rhs_axes])
    if left != right:
        raise ValueError(
            f"dot_general: the {kind} dimensions {tuple(lhs_axes)} of lhs and {tuple(rhs_axes)} of rhs must have "
            f"the same sizes, got {left} and {right} of shapes {lhs.shape} and {rhs.shape}"
        )


def _result_dtype(lhs: ShapedArray, rhs: ShapedArray, precision: Any, preferred: Any) -> DType:
    """The greater dtype of the two, by what it can hold, unless another one is preferred."""
    if lhs.dtype is rhs.dtype:
        dtype = lhs.dtype
    else:
        left, right = _rank_of_dtype(lhs.dtype), _rank_of_dtype(rhs.dtype)
        if left == right:
            found = f"{dtypes.dtype_name(lhs.dtype)} and {dtypes.dtype_name(rhs.dtype)}"
            raise TypeError(f"dot_general: neither of the operands' dtypes, {found}, includes the other; convert one")
        dtype = lhs.dtype if left > right else rhs.dtype
    if preferred is None or preferred is dtype or preferred == dtype:
        return dtype
    if not is_algorithm(precision) and not dtypes.issubdtype(dtype, np.floating) and _bits(preferred) < _bits(dtype):
        raise TypeError(
            f"dot_general: preferred_element_type must not be narrower than {dtypes.dtype_name(dtype)}, the dtype of "
            f"the operands, got {dtypes.dtype_name(preferred)}"
        )
    if dtypes.issubdtype(dtype, np.complexfloating) and not dtypes.issubdtype(preferred, np.complexfloating):
        found = dtypes.dtype_name(preferred)
        raise TypeError(f"dot_general: preferred_element_type of complex operands must be complex, got {found}")
    return preferred


def _rank_of_dtype(dtype: DType) -> tuple[Any, ...]:
    """What orders dtypes: complex above real, then the range and precision of floats, bits, signed above unsigned."""
    part = dtypes.to_floating_dtype(dtype) if dtypes.issubdtype(dtype, np.complexfloating) else dtype
    limits = dtypes.finfo(part) if dtypes.issubdtype(part, np.floating) else None
    return (
        part is not dtype,
        -1 if limits is None else int(limits.maxexp),
        -1 if limits is None else int(limits.nmant),
        _bits(part),
        not dtypes.issubdtype(part, np.unsignedinteger),
    )


def _bits(dtype: DType) -> int:
    return 1 if dtype == np.bool_ else dtypes.bit_width(dtype)
