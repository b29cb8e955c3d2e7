"""Values and derivatives of one function at many points at once, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mpmath
import numpy as np

import tangrad
import tangrad.numpy as tnp

Function = Callable[[Any], Any]


class Fault(NamedTuple):
    """A result that is not the true one."""

    point: Any
    order: str
    found: float
    expected: float

    def __str__(self) -> str:
        return f"{self.order} at {self.point}: {self.found}, not {self.expected:.6g}"


def _along(function: Function) -> Function:
    return lambda x: tangrad.jvp(function, (x,), (tnp.ones_like(x),))[1]


def _across(function: Function) -> Function:
    def derivative(x: Any) -> Any:
        result, pullback = tangrad.vjp(function, x)
        return pullback(tnp.ones_like(result))[0]

    return derivative


def all_orders(function: Function) -> Function:
    """A function of an array that gives value and derivatives, by forward and by reverse mode."""

    def orders(x: Any) -> dict[str, Any]:
        return {
            "0": function(x),
            "1 forward": _along(function)(x),
            "1 reverse": _across(function)(x),
            "2 forward": _along(_along(function))(x),
            "2 mixed": _along(_across(function))(x),
            "2 reverse": _across(_across(function))(x),
        }

    return orders


def faults(
    points: list[Any],
    found: dict[str, Any],
    expected: list[list[Any]],
    scales: list[Any],
    dtype: str,
    ulps: float,
    floor: float = 0,
) -> Iterator[Fault]:
    """What is wrong by more than `ulps` units of the result, or of its change with the last digit of the argument."""
    for label, values in found.items():
        order = int(label[0])
        for place, (value, truth) in enumerate(zip(np.asarray(values, np.float64), expected[order], strict=True)):
            if truth is None or (order and mpmath.isnan(truth)):
                continue
            if dtype == "float16" and _leaves_range(dtype, [column[place] for column in expected]):
                continue
            slope = expected[order + 1][place]
            below = expected[1][place] if order == 2 else None
            if not _agrees(float(value), truth, slope, below, scales[place], dtype, (ulps, floor)):
                yield Fault(points[place], label, float(value), float(truth))


def _leaves_range(dtype: str, orders: list[Any]) -> bool:
    """Whether a value or derivative is finite and yet none of the dtype's, as of short floats close to edges."""
    greatest = float(tnp.finfo(dtype).max)
    known = [value for value in orders if value is not None and mpmath.isfinite(value)]
    return any([abs(value) > 0.98 * greatest for value in known])


def _agrees(
    value: float, truth: Any, slope: Any, below: Any, scale: float, dtype: str, allowed: tuple[float, float]
) -> bool:
    info = tnp.finfo(dtype)
    greatest, least, epsilon = float(info.max), float(info.smallest_normal), float(info.eps)
    if mpmath.isnan(truth):
        return np.isnan(value)
    if np.isnan(value):
        return False
    if abs(truth) > 0.98 * greatest:
        return (value > 0) == (truth > 0) and abs(value) > 0.5 * greatest
    ulps, floor = allowed
    known = slope is not None and mpmath.isfinite(slope) and np.isfinite(scale)
    condition = abs(mpmath.mpf(scale) * slope) if known else 0
    if below is not None and mpmath.isfinite(below) and np.isfinite(scale):
        # A first derivative that is right to the last digit may hide so much of the second.
        condition += abs(below) / max(abs(mpmath.mpf(scale)), 1)
    return bool(abs(value - truth) <= epsilon * (ulps * (abs(truth) + condition) + floor) + 4 * least)
