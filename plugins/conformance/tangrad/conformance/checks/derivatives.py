"""Derivatives: against finite differences in double precision, and backward against forward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad.conformance.checks.parameters import carries_program
from tangrad.conformance.comparison import Mismatch, as_numpy, check_near
from tangrad.conformance.samples import Sample, reference_backend
from tangrad.core import rule_table

Cells = Iterator[tuple[str, Callable[[], None]]]

DOUBLE = {"float32": np.float64, "float64": np.float64, "complex64": np.complex128, "complex128": np.complex128}
STEP, TOLERANCE = 1e-6, 2e-5
WIDE_STEP, WIDE_TOLERANCE = 1e-4, 2e-3


class _Point:
    """The sample as a function of its inexact arguments, in double precision, with a direction.

    Where the sample has axes, derivatives are taken within them, of one example: rules see the axes' names.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.args = [_double(arg) for arg in sample.args]
        self.active = [position for position, arg in enumerate(self.args) if arg.dtype.kind in "fc"]
        rng = np.random.default_rng(7)
        self.primals = tuple([self.args[position] for position in self.active])
        self.tangents = tuple([_normal(rng, primal) for primal in self.primals])
        with use_backend(reference_backend()):
            results = as_numpy(sample.apply(*self.args))
        self.kept = [position for position, result in enumerate(results) if result.dtype.kind in "fc"]
        self.cotangents = tuple([_normal(rng, results[position]) for position in self.kept])

    def _filled(self, primals: Any, args: Sequence[Any]) -> list[Any]:
        """All arguments, with other inexact ones."""
        filled = list(args)
        for position, primal in zip(self.active, primals):
            filled[position] = primal
        return filled

    def each(self, function: Callable[..., Any], primals: Any, *more: Any) -> Any:
        """`function(f, primals, *more)` for each example, `f` being the inexact results of the primals there."""
        count, sizes = len(self.args), [len(values) for values in more]

        def example(*flat: Any) -> Any:
            args, groups, start = flat[:count], [], count
            for size in sizes:
                groups.append(flat[start : start + size])
                start += size

            def one(*values: Any) -> tuple[Any, ...]:
                results = self.sample.apply_one(*self._filled(values, args))
                return tuple([results[position] for position in self.kept])

            return function(one, tuple([args[position] for position in self.active]), *groups)

        values = [value for group in more for value in group]
        return self.sample.around(example)(*self._filled(primals, self.args), *values)

    def function(self, *primals: Any) -> tuple[Any, ...]:
        """The inexact results."""
        return self.each(lambda one, point: one(*point), primals)  # type: ignore[no-any-return]

    def moved(self, step: float) -> tuple[Any, ...]:
        """The primals, a step further in the direction."""
        return tuple([primal + step * tangent for primal, tangent in zip(self.primals, self.tangents)])

    def differences(self) -> list[Any]:
        """The derivative in the direction, by central differences."""
        ahead, behind = [as_numpy(self.function(*self.moved(step))) for step in (STEP, -STEP)]
        return [(x - y) / (2 * STEP) for x, y in zip(ahead, behind)]

    def slope(self, *primals: Any) -> tuple[Any, ...]:
        """The derivative in the direction."""
        return self.each(_slope, primals, self.tangents)  # type: ignore[no-any-return]


def _slope(one: Any, primals: Any, tangents: Any) -> Any:
    return tangrad.jvp(one, primals, tangents)[1]


def _pulled(one: Any, primals: Any, cotangents: Any) -> Any:
    return tangrad.vjp(one, *primals)[1](tuple(cotangents))


def _second(one: Any, primals: Any, tangents: Any) -> Any:
    return tangrad.jvp(lambda *point: _slope(one, point, tangents), primals, tangents)[1]


def _pulled_slope(one: Any, primals: Any, tangents: Any, cotangents: Any) -> Any:
    return _pulled(lambda *point: _slope(one, point, tangents), primals, cotangents)


def _double(arg: Any) -> Any:
    array = np.asarray(arg)
    kind = DOUBLE.get(array.dtype.name)
    return array if kind is None else array.astype(kind)


def _normal(rng: Any, like: Any) -> Any:
    real = rng.normal(size=like.shape)
    return np.asarray(real if like.dtype.kind == "f" else real + 1j * rng.normal(size=like.shape), like.dtype)


def _point(sample: Sample, order: int) -> _Point | None:
    """None where there is nothing to differentiate: by the sample, by its dtypes, or by nature."""
    if sample.derivatives < order or rule_table("jvp").cell(sample.primitive).status == "not applicable":
        return None
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    if any([kind.name not in DOUBLE and kind.kind not in "biu" for kind in kinds]):
        return None
    if not any([kind.kind in "fc" for kind in kinds]):
        return None
    point = _Point(sample)
    return point if point.kept else None


def check_jvp(sample: Sample) -> Cells:
    """The derivative against central differences."""
    point = _point(sample, 1)
    if point is not None:
        yield "forward", partial(_check_jvp, point)


def _check_jvp(point: _Point) -> None:
    with use_backend(reference_backend()):
        found = as_numpy(point.slope(*point.primals))
        expected = point.differences()
    for x, y in zip(found, expected):
        check_near(x, y, TOLERANCE, "derivative, differences")


def check_transpose(sample: Sample) -> Cells:
    """The derivative read backwards against it read forwards: Σ c · J t = Σ (Jᵀ c) · t."""
    point = _point(sample, 1)
    if point is not None:
        yield "backward", partial(_check_transpose, point)
        # What a program among the parameters is made of need not be linear, though the function be.
        linear = rule_table("transpose").cell(sample.primitive).status == "rule"
        if linear and not carries_program(sample):
            for positions in _linear_positions(point):
                yield f"linear in {positions}", partial(_check_linear_transpose, point, positions)


def _linear_positions(point: _Point) -> list[tuple[int, ...]]:
    """In which of the inexact arguments, alone or all together, the function turns out to be linear."""
    count = len(point.primals)
    candidates = [(position,) for position in range(count)] + ([tuple(range(count))] if count > 1 else [])
    return [positions for positions in candidates if _is_linear(point, positions)]


def _is_linear(point: _Point, positions: tuple[int, ...]) -> bool:
    function, xs = _restricted(point, positions), [point.primals[position] for position in positions]
    ys = [point.tangents[position] for position in positions]
    with use_backend(reference_backend()):
        first, second = as_numpy(function(*xs)), as_numpy(function(*ys))
        if not _depends_on_each(function, xs, ys, first):
            return False  # linear in them all because some are not used: the rule need not know
        both = as_numpy(function(*[2 * x - y for x, y in zip(xs, ys)]))
    return all([np.allclose(2 * x - y, z, rtol=1e-9, atol=1e-9) for x, y, z in zip(first, second, both)]) and all(
        [np.allclose(out, 0) for out in as_numpy(function(*[np.zeros_like(x) for x in xs]))]
    )


def _depends_on_each(function: Callable[..., Any], xs: list[Any], ys: list[Any], outs: list[Any]) -> bool:
    """Whether the results change with each argument."""
    changed = [as_numpy(function(*xs[:i], y, *xs[i + 1 :])) for i, y in enumerate(ys)]
    return all([any([not np.array_equal(x, y) for x, y in zip(others, outs)]) for others in changed])


def _restricted(point: _Point, positions: tuple[int, ...]) -> Callable[..., Any]:
    def function(*values: Any) -> Any:
        primals = list(point.primals)
        for position, value in zip(positions, values):
            primals[position] = value
        return point.function(*primals)

    return function


def _check_linear_transpose(point: _Point, positions: tuple[int, ...]) -> None:
    """The transpose rule of the primitive itself, whatever its derivative is made of."""
    function, tangents = _restricted(point, positions), [point.tangents[position] for position in positions]

    def transposed(one: Any, primals: Any, cotangents: Any) -> Any:
        def linear(*values: Any) -> Any:
            found = list(primals)
            for position, value in zip(positions, values):
                found[position] = value
            return one(*found)

        return tangrad.linear_transpose(linear, *[primals[position] for position in positions])(tuple(cotangents))

    with use_backend(reference_backend()):
        backward = as_numpy(point.each(transposed, point.primals, point.cotangents))
        forward = as_numpy(function(*tangents))
    left, right = _product(forward, point.cotangents), _product(backward, tangents)
    if not np.isclose(left, right, rtol=1e-7, atol=1e-8):
        raise Mismatch(f"c · L t = {left}, but Lᵀ c · t = {right}")


def _check_transpose(point: _Point) -> None:
    # Where there is no forward derivative, differences take its place.
    differences = "jvp" in point.sample.without
    with use_backend(reference_backend()):
        backward = as_numpy(point.each(_pulled, point.primals, point.cotangents))
        forward = point.differences() if differences else as_numpy(point.slope(*point.primals))
    for found, primal in zip(backward, point.primals):
        if found.shape != primal.shape or found.dtype != primal.dtype:
            raise Mismatch(f"a cotangent is {found.dtype}{found.shape}, its primal {primal.dtype}{primal.shape}")
    left, right = _product(forward, point.cotangents), _product(backward, point.tangents)
    scale = max(1.0, *[float(np.abs(x).sum()) for x in forward])
    if not np.isclose(left, right, rtol=TOLERANCE if differences else 1e-7, atol=1e-9 * scale):
        raise Mismatch(f"c · J t = {left}, but Jᵀ c · t = {right}")


def _product(xs: Any, ys: Any) -> float:
    # The pairing is without conjugation; of maps that are linear over the reals only, its real part is kept.
    return float(sum([np.real(np.sum(x * y)) for x, y in zip(xs, ys)]))


def check_second(sample: Sample) -> Cells:
    """The derivative of the derivative against differences of the derivative; and read backwards."""
    point = _point(sample, 2)
    if point is not None:
        yield "forward over forward", partial(_check_second, point)
        yield "backward over forward", partial(_check_second_backward, point)


def _check_second(point: _Point) -> None:
    with use_backend(reference_backend()):
        found = point.each(_second, point.primals, point.tangents)
        ahead, behind = [as_numpy(point.slope(*point.moved(step))) for step in (WIDE_STEP, -WIDE_STEP)]
    for x, y, z in zip(as_numpy(found), ahead, behind):
        check_near(x, (y - z) / (2 * WIDE_STEP), WIDE_TOLERANCE, "second derivative, differences")


def _check_second_backward(point: _Point) -> None:
    with use_backend(reference_backend()):
        forward = point.each(_second, point.primals, point.tangents)
        backward = as_numpy(point.each(_pulled_slope, point.primals, point.tangents, point.cotangents))
    left, right = _product(as_numpy(forward), point.cotangents), _product(backward, point.tangents)
    if not np.isclose(left, right, rtol=1e-6, atol=1e-7):
        raise Mismatch(f"c · H t = {left}, but Hᵀ c · t = {right}")
