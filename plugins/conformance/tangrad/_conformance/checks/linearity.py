"""The transpose rule of a primitive itself: against the primitive where that is linear; elsewhere it has to refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.comparison import Mismatch, as_numpy
from tangrad._conformance.point import Point, linear_point_of, product
from tangrad._conformance.samples import Sample, reference_backend

Cells = Iterator[tuple[str, Callable[[], None]]]

ROUNDED = 2e-2  # of the greatest number: what rounds to few digits passes as linear


def check_refusal(sample: Sample) -> Cells:
    """A rule must not answer for an argument that the primitive is not linear in, whatever is constant in it."""
    point = linear_point_of(sample)
    if point is None:
        return
    for position, argument in enumerate(point.active):
        yield f"not linear in {argument}", partial(_check_refusal, point, position)


def _check_refusal(point: Point, position: int) -> None:
    if _is_affine(point, (position,)):
        return
    try:
        _pulled(point, (position,))
    except Exception:  # whatever it raises: it gives no number
        return
    error = Mismatch(
        f"there is a transpose rule, which answers for argument {point.active[position]}, but the primitive is not "
        "linear in it: the rule must raise TypeError, or there must be none"
    )
    error.about = ("transpose",)
    raise error


def _is_affine(point: Point, positions: tuple[int, ...]) -> bool:
    """Whether the function is linear but for a constant, which other arguments are the reason of."""
    function, xs = point.restricted(positions), [point.primals[position] for position in positions]
    ys = [point.tangents[position] for position in positions]
    with use_backend(reference_backend()):
        first, second = as_numpy(function(*xs)), as_numpy(function(*ys))
        both = as_numpy(function(*[2 * x - y for x, y in zip(xs, ys)]))
    return all([_is_about(2 * x - y, z) for x, y, z in zip(first, second, both)])


def _is_about(x: Any, y: Any) -> bool:
    if not np.isfinite(x).all():  # the function is not defined there, and nothing is known
        return True
    return np.allclose(x, y, rtol=0, atol=ROUNDED * np.abs(x).max(initial=1e-9))


def linear_positions(point: Point) -> list[tuple[int, ...]]:
    """In which of the inexact arguments, alone or all together, the function turns out to be linear."""
    count = len(point.primals)
    candidates = [(position,) for position in range(count)] + ([tuple(range(count))] if count > 1 else [])
    return [positions for positions in candidates if _is_linear(point, positions)]


def _is_linear(point: Point, positions: tuple[int, ...]) -> bool:
    function, xs = point.restricted(positions), [point.primals[position] for position in positions]
    ys = [point.tangents[position] for position in positions]
    with use_backend(reference_backend()):
        first, second = as_numpy(function(*xs)), as_numpy(function(*ys))
        if not _depends_on_each(function, xs, ys, first):
            return False  # linear in them all because some are not used: the rule need not know
        both = as_numpy(function(*[2 * x - y for x, y in zip(xs, ys)]))
        nothing = as_numpy(function(*[np.zeros_like(x) for x in xs]))
    return all([_is_near(2 * x - y, z) for x, y, z in zip(first, second, both)]) and all(
        [_is_near(out, np.zeros_like(out)) for out in nothing]
    )


def _is_near(x: Any, y: Any) -> bool:
    return np.allclose(x, y, rtol=1e-9, atol=1e-9)


def _depends_on_each(function: Callable[..., Any], xs: list[Any], ys: list[Any], outs: list[Any]) -> bool:
    """Whether the results change with each argument, by more than they are rounded."""
    changed = [as_numpy(function(*xs[:i], y, *xs[i + 1 :])) for i, y in enumerate(ys)]
    return all([any([not _is_near(x, y) for x, y in zip(others, outs)]) for others in changed])


def check_linear_transpose(point: Point, positions: Sequence[int]) -> None:
    """The transpose rule of the primitive itself, whatever its derivative is made of."""
    function, tangents = point.restricted(positions), [point.tangents[position] for position in positions]
    backward = _pulled(point, positions)
    with use_backend(reference_backend()):
        forward = as_numpy(function(*tangents))
    left, right = product(forward, point.cotangents), product(backward, tangents)
    if not np.isclose(left, right, rtol=1e-7, atol=1e-8):
        raise Mismatch(f"c · L t = {left}, but Lᵀ c · t = {right}")


def _pulled(point: Point, positions: Sequence[int]) -> list[Any]:
    """The cotangents of some arguments, by the transpose rule."""

    def transposed(one: Any, primals: Any, cotangents: Any) -> Any:
        def linear(*values: Any) -> Any:
            found = list(primals)
            for position, value in zip(positions, values):
                found[position] = value
            return one(*found)

        return tangrad.linear_transpose(linear, *[primals[position] for position in positions])(tuple(cotangents))

    with use_backend(reference_backend()):
        return as_numpy(point.each(transposed, point.primals, point.cotangents))
