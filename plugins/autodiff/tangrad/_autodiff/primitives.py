"""The little arithmetic that differentiation itself needs: sums of tangents, zeros, and scalars beside arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import PrimitiveSet, ShapedArray

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DType

autodiff = PrimitiveSet("autodiff", api=1)


@autodiff.primitive(name="add_any")
def add_any_p(x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """The sum of two tangents or cotangents of one type."""
    if x is not y and (x.shape != y.shape or x.dtype != y.dtype):
        raise TypeError(f"add_any: tangents to be added must have one type, got {x.str_short()} and {y.str_short()}")
    return ShapedArray(x.shape, x.dtype)


@autodiff.primitive(name="zeros", weak_type="own")
def zeros_p(*, shape: Dimensions, dtype: DType, weak_type: bool) -> ShapedArray:
    """An array of zeros; of dtype float0, the only value there is."""
    return ShapedArray(shape, dtype, weak_type)


@autodiff.primitive(name="append_dims")
def append_dims_p(x: ShapedArray, *, sizes: tuple[object, ...]) -> ShapedArray:
    """`x` repeated along new trailing dimensions of the given sizes."""
    return ShapedArray((*x.shape, *sizes), x.dtype)


@autodiff.primitive(name="sum_trailing")
def sum_trailing_p(x: ShapedArray, *, count: int) -> ShapedArray:
    """The sum over the last `count` dimensions."""
    if count > x.ndim:
        raise ValueError(f"sum_trailing: cannot sum over the last {count} dimensions of {x.str_short()}")
    return ShapedArray(x.shape[: x.ndim - count], x.dtype)


@autodiff.primitive(name="set_weak_type", weak_type="own", decompose=lambda x, weak_type: x)
def set_weak_type_p(x: ShapedArray, *, weak_type: bool) -> ShapedArray:
    """`x` with or without the weak-type flag: gradients have the flag of what they are gradients by."""
    return x.update(weak_type=weak_type)
