"""The reductions, the running totals, and the types of their results.

`axes` are distinct, not negative, and sorted; the functions of `functions.py` see to the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tangrad._lax.checks import ANY, BITS, INEXACT, NUMERIC, ORDERED, check_axes, check_dtype
from tangrad._lax.reductions.decompositions import (
    reduce_by_tree,
    running_log_sum_exp,
    running_max,
    running_min,
    running_prod,
    running_sum,
)
from tangrad.core import ClosedJaxpr, Primitive, PrimitiveSet, ShapedArray, dtypes
from tangrad.core.arguments import is_symbolic
from tangrad.errors import ArgumentError
from tangrad.typing import DType

reductions = PrimitiveSet("reductions", api=1)


def without_axes(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """A shape less some of its dimensions."""
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


# --- one operand, one operation ---


def _reduction(name: str, accepted: tuple[str, ...], documentation: str, **options: object) -> Primitive:
    def abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...]) -> ShapedArray:
        check_dtype(name, operand, accepted, "operand")
        check_axes(name, axes, operand.ndim, "axes")
        return ShapedArray(without_axes(operand.shape, axes), operand.dtype)

    abstract_eval.__doc__ = documentation
    return reductions.primitive(abstract_eval, name=name, **options)


reduce_sum_p = _reduction("reduce_sum", NUMERIC, "The sum over `axes`; 0 of nothing; integers wrap.")
reduce_prod_p = _reduction("reduce_prod", NUMERIC, "The product over `axes`; 1 of nothing; integers wrap.")
reduce_max_p = _reduction("reduce_max", ANY, "The greatest element over `axes`; NaN if there is one.")
reduce_min_p = _reduction("reduce_min", ANY, "The least element over `axes`; NaN if there is one.")
reduce_and_p = _reduction("reduce_and", BITS, "All bits that are set everywhere over `axes`.", weak_type="never")
reduce_or_p = _reduction("reduce_or", BITS, "All bits that are set somewhere over `axes`.", weak_type="never")
reduce_xor_p = _reduction("reduce_xor", BITS, "All bits that are set an odd number of times.", weak_type="never")


# --- what reductions start from: NumPy scalars ---


def zero(dtype: np.dtype) -> np.ndarray | np.generic:
    """0, or False."""
    return np.zeros((), dtype)[()]


def one(dtype: np.dtype) -> np.ndarray:
    """1, or True."""
    return np.ones((), dtype)[()]


def all_bits(dtype: np.dtype) -> np.ndarray | np.generic:
    """The integer with all bits set, or True."""
    return np.asarray(1 if dtype == np.bool_ else -1).astype(dtype)[()]


def greatest(dtype: np.dtype) -> Any:
    """The greatest value of a dtype."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(np.inf if _has_infinity(dtype) else dtypes.finfo(dtype).max, dtype)[()]
    return np.asarray(True if dtype == np.bool_ else dtypes.iinfo(dtype).max, dtype)[()]


def least(dtype: np.dtype) -> Any:
    """The least value of a dtype."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.asarray(-np.inf if _has_infinity(dtype) else dtypes.finfo(dtype).min, dtype)[()]
    return np.asarray(False if dtype == np.bool_ else dtypes.iinfo(dtype).min, dtype)[()]


def _has_infinity(dtype: np.dtype) -> bool:
    return bool(np.isinf(np.asarray(np.inf, dtype)))


# Primitive -> its result where there is nothing to reduce, by dtype.
identities: dict[Primitive, Callable[[np.dtype], Any]] = {
    reduce_sum_p: zero,
    reduce_prod_p: one,
    reduce_max_p: least,
    reduce_min_p: greatest,
    reduce_and_p: all_bits,
    reduce_or_p: zero,
    reduce_xor_p: zero,
}


# --- positions ---


def _position(name: str, documentation: str) -> Primitive:
    def abstract_eval(operand: ShapedArray, *, axes: tuple[int, ...], index_dtype: DType) -> ShapedArray:
        check_dtype(name, operand, ORDERED, "operand")
        if not dtypes.issubdtype(index_dtype, np.integer):
            raise TypeError(f"{name}: index_dtype must be an integer dtype, got {dtypes.dtype_name(index_dtype)}")
        if len(axes) != 1:
            raise ValueError(f"{name}: axes must name one dimension, got {tuple(axes)}")
        check_axes(name, axes, operand.ndim, "axis")
        size = operand.shape[axes[0]]
        if not is_symbolic(size) and size == 0:
            raise ValueError(f"{name}: dimension {axes[0]} of shape {operand.shape} is empty: nothing has a position")
        return ShapedArray(without_axes(operand.shape, axes), index_dtype)

    abstract_eval.__doc__ = documentation
    return reductions.primitive(abstract_eval, name=name, weak_type="never")


argmax_p = _position("argmax", "Where the greatest element of an axis is: the first of equal ones, or the first NaN.")
argmin_p = _position("argmin", "Where the least element of an axis is: the first of equal ones, or the first NaN.")


# --- any operation ---


@reductions.primitive(name="reduce", multiple_results=True, weak_type="own", decompose=reduce_by_tree)
def reduce_p(*args: ShapedArray, jaxpr: ClosedJaxpr, dimensions: tuple[int, ...]) -> tuple[ShapedArray, ...]:
    """Several operands reduced together by a program of scalars.

    The first half of the arguments are the operands, the second their initial values. `jaxpr` takes as many scalars of
    each of two partial results and combines them; it must be associative, and the initial values its identity.
    """
    operands, initial = args[: len(args) // 2], args[len(args) // 2 :]
    if not operands or len(operands) != len(initial):
        raise TypeError(f"reduce takes operands and as many initial values, got {len(args)} arguments")
    shape = operands[0].shape
    check_axes("reduce", dimensions, len(shape), "dimensions")
    for position, (operand, start) in enumerate(zip(operands, initial)):
        if operand.shape != shape:
            shapes = ", ".join([str(aval.shape) for aval in operands])
            raise ArgumentError(f"reduce: operands must have one shape, got {shapes}")
        if start.shape:
            raise ValueError(f"reduce: init_values[{position}] must be a scalar, got shape {start.shape}")
        if start.dtype != operand.dtype:
            found, expected = dtypes.dtype_name(start.dtype), dtypes.dtype_name(operand.dtype)
            raise TypeError(f"reduce: init_values[{position}] must have the operand's dtype {expected}, got {found}")
    _check_computation("reduce", jaxpr, initial)
    kept = without_axes(shape, dimensions)
    return tuple([ShapedArray(kept, x.dtype, x.weak_type and start.weak_type) for x, start in zip(operands, initial)])


def _check_computation(name: str, jaxpr: ClosedJaxpr, initial: Sequence[ShapedArray]) -> None:
    expected = [ShapedArray((), aval.dtype) for aval in initial]
    found = [aval.strip_weak_type() for aval in jaxpr.out_avals]
    if found != expected:
        raise TypeError(
            f"{name}: computation must return scalars of the types of init_values, "
            f"{[aval.str_short() for aval in expected]}, got {[aval.str_short() for aval in found]}"
        )
    if len(jaxpr.in_avals) != 2 * len(initial):
        raise TypeError(f"{name}: jaxpr must take {2 * len(initial)} scalars, got one of {len(jaxpr.in_avals)}")


# --- running totals ---


def _running(name: str, accepted: tuple[str, ...], documentation: str, decompose: Callable[..., object]) -> Primitive:
    def abstract_eval(operand: ShapedArray, *, axis: int, reverse: bool) -> ShapedArray:
        check_dtype(name, operand, accepted, "operand")
        check_axes(name, (axis,), operand.ndim, "axis")
        return operand

    abstract_eval.__doc__ = documentation
    return reductions.primitive(abstract_eval, name=name, decompose=decompose)


# Up to each element of an axis; from its end if `reverse`.
cumsum_p = _running("cumsum", NUMERIC, "The sums up to each element of an axis.", running_sum)
cumprod_p = _running("cumprod", NUMERIC, "The products up to each element of an axis.", running_prod)
cummax_p = _running("cummax", NUMERIC, "The greatest element up to each one of an axis.", running_max)
cummin_p = _running("cummin", NUMERIC, "The least element up to each one of an axis.", running_min)
cumlogsumexp_p = _running(
    "cumlogsumexp", INEXACT, "The log of the sum of exponentials up to each element of an axis.", running_log_sum_exp
)
