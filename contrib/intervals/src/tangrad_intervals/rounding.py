"""Bounds are moved outwards by more than the rounding errors of the operations that computed them."""

from __future__ import annotations

from typing import Any

import numpy

from tangrad import lax
from tangrad.core import dtypes


def is_inexact(value: Any) -> bool:
    """Whether operations on values of this dtype round."""
    return bool(dtypes.issubdtype(value.dtype, numpy.floating))


def outward(low: Any, high: Any, units: float = 1.0) -> tuple[Any, Any]:
    """Bounds with room for an error of so many units in the last place of each, and for what flushes to zero.

    NaN, of infinities that meet, bounds nothing: it becomes an infinity.
    """
    if not is_inexact(low):
        return low, high
    low, high = low - _room(low, units), high + _room(high, units)
    infinity = numpy.array(numpy.inf, low.dtype)
    return _instead_of_nan(low, -infinity), _instead_of_nan(high, infinity)


def _room(value: Any, units: float) -> Any:
    limits = dtypes.finfo(value.dtype)
    # Twice: this product and the sum round too. Infinities stay as they are.
    step = abs(value) * numpy.array(2 * units * limits.eps, value.dtype) + numpy.array(2 * limits.tiny, value.dtype)
    return lax.select(lax.is_finite(step), step, lax.full_like(step, 0))


def _instead_of_nan(value: Any, other: Any) -> Any:
    return lax.select(value != value, lax.broadcast(other, value.shape), value)
