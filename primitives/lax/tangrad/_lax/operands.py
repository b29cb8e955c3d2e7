"""What the functions of `tangrad.lax` do to their arguments before they bind: NumPy values and Python numbers become
operands, a Python number takes the dtype of the arrays beside it, and dimensions of size 1 are stretched.

Functions ask first whether there is anything to do: two operands of one type go to the primitive as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.elementwise.primitives import convert_element_type_p
from tangrad._lax.structure.primitives import broadcast_in_dim_p
from tangrad.core import Array, ShapedArray, as_operand, dtypes, literal, put
from tangrad.core.arguments import is_symbolic
from tangrad.typing import ArrayLike, Dimensions, DType, Value

# Python type -> the scalar classes whose dtypes a number of that type can take without losing what kind it is.
_TAKES: dict[type, tuple[type, ...]] = {
    bool: (np.bool_,),
    int: (np.integer, np.inexact),
    float: (np.inexact,),
    complex: (np.complexfloating,),
}


def operand(name: str, value: ArrayLike, argument: str = "x") -> Array:
    """An array, tracer or literal for `value`. Raises TypeError naming the function and the argument."""
    try:
        return as_operand(value)
    except TypeError as error:
        raise TypeError(
            f"{name} requires arrays or numbers, got {value!r} of type {type(value).__name__} for {argument}"
        ) from error


def scalar_like(value: ArrayLike, dtype: DType) -> Value:
    """A Python number as a literal of `dtype`, or of its own default dtype if `dtype` is of a lesser kind."""
    kind = type(value)
    key = (kind, dtype)
    fits = _fits.get(key)
    if fits is None:
        fits = _fits[key] = any(dtypes.issubdtype(dtype, scalar_class) for scalar_class in _TAKES[kind])
    return literal(value, dtype, kind is not bool) if fits else as_operand(value)


_fits: dict[object, bool] = {}  # bounded by the number of dtypes


def pair(name: str, x: Any, y: Any) -> Sequence[Value]:
    """The two operands of an elementwise primitive; as `align`, in less time."""
    if type(y) in _TAKES:
        if type(x) not in _TAKES:
            x = x if hasattr(type(x), "aval") else operand(name, x, "x")
            return x, scalar_like(y, x.aval.dtype)
        return as_operand(x), as_operand(y)
    y = y if hasattr(type(y), "aval") else operand(name, y, "y")
    if type(x) in _TAKES:
        return scalar_like(x, y.aval.dtype), y
    x = x if hasattr(type(x), "aval") else operand(name, x, "x")
    return stretch((x, y))


def align(name: str, *values: Any) -> Sequence[Array]:
    """The operands of an elementwise primitive: numbers take the dtype of the arrays, sizes of 1 are stretched."""
    dtype = None
    operands = list(values)
    for position, value in enumerate(values):
        if type(value) in _TAKES:
            continue
        made = value if hasattr(type(value), "aval") else operand(name, value, f"operand {position}")
        operands[position] = made
        if dtype is None:
            dtype = made.aval.dtype
    for position, value in enumerate(operands):
        if type(value) in _TAKES:
            operands[position] = as_operand(value) if dtype is None else scalar_like(value, dtype)
    return stretch(operands)


def stretch(operands: Sequence[Array]) -> Sequence[Array]:
    """The operands with dimensions of size 1 broadcast to those of the others; ranks must agree, except for scalars."""
    shapes = [value.aval.shape for value in operands if value.aval.shape]
    if len(set(shapes)) < 2 or len({len(shape) for shape in shapes}) > 1:
        return operands  # nothing to do, or the primitive will say what is wrong
    shape = tuple([_common_size(sizes) for sizes in zip(*shapes)])
    if None in shape:
        return operands
    every = tuple(range(len(shape)))
    return [
        value
        if not value.aval.shape or value.aval.shape == shape
        else broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=every)
        for value in operands
    ]


def _common_size(sizes: Sequence[object]) -> object:
    """The size that all have that is not 1; None where two differ."""
    common: object = 1
    for size in sizes:
        if size == 1 or size == common:
            continue
        if common != 1:
            return None
        common = size
    return common


def constant(value: complex, dtype: DType, weak_type: bool = False) -> Value:
    """A host scalar as a literal of `dtype`, converted as `convert_element_type` does."""
    target = dtypes.as_dtype(dtype)
    if isinstance(value, np.ndarray):
        value = value[()]
    if dtypes.issubdtype(target, np.bool_):
        value = bool(value)
    elif dtypes.issubdtype(target, np.integer):
        value = _integer(value, dtypes.iinfo(target))
    elif not dtypes.issubdtype(target, np.complexfloating) and np.iscomplexobj(value):
        value = value.real
    elif type(value) is int:
        value = float(value)  # the types of ml_dtypes refuse large integers
    return literal(value, target, weak_type)


def size_operand(size: int, dtype: DType) -> Value:
    """A size, or a number of elements, as a scalar of `dtype`: a literal; of a symbolic one the value at run time."""
    if not is_symbolic(size):
        return literal(size if type(size) is int or dtype.kind in "iu" else float(size), dtype)
    value = as_operand(size)
    return value if value.aval.dtype is dtype else convert_element_type_p.bind(value, new_dtype=dtype, weak_type=False)


def _integer(value: complex, limits: Any) -> int:
    low, high = int(limits.min), int(limits.max)
    if not isinstance(value, (int, np.integer, np.bool_)):
        value = float(value.real)
        return 0 if value != value else int(min(max(value, low), high))
    return (int(value) - low) % (high - low + 1) + low


def float0_zeros(shape: Dimensions) -> Array:
    """The array of a shape and dtype float0: there is one. Its elements are no numbers that a literal could hold."""
    if any(map(is_symbolic, shape)):
        return broadcast_in_dim_p.bind(float0_zeros(()), shape=tuple(shape), broadcast_dimensions=())
    return put(np.zeros(shape, dtypes.float0), ShapedArray(shape, dtypes.float0))
