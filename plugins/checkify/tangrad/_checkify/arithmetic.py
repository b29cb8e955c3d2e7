"""The few operations that errors are computed with, on operands of any trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad.autodiff import zeros_p
from tangrad.core import dtypes, literal
from tangrad.core.arguments import product
from tangrad.extend.lax import (
    argmax_p,
    broadcast_in_dim_p,
    dynamic_slice_p,
    eq_p,
    ne_p,
    reduce_or_p,
    reshape_p,
    select_n_p,
)

if TYPE_CHECKING:
    from tangrad.typing import DType, Value

INT32 = np.dtype("int32")


def number(value: int) -> Value:
    """An integer as an operand."""
    return literal(value, INT32)


def is_clear(code: Value) -> Value:
    """Whether a code says that nothing has failed."""
    return eq_p.bind(code, number(0))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """One of two values, by a boolean scalar."""
    return select_n_p.bind(condition, no, yes)


def any_true(flags: Value) -> Value:
    """Whether any of an array of booleans is true: a scalar."""
    shape = flags.aval.shape
    return reduce_or_p.bind(flags, axes=tuple(range(len(shape)))) if shape else flags


def has_nan(value: Value) -> Value:
    """Whether an array of floats or complex numbers has a NaN."""
    return any_true(ne_p.bind(value, value))


def zeros(shape: Sequence[Any], dtype: DType) -> Value:
    """An array of zeros; of an extended dtype, of elements that are made of zeros."""
    if isinstance(dtype, dtypes.ExtendedDType):
        return zeros_p.bind(shape=tuple(shape), dtype=dtype, weak_type=False)
    zero = literal(0, dtype)
    return broadcast_in_dim_p.bind(zero, shape=tuple(shape), broadcast_dimensions=()) if shape else zero


def filled(like: Any, value: int) -> Value:
    """An integer in the shape of a code."""
    shape = like.aval.shape
    return broadcast_in_dim_p.bind(number(value), shape=shape, broadcast_dimensions=()) if shape else number(value)


def flattened(value: Any, rank: int) -> Value:
    """An array whose first `rank` dimensions are one."""
    shape = value.aval.shape
    return reshape_p.bind(value, new_sizes=(product(shape[:rank]), *shape[rank:]), dimensions=None)


def at(value: Any, position: Any) -> Value:
    """A slice of an array at a position along its first axis."""
    shape = value.aval.shape
    starts = [position, *[number(0)] * (len(shape) - 1)]
    part = dynamic_slice_p.bind(value, *starts, slice_sizes=(1, *shape[1:]))
    return reshape_p.bind(part, new_sizes=shape[1:], dimensions=None)


def first_true(flags: Any) -> Value:
    """The position of the first true one of a list of booleans that is not empty; 0 where none is."""
    return argmax_p.bind(flags, axes=(0,), index_dtype=INT32)
