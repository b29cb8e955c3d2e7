"""Derivatives at 0, 1 and -1, at ties, and where there is none: where formulas divide by zero, and cases meet.

Differences from either side say what is to be expected. Where both agree, that is the derivative. Where they do not,
what a rule gives lies between them: any such number is a convention, one beyond them, or NaN, is a mistake. Where
one side has no limit (at an end of the domain, at a pole) any answer will do, if backward is as forward.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad.conformance.checks.parameters import carries_program
from tangrad.conformance.comparison import Mismatch, as_numpy
from tangrad.conformance.point import Point, point_of, product
from tangrad.conformance.samples import Sample, reference_backend

Cells = Iterator[tuple[str, Callable[[], None]]]

SPECIAL = (0.0, 1.0, -1.0)
NEAR, NEARER = 1e-5, 1e-6  # steps to either side: a limit is where both give the same
TOLERANCE = 1e-3


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
        behind, ahead = [_limits(point, sign) for sign in (-1, 1)]
        if "jvp" not in point.sample.without:
            for position, (x, y, z) in enumerate(zip(point.forward.derivatives, behind, ahead, strict=True)):
                for parts in zip(_parts(x), _parts(y), _parts(z), strict=True):
                    _check_between(*parts, point.kept[position])
        _check_backward(point)


def _limits(point: Point, sign: int) -> list[Any]:
    """The derivatives from one side; NaN where the differences have no limit."""
    at, found = point.inexact(point.results), []
    with use_backend(reference_backend()):
        far, near = [as_numpy(point.function(*point.moved(sign * step))) for step in (NEAR, NEARER)]
    for x, y, z in zip(at, far, near):
        coarse, fine = (y - x) / (sign * NEAR), (z - x) / (sign * NEARER)
        limit = np.abs(coarse - fine) <= TOLERANCE * (1 + np.abs(fine))
        unknown = complex(np.nan, np.nan) if fine.dtype.kind == "c" else np.nan
        found.append(np.where(limit & np.isfinite(fine), fine, unknown))
    return found


def _parts(array: Any) -> list[Any]:
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


def _check_between(found: Any, behind: Any, ahead: Any, position: int) -> None:
    known = np.isfinite(behind) & np.isfinite(ahead)
    slack = 2 * TOLERANCE * (1 + np.abs(behind) + np.abs(ahead))
    low, high = np.minimum(behind, ahead) - slack, np.maximum(behind, ahead) + slack
    wrong = known & ~((found >= low) & (found <= high))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        sides = f"{behind[place]:.6g} from below, {ahead[place]:.6g} from above"
        raise Mismatch(
            f"the derivative of result {position} is {found[place]:.6g} at {list(place)}: by differences {sides}"
        )


def _check_backward(point: Point) -> None:
    if "jvp" in point.sample.without or "transpose" in point.sample.without:
        return
    forward, backward = point.forward.derivatives, point.backward.derivatives
    if all([np.isfinite(x).all() for x in forward]):
        left, right = product(forward, point.cotangents), product(backward, point.tangents)
        scale = max(1.0, *[float(np.abs(x).sum()) for x in forward])
        if not np.isclose(left, right, rtol=1e-7, atol=1e-9 * scale):
            raise Mismatch(f"at special points c · J t = {left}, but Jᵀ c · t = {right}")
