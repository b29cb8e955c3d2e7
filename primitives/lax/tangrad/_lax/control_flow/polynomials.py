"""`lax.polynomial`: a polynomial of which the coefficients are given, by Horner's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tangrad._lax.checks import check_int
from tangrad._lax.control_flow.scans import scan
from tangrad._lax.elementwise.functions import add, convert_element_type, mul
from tangrad._lax.operands import constant, operand
from tangrad._lax.structure.functions import broadcast_in_dim, broadcast_shapes, concatenate, expand_dims, full_like
from tangrad.core import Array, Tracer, as_array
from tangrad.typing import ArrayLike, Dimensions

UNROLLED = 8  # so many steps are written out; more are a loop, which compiles in the same time for any degree


def polynomial(x: ArrayLike, coeffs: Sequence[ArrayLike], *, unroll: int | None = None) -> Array:
    """The polynomial with the given coefficients: `coeffs[0] + coeffs[1] x + coeffs[2] x² + …`.

    Args:
        x: an array or number, integer, floating or complex.
        coeffs: numbers, or arrays that broadcast with `x` dimension by dimension, the constant one first; they are
            taken in the dtype of `x`.
        unroll: up to how many steps are written out one by one before a loop is made of them; None: 8.

    Returns:
        An array of the dtype of `x` and of the shape to which `x` and the coefficients broadcast; zeros, if there are
        no coefficients.

    Raises:
        TypeError: for what is no array, and an `unroll` that is no integer.
        ValueError: for shapes that do not fit, and an `unroll` that is negative.

    >>> import tangrad
    >>> tangrad.lax.polynomial(3.0, [1.0, 5.0, 2.0])
    Array(34., dtype=float32, weak_type=True)
    """
    limit = UNROLLED if unroll is None else check_int("polynomial", unroll, "unroll")
    if limit < 0:
        raise ValueError(f"polynomial: unroll must not be negative, got {limit}")
    made = operand("polynomial", x)
    factors = [_in_dtype(factor, made) for factor in coeffs]
    if not factors:
        return full_like(made, 0)
    shape = _common_shape([value.aval.shape for value in (made, *factors)])
    result = _in_shape(factors.pop(), shape)
    if len(factors) <= limit:
        for factor in reversed(factors):
            result = add(mul(result, made), factor)
        return as_array(result)
    if any([factor.aval.shape for factor in factors]):
        factors = [_in_shape(factor, shape) for factor in factors]
    steps = concatenate([expand_dims(factor, (0,)) for factor in factors], 0)
    result, _ = scan(lambda total, factor: (add(mul(total, made), factor), None), result, steps, reverse=True)
    return as_array(result)


def _common_shape(shapes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(f"polynomial: x and coeffs must broadcast together, got shapes {shapes}") from None


def _in_dtype(factor: ArrayLike, x: Any) -> Any:
    """A coefficient in the dtype of `x`: a number with its weak type, too."""
    if not isinstance(factor, Tracer) and np.ndim(factor) == 0:  # type: ignore[arg-type]
        value = factor if isinstance(factor, (bool, int, float, complex)) else np.asarray(factor)
        return operand("polynomial", constant(value, x.aval.dtype, x.aval.weak_type), "coeffs")  # type: ignore[arg-type]
    return convert_element_type(operand("polynomial", factor, "coeffs"), x.aval.dtype)


def _in_shape(value: Any, shape: Dimensions) -> Any:
    rank = len(value.aval.shape)
    return value if value.aval.shape == shape else broadcast_in_dim(value, shape, tuple(range(rank)))
