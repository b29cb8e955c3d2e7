"""Derivatives at 0, 1 and -1, at ties, and where there is none: where formulas divide by zero, and cases meet.

Differences from either side say what is to be expected. Where both agree, that is the derivative. Where they do not,
what a rule gives is between them: any such number is a convention, one beyond them, or NaN, is a mistake, unless
several kinks add up to it. Where one side has no limit (at an end of the domain, at a pole) any answer will do, if
backward is as forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.checks.kinks import STEPS, TOLERANCE, bounds, has_kinks_inside, one_sided
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy
from tangrad._conformance.point import Point, point_of, product
from tangrad._conformance.samples import Sample, reference_backend

Cells = Iterator[tuple[str, Callable[[], None]]]

SPECIAL = (0.0, 1.0, -1.0)


def check_points(sample: Sample) -> Cells:
    """The derivative at special points of each operand, and where all operands have the same."""
    point = point_of(sample, 1) if not carries_program(sample) else None
    if point is None:
        return
    places = [position for position in point.active if point.args[position].size]
    choices = [(f"operand {position}", [position]) for position in places]
    if len(places) > 1:
        choices.append(("all operands", places))
    for subject, positions in choices:
        least = min([point.args[position].size for position in positions])
        turns = range(1 if least >= len(SPECIAL) else len(SPECIAL))
        for turn in turns:
            values = f" from {SPECIAL[turn]:g}" if len(turns) > 1 else ""
            yield f"{subject} at 0, 1, -1{values}", partial(_check_point, point, positions, turn)


def _special_args(point: Point, positions: list[int], turn: int) -> list[Any]:
    args = list(point.args)
    for position in positions:
        arg = args[position]
        args[position] = np.resize(np.roll(SPECIAL, -turn), arg.size).reshape(arg.shape).astype(arg.dtype)
    return args


def _check_point(usual: Point, positions: list[int], turn: int) -> None:
    point = usual.at(_special_args(usual, positions, turn))
    with np.errstate(all="ignore"):
        if "jvp" not in point.sample.without:
            _check_forward(point)
        _check_backward(point)


def _check_forward(point: Point) -> None:
    """Between the derivatives from either side; where it is not, between those that kinks allow."""
    behind, ahead = [_limits(point, sign) for sign in (-1, 1)]
    sides = [_ordered(x, y) for x, y in zip(behind, ahead, strict=True)]
    found = point.forward.derivatives
    if any([_beyond(x, *side).any() for x, side in zip(found, sides, strict=True)]):
        sides = [_wider(*pair) for pair in zip(sides, bounds(point), strict=True)]
        is_free = any([_beyond(x, *side).any() for x, side in zip(found, sides)]) and has_kinks_inside(point)
        for position, (x, side) in enumerate(zip(found, sides)):
            wrong = _beyond(x, *side) & ~(np.isfinite(x) & is_free)
            if wrong.any():
                place = tuple(np.argwhere(wrong)[0].tolist())
                between = " and ".join([f"{one[place]:.6g}" for one in side])
                raise Mismatch(
                    f"the derivative of result {point.kept[position]} is {x[place]:.6g} at {list(place)}: "
                    f"by differences it is between {between}"
                )


def _limits(point: Point, sign: int) -> list[Any]:
    """The derivatives from one side; NaN where the differences have no limit."""
    with use_backend(reference_backend()):
        far, near = [as_numpy(point.function(*point.moved(sign * step))) for step in STEPS[0]]
    return one_sided(point.inexact(point.results), far, near, (sign * STEPS[0][0], sign * STEPS[0][1]))


def _ordered(x: Any, y: Any) -> tuple[Any, Any]:
    if x.dtype.kind != "c":
        return np.minimum(x, y), np.maximum(x, y)
    (low, high), (below, above) = _ordered(x.real, y.real), _ordered(x.imag, y.imag)
    return low + 1j * below, high + 1j * above


def _wider(one: tuple[Any, Any], other: tuple[Any, Any]) -> tuple[Any, Any]:
    """The bounds of both; unknown where either is."""
    return _ordered(one[0], other[0])[0], _ordered(one[1], other[1])[1]


def _beyond(found: Any, low: Any, high: Any) -> Any:
    """Where a derivative is none of the numbers between bounds that are known."""
    if found.dtype.kind == "c":
        return _beyond(found.real, low.real, high.real) | _beyond(found.imag, low.imag, high.imag)
    slack = 2 * TOLERANCE * (1 + np.abs(low) + np.abs(high))
    return np.isfinite(low) & np.isfinite(high) & ~((found >= low - slack) & (found <= high + slack))


def _check_backward(point: Point) -> None:
    if "jvp" in point.sample.without or "transpose" in point.sample.without:
        return
    forward, backward = point.forward.derivatives, point.backward.derivatives
    if all([np.isfinite(x).all() for x in forward]):
        left, right = product(forward, point.cotangents), product(backward, point.tangents)
        scale = max(1.0, *[float(np.abs(x).sum()) for x in forward])
        if not np.isclose(left, right, rtol=1e-7, atol=1e-9 * scale):
            raise Mismatch(f"at special points c · J t = {left}, but Jᵀ c · t = {right}")
