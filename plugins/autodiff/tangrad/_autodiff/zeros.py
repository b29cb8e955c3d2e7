"""Tangents and cotangents that are zero by structure, or still to be computed, and the types of tangents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tangrad._autodiff.primitives import add_any_p, append_dims_p, set_weak_type_p, sum_trailing_p, zeros_p
from tangrad.core import Primitive, ShapedArray, calls_rules, dtypes, get_aval, literal

if TYPE_CHECKING:
    from tangrad.typing import Dimensions, DType, Value


@final  # so that `type(x) is Zero` narrows both ways
class Zero:
    """A tangent or cotangent known to be zero: no arithmetic is spent on it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"

    @staticmethod
    def of(value: Any) -> Zero:
        """The zero tangent of a value."""
        return _zero_tangents[value.aval if hasattr(type(value), "aval") else get_aval(value)]

    from_primal_value = of  # as jax calls it


class Linear:
    """Stands for an argument that a linear function is transposed with respect to. Only its type is known."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    @property
    def shape(self) -> Any:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    def __repr__(self) -> str:
        return f"Linear({self.aval.str_short()})"


class _ByAval(dict[Any, Any]):
    """What is made of an aval, once; bounded."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, aval: ShapedArray) -> Any:
        if len(self) >= BY_AVAL_LIMIT:
            self.clear()
        made = self[aval] = self.make(aval)
        return made


BY_AVAL_LIMIT = 2048
_zero_tangents = _ByAval(lambda aval: Zero(tangent_aval(aval)))
# The number one of an aval's dtype: the cotangent that a gradient starts from.
ones_scalars = _ByAval(lambda aval: literal(1, aval.dtype, aval.weak_type))
# The placeholder for a linear argument of a transpose rule.
linear_placeholders = _ByAval(Linear)


def has_tangent(dtype: DType) -> bool:
    """Whether values of this dtype have tangents: floating-point and complex numbers do."""
    try:
        return _has_tangent[dtype]
    except KeyError:
        found = _has_tangent[dtype] = bool(dtypes.issubdtype(dtype, np.inexact))
        return found


_has_tangent: dict[Any, bool] = {}  # bounded by the number of dtypes


def tangent_aval(aval: ShapedArray) -> ShapedArray:
    """The type of the tangents of values of type `aval`: float0 for integers, booleans and keys."""
    return aval if has_tangent(aval.dtype) else aval.to_tangent_aval()


def instantiate(tangent: Value | Zero) -> Value:
    """The tangent itself, or an array of zeros in place of a symbolic `Zero`."""
    return zeros(tangent.aval) if type(tangent) is Zero else tangent


def zeros(aval: ShapedArray) -> Value:
    """An array of zeros of type `aval`."""
    if not aval.shape and aval.dtype is not dtypes.float0:
        return literal(0, aval.dtype, aval.weak_type)
    return zeros_p.bind(shape=aval.shape, dtype=aval.dtype, weak_type=aval.weak_type)


@calls_rules("transpose")
def check_cotangent(primitive: Primitive, cotangent: Value, aval: ShapedArray) -> None:
    """Raise TypeError or ValueError where a transpose rule returned no cotangent of an argument of that type."""
    rule = f"the transpose rule of {primitive.identity!r}"
    try:
        found = cotangent.aval if hasattr(type(cotangent), "aval") else get_aval(cotangent)
    except TypeError:
        kind = type(cotangent).__name__
        raise TypeError(f"{rule} returned {cotangent!r} of type {kind}; expected an array, or None") from None
    if found.shape != aval.shape:
        raise ValueError(f"{rule} returned a cotangent of shape {found.shape} for an argument of shape {aval.shape}")
    if found.dtype != aval.dtype:
        raise TypeError(
            f"{rule} returned a cotangent of type {found.str_short()} for an argument of type {aval.str_short()}"
        )


def add_tangents(one: Value | Zero, other: Any) -> Value:
    """The sum of two tangents, either of which may be symbolically zero."""
    if type(one) is Zero:
        return other
    if type(other) is Zero:
        return one
    return add_any_p.bind(one, other)


def broadcast_tangent(tangent: Value, shape: Dimensions) -> Value:
    """A scalar tangent at the shape of the arrays that the scalar stood beside."""
    return append_dims_p.bind(tangent, sizes=tuple(shape)) if not tangent.aval.shape and shape else tangent


def unbroadcast(cotangent: Value, aval: ShapedArray) -> Value:
    """The cotangent of an operand of type `aval`: summed where a scalar stood beside arrays."""
    if aval.shape or not cotangent.aval.shape:
        return cotangent
    return sum_trailing_p.bind(cotangent, count=len(cotangent.aval.shape))


def with_weak_type_of(cotangent: Value, aval: ShapedArray) -> Value:
    """A cotangent with the weak-type flag of what it is a cotangent of."""
    if cotangent.aval.weak_type == aval.weak_type or cotangent.aval.dtype is not aval.dtype:
        return cotangent
    return set_weak_type_p.bind(cotangent, weak_type=aval.weak_type)
