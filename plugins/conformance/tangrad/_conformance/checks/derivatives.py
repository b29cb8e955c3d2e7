"""Derivatives: against finite differences in double precision, backward against forward; and transpose rules alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import Mismatch, as_numpy, check_near, check_same
from tangrad._conformance.point import Point, linear_point_of, point_of, product, slope_of
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import rule_table

if TYPE_CHECKING:
    from tangrad._conformance.point import Results
    from tangrad.core import Array

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


def _is_about(x: np.ndarray, y: np.ndarray) -> bool:
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


def _is_near(x: np.ndarray, y: np.ndarray) -> bool:
    return np.allclose(x, y, rtol=1e-9, atol=1e-9)


def _depends_on_each(function: Results, xs: list[np.ndarray], ys: list[np.ndarray], outs: list[np.ndarray]) -> bool:
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


def _pulled(point: Point, positions: Sequence[int]) -> list[np.ndarray]:
    """The cotangents of some arguments, by the transpose rule."""

    def transposed(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
        def linear(*values: object) -> tuple[Array, ...]:
            found: list[object] = list(primals)
            for position, value in zip(positions, values):
                found[position] = value
            return one(*found)

        return tangrad.linear_transpose(linear, *[primals[position] for position in positions])(tuple(cotangents))

    with use_backend(reference_backend()):
        return as_numpy(point.each(transposed, point.primals, point.cotangents))


TOLERANCE = 2e-5
WIDE_STEP, WIDE_TOLERANCE = 1e-4, 2e-3


def check_jvp(sample: Sample) -> Cells:
    """The derivative against central differences, and the results beside it against those of the primitive."""
    point = point_of(sample, 1)
    if point is not None:
        yield "forward", partial(_check_jvp, point)
        yield "forward, results", partial(_check_results, point, True)


def _check_jvp(point: Point) -> None:
    for x, y in zip(point.forward.derivatives, point.differences, strict=True):
        check_near(x, y, TOLERANCE, "derivative, differences")


def _check_results(point: Point, forward: bool) -> None:
    expected = point.results if forward else point.inexact(point.results)
    found = point.forward.results if forward else point.backward.results
    check_same(found, expected, point.sample.tolerance, "with its derivative, alone")


def check_transpose(sample: Sample) -> Cells:
    """The derivative read backwards against it read forwards: Σ c · J t = Σ (Jᵀ c) · t; and of each argument alone."""
    point = point_of(sample, 1)
    # What a program among the parameters is made of need not be linear, though the function be.
    is_transposed = rule_table("transpose").cell(sample.primitive).status == "rule" and not carries_program(sample)
    if is_transposed:
        yield from check_refusal(sample)
    if point is None:
        return
    yield "backward", partial(_check_transpose, point)
    yield "backward, results", partial(_check_results, point, False)
    if "jvp" not in sample.without:
        yield "forward, transposed", partial(_check_transposed, point)
    if len(point.primals) > 1:
        for position in range(len(point.primals)):
            yield f"argument {point.active[position]} alone", partial(_check_argument, point, position)
    if len(point.kept) > 1:
        for position in range(len(point.kept)):
            yield f"result {point.kept[position]} alone", partial(_check_result, point, position)
    if is_transposed:
        for positions in linear_positions(point):
            yield f"linear in {positions}", partial(check_linear_transpose, point, positions)


def _check_transpose(point: Point) -> None:
    # Where there is no forward derivative, differences take its place.
    differences = "jvp" in point.sample.without
    backward = point.backward.derivatives
    forward = point.differences if differences else point.forward.derivatives
    for found, primal in zip(backward, point.primals, strict=True):
        if found.shape != primal.shape or found.dtype != primal.dtype:
            raise Mismatch(f"a cotangent is {found.dtype}{found.shape}, its primal {primal.dtype}{primal.shape}")
    left, right = product(forward, point.cotangents), product(backward, point.tangents)
    scale = max(1.0, *[float(np.abs(x).sum()) for x in forward])
    if not np.isclose(left, right, rtol=TOLERANCE if differences else 1e-7, atol=1e-9 * scale):
        raise Mismatch(f"c · J t = {left}, but Jᵀ c · t = {right}")


def _check_transposed(point: Point) -> None:
    """The forward derivative as a linear function of the tangents: in a program known primals meet unknown tangents."""

    def transposed(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
        linear = tangrad.linear_transpose(lambda *tangents: slope_of(one, primals, tangents), *primals)
        return linear(tuple(cotangents))

    with use_backend(reference_backend()):
        found = as_numpy(point.each(transposed, point.primals, point.cotangents))
    check_same(found, point.backward.derivatives, 1e-7, "the forward derivative transposed, backward")


def _check_argument(point: Point, position: int) -> None:
    """By one argument alone, the others being known: rules see no tangents of theirs."""

    def alone(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
        others = list(primals)

        def function(value: Array) -> tuple[Array, ...]:
            return one(*others[:position], value, *others[position + 1 :])

        return tangrad.vjp(function, primals[position])[1](tuple(cotangents))

    with use_backend(reference_backend()):
        found = as_numpy(point.each(alone, point.primals, point.cotangents))
    check_same(found, [point.backward.derivatives[position]], 1e-7, "by one argument, by all of them")


def _check_result(point: Point, position: int) -> None:
    """Of one result alone: the cotangents of the others are no arrays of zeros then, but absent."""

    def alone(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, Array]:
        return tangrad.vjp(lambda *values: one(*values)[position], *primals)[1](cotangents[position])

    def padded(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
        return tangrad.vjp(one, *primals)[1](tuple(cotangents))

    zeros = [ct if i == position else np.zeros_like(ct) for i, ct in enumerate(point.cotangents)]
    with use_backend(reference_backend()):
        found = as_numpy(point.each(alone, point.primals, point.cotangents))
        expected = point.each(padded, point.primals, zeros)
        check_same(found, expected, 1e-7, "of one result, with zeros for the others")


# --- the derivative of the derivative --------------------------------------------------------------------------------


def check_second(sample: Sample) -> Cells:
    """The derivative of the derivative against differences of the derivative; and read backwards."""
    point = point_of(sample, 2)
    if point is not None:
        yield "forward over forward", partial(_check_second, point)
        yield "backward over forward", partial(_check_second_backward, point)


def _second(one: Results, primals: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, ...]:
    return tangrad.jvp(lambda *point: slope_of(one, point, tangents), primals, tangents)[1]


def _pulled_slope(
    one: Results, primals: Sequence[Array], tangents: Sequence[Array], cotangents: Sequence[Array]
) -> tuple[Array, ...]:
    return tangrad.vjp(lambda *point: slope_of(one, point, tangents), *primals)[1](tuple(cotangents))


def _check_second(point: Point) -> None:
    with use_backend(reference_backend()):
        found = point.each(_second, point.primals, point.tangents)
        ahead, behind = [as_numpy(point.slope(*point.moved(step))) for step in (WIDE_STEP, -WIDE_STEP)]
    for x, y, z in zip(as_numpy(found), ahead, behind, strict=True):
        check_near(x, (y - z) / (2 * WIDE_STEP), WIDE_TOLERANCE, "second derivative, differences")


def _check_second_backward(point: Point) -> None:
    with use_backend(reference_backend()):
        forward = point.each(_second, point.primals, point.tangents)
        backward = as_numpy(point.each(_pulled_slope, point.primals, point.tangents, point.cotangents))
    left, right = product(as_numpy(forward), point.cotangents), product(backward, point.tangents)
    if not np.isclose(left, right, rtol=1e-6, atol=1e-7):
        raise Mismatch(f"c · H t = {left}, but Hᵀ c · t = {right}")
