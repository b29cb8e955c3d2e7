"""How large steps are: Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I (1993), section II.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tangrad.numpy as tnp
from tangrad._scipy.ode.dormand_prince import ORDER, Dynamics

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Value

SAFETY = 0.9  # the next step is to be accepted even where the error is somewhat larger than estimated
LEAST, MOST = 0.2, 10.0  # how much smaller or larger the next step may be


def norm(values: Value, scale: Value) -> Array:
    """The root mean square of values in units of `scale`."""
    if not values.size:
        return tnp.zeros((), scale.dtype)
    return tnp.sqrt(tnp.mean((tnp.abs(values) / scale) ** 2))


def scale_of(y: Value, other: Value, rtol: Any, atol: Any) -> Array:
    """How large an error of each component may be."""
    return atol + rtol * tnp.maximum(tnp.abs(y), tnp.abs(other))


def first_size(dynamics: Dynamics, y: Value, slope: Value, t: Value, rtol: Any, atol: Any) -> Array:
    """A first step whose error is about as large as it may be."""
    scale = scale_of(y, y, rtol, atol)
    position, speed = norm(y, scale), norm(slope, scale)
    is_small = (position < 1e-5) | (speed < 1e-5)
    guess = tnp.where(is_small, 1e-6, 0.01 * position / tnp.where(is_small, 1.0, speed)).astype(t.dtype)
    further = dynamics(y + guess.astype(y.dtype) * slope, t + guess)
    bend = norm(further - slope, scale) / guess
    largest = tnp.maximum(speed, bend)
    is_straight = largest <= 1e-15
    by_order = (0.01 / tnp.where(is_straight, 1.0, largest)) ** (1 / ORDER)
    size = tnp.where(is_straight, tnp.maximum(1e-6, guess * 1e-3), by_order)
    return tnp.minimum(100 * guess, size).astype(t.dtype)


def next_size(size: Value, error: Value) -> Array:
    """The size of the next step after one whose error was `error` times what it may be."""
    is_number = tnp.isfinite(error)
    known = tnp.where(is_number & (error > 0), error, 1.0)
    factor = tnp.where(error == 0, MOST, tnp.clip(SAFETY * known ** (-1 / ORDER), LEAST, MOST))
    factor = tnp.where(error > 1, tnp.minimum(factor, 1.0), factor)
    return size * tnp.where(is_number, factor, LEAST).astype(size.dtype)
