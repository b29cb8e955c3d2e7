"""What the families of this distribution check alike: the dtypes, shapes and parameters that primitives take.

Every message names the primitive, what was passed, what was expected, and which argument it was.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, SupportsIndex

import numpy as np

from tangrad.core import Primitive, PrimitiveSet, ShapedArray, dtypes
from tangrad.errors import ArgumentError
from tangrad.typing import DType

BOOL = dtypes.as_dtype(bool)

# What a primitive may take, in the words of its error messages -> the scalar classes.
FLOATING = "floating"
COMPLEX = "complex"
INTEGER = "integer"
BOOLEAN = "boolean"
SIGNED = "signed integer"
EXTENDED = "extended"  # random keys and the like
_CLASSES: dict[str, type] = {
    FLOATING: np.floating,
    COMPLEX: np.complexfloating,
    INTEGER: np.integer,
    BOOLEAN: np.bool_,
    SIGNED: np.signedinteger,
    EXTENDED: dtypes.extended,
}
INEXACT = (FLOATING, COMPLEX)
NUMERIC = (INTEGER, FLOATING, COMPLEX)
ORDERED = (BOOLEAN, INTEGER, FLOATING)
BITS = (BOOLEAN, INTEGER)
ANY = (BOOLEAN, INTEGER, FLOATING, COMPLEX)


@lru_cache(1024)  # asked at each new signature, of a few dtypes and a few sets of kinds
def is_kind(dtype: DType, accepted: tuple[str, ...]) -> bool:
    """Whether `dtype` is of one of the accepted kinds."""
    return any([dtypes.issubdtype(dtype, _CLASSES[kind]) for kind in accepted])


def check_dtype(name: str, aval: ShapedArray, accepted: tuple[str, ...], argument: str) -> None:
    """Raise TypeError unless the argument has a dtype of one of the accepted kinds."""
    if not is_kind(aval.dtype, accepted):
        expected = " or ".join(accepted)
        found = dtypes.dtype_name(aval.dtype)
        raise TypeError(f"{name} does not accept dtype {found} for {argument}; expected {expected}")


def check_same_dtype(name: str, avals: Sequence[ShapedArray]) -> None:
    """Raise TypeError unless all operands have one dtype."""
    first = avals[0].dtype
    for aval in avals:
        if aval.dtype is not first and aval.dtype != first:
            found = " and ".join([dtypes.dtype_name(a.dtype) for a in avals])
            raise TypeError(
                f"{name} requires operands of one dtype, got {found} "
                f"(tangrad.numpy has functions that promote, tangrad.lax.convert_element_type converts)"
            )


def common_shape(name: str, avals: Sequence[ShapedArray]) -> tuple[int, ...]:
    """The shape of the operands that have dimensions, () if none has. Raises ValueError where they differ."""
    shape: tuple[Any, ...] = ()
    for aval in avals:
        if not aval.shape:
            continue
        if not shape:
            shape = aval.shape
        elif aval.shape != shape:
            found = " and ".join([str(a.shape) for a in avals])
            raise ArgumentError(
                f"{name} requires operands of one shape, or scalars beside it, got shapes {found}; "
                f"broadcast them first (tangrad.lax.broadcast_in_dim, or the function of tangrad.numpy)"
            )
    return shape


# --- makers of elementwise primitives ---


def unary(
    family: PrimitiveSet,
    name: str,
    accepted: tuple[str, ...],
    documentation: str,
    result: Callable[..., object] | None = None,
    **options: object,
) -> Primitive:
    """A primitive of one operand that works element by element; `result` maps the dtype of the operand to its own."""

    def abstract_eval(x: ShapedArray) -> ShapedArray:
        check_dtype(name, x, accepted, "x")
        return x if result is None else ShapedArray(x.shape, result(x.dtype), x.weak_type, x.named_shape)

    abstract_eval.__doc__ = documentation
    return family.primitive(abstract_eval, name=name, **options)


def nary(
    family: PrimitiveSet,
    name: str,
    accepted: tuple[str, ...],
    documentation: str,
    arguments: Sequence[str] = ("x", "y"),
    result: Callable[..., object] | None = None,
    **options: object,
) -> Primitive:
    """A primitive of operands of one dtype, and one shape or rank 0, that works element by element."""

    def abstract_eval(*avals: ShapedArray) -> ShapedArray:
        if len(avals) != len(arguments):
            raise TypeError(f"{name} takes {len(arguments)} operands ({', '.join(arguments)}), got {len(avals)}")
        for aval, argument in zip(avals, arguments):
            check_dtype(name, aval, accepted, argument)
        check_same_dtype(name, avals)
        dtype = avals[0].dtype
        return ShapedArray(common_shape(name, avals), dtype if result is None else result(dtype))

    abstract_eval.__doc__ = documentation
    return family.primitive(abstract_eval, name=name, **options)


# --- parameters ---


def check_int(name: str, value: SupportsIndex, argument: str) -> int:
    """`value` as an int. Raises TypeError for what is not an integer."""
    if type(value) is int:
        return value
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name}: {argument} must be an integer, got {value!r} of type {kind}") from None


def check_length(name: str, value: Sequence[object], length: int, argument: str, of_what: str) -> None:
    """Raise ValueError unless a parameter has one item for each dimension (or whatever `of_what` is)."""
    if len(value) != length:
        raise ArgumentError(f"{name}: {argument} must have one entry for each {of_what} ({length}), got {tuple(value)}")


def check_axes(name: str, axes: Sequence[int], rank: int, argument: str) -> None:
    """Raise unless `axes` are distinct dimensions of an array of that rank, not negative."""
    for axis in axes:
        if not 0 <= axis < rank:
            raise ArgumentError(
                f"{name}: {argument} must be in [0, {rank}), the operand's dimensions, got {tuple(axes)}"
            )
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"{name}: {argument} must not repeat a dimension, got {tuple(axes)}")


def canonical_axis(name: str, axis: int, rank: int, argument: str = "axis") -> int:
    """An axis counted from the front. Raises ValueError where the array has no such axis."""
    axis = check_int(name, axis, argument)
    if not -rank <= axis < rank:
        raise ValueError(f"{name}: {argument} {axis} is out of bounds for an array of {rank} dimensions")
    return axis + rank if axis < 0 else axis
