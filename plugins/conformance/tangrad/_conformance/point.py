"""A sample as a point to differentiate at: in double precision, with a direction, and what is evaluated there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.comparison import as_numpy
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import rule_table

if TYPE_CHECKING:
    from typing import TypeAlias

    from tangrad.core import Array
    from tangrad.typing import Value

    Results: TypeAlias = Callable[..., tuple[Array, ...]]  # of the primals

T = TypeVar("T")

DOUBLE = {"float32": np.float64, "float64": np.float64, "complex64": np.complex128, "complex128": np.complex128}
STEP = 1e-6


class Derivative(NamedTuple):
    """What a derivative gives, as NumPy arrays: the function's results, and the derivatives of the inexact ones."""

    results: list[np.ndarray]
    derivatives: list[np.ndarray]


class Point:
    """The sample as a function of its inexact arguments, in double precision, with a direction.

    Where the sample has axes, derivatives are taken within them, of one example: rules see the axes' names. What is
    evaluated is kept: several checks ask for it.
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.args = [_double(arg) for arg in sample.args]
        self.active = [position for position, arg in enumerate(self.args) if arg.dtype.kind in "fc"]
        rng = np.random.default_rng(7)
        self.primals = tuple([self.args[position] for position in self.active])
        self.tangents = tuple([_normal(rng, primal) for primal in self.primals])
        with use_backend(reference_backend()):
            self.results = as_numpy(sample.apply(*self.args))
        self.kept = [position for position, result in enumerate(self.results) if result.dtype.kind in "fc"]
        self.cotangents = tuple([_normal(rng, self.results[position]) for position in self.kept])

    def _filled(self, primals: Sequence[object], args: Sequence[object]) -> list[object]:
        """All arguments, with other inexact ones."""
        filled = list(args)
        for position, primal in zip(self.active, primals):
            filled[position] = primal
        return filled

    def each(
        self,
        function: Callable[..., tuple[Array, ...]],
        primals: Sequence[object],
        *more: Sequence[object],
        everything: bool = False,
    ) -> tuple[Array, ...]:
        """`function(f, primals, *more)` for each example; `f` gives the inexact results there, or all."""
        count, sizes = len(self.args), [len(values) for values in more]

        def example(*flat: object) -> tuple[Array, ...]:
            args, groups, start = flat[:count], [], count
            for size in sizes:
                groups.append(flat[start : start + size])
                start += size

            def one(*values: object) -> tuple[Value, ...]:
                results = self.sample.apply_one(*self._filled(values, args))
                return tuple(results) if everything else self.inexact(results)

            return function(one, tuple([args[position] for position in self.active]), *groups)

        values = [value for group in more for value in group]
        return self.sample.around(example)(*self._filled(primals, self.args), *values)

    def inexact(self, results: Sequence[T]) -> tuple[T, ...]:
        """Of all results those that have derivatives."""
        return tuple([results[position] for position in self.kept])

    def function(self, *primals: object) -> tuple[Array, ...]:
        """The inexact results."""
        return self.each(lambda one, point: one(*point), primals)

    def moved(self, step: float) -> tuple[np.ndarray, ...]:
        """The primals, a step further in the direction."""
        return tuple([primal + step * tangent for primal, tangent in zip(self.primals, self.tangents)])

    @cached_property
    def differences(self) -> list[np.ndarray]:
        """The derivative in the direction, by central differences."""
        with use_backend(reference_backend()):
            ahead, behind = [as_numpy(self.function(*self.moved(step))) for step in (STEP, -STEP)]
        return [(x - y) / (2 * STEP) for x, y in zip(ahead, behind)]

    @cached_property
    def forward(self) -> Derivative:
        """The derivative in the direction, with the results that come beside it."""

        def both(one: Results, primals: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, ...]:
            results, derivatives = tangrad.jvp(one, primals, tangents)
            return (*results, *self.inexact(derivatives))

        with use_backend(reference_backend()):
            found = as_numpy(self.each(both, self.primals, self.tangents, everything=True))
        return Derivative(found[: len(self.results)], found[len(self.results) :])

    @cached_property
    def backward(self) -> Derivative:
        """The cotangents of the primals, with the inexact results that come beside them."""

        def both(one: Results, primals: Sequence[Array], cotangents: Sequence[Array]) -> tuple[Array, ...]:
            results, pull = tangrad.vjp(one, *primals)
            return (*results, *pull(tuple(cotangents)))

        with use_backend(reference_backend()):
            found = as_numpy(self.each(both, self.primals, self.cotangents))
        return Derivative(found[: len(self.kept)], found[len(self.kept) :])

    def slope(self, *primals: object) -> tuple[Array, ...]:
        """The derivative in the direction."""
        return self.each(slope_of, primals, self.tangents)

    def restricted(self, positions: Sequence[int]) -> Results:
        """The function of some of the inexact arguments alone."""

        def function(*values: object) -> tuple[Array, ...]:
            primals: list[object] = list(self.primals)
            for position, value in zip(positions, values):
                primals[position] = value
            return self.function(*primals)

        return function

    def at(self, args: Sequence[object]) -> Point:
        """The same at other arguments."""
        return Point(replace(self.sample, args=tuple(args)))


def slope_of(one: Results, primals: Sequence[Array], tangents: Sequence[Array]) -> tuple[Array, ...]:
    """The derivative of a function of several arrays, in a direction."""
    return tangrad.jvp(one, primals, tangents)[1]


def product(xs: Iterable[np.ndarray], ys: Iterable[np.ndarray]) -> float:
    """The pairing of two lists of arrays, without conjugation; of maps linear over the reals only its real part."""
    return float(sum([np.real(np.sum(x * y)) for x, y in zip(xs, ys)]))


def _double(arg: object) -> np.ndarray:
    array = np.asarray(arg)
    kind = DOUBLE.get(array.dtype.name)
    return array if kind is None else array.astype(kind)


def doubled(sample: Sample) -> Sample | None:
    """The sample in double precision; None where it is so, or has no such dtypes."""
    args = [_double(arg) for arg in sample.args]
    changed = any([one.dtype != np.asarray(arg).dtype for one, arg in zip(args, sample.args)])
    return replace(sample, args=tuple(args)) if changed else None


def _normal(rng: np.random.Generator, like: np.ndarray) -> np.ndarray:
    real = rng.normal(size=like.shape)
    return np.asarray(real if like.dtype.kind == "f" else real + 1j * rng.normal(size=like.shape), like.dtype)


def is_differentiated(sample: Sample, order: int) -> bool:
    """Whether there is something to differentiate: by the sample, and by nature."""
    if sample.derivatives < order or rule_table("jvp").cell(sample.primitive).status == "not applicable":
        return False
    return any([np.asarray(arg).dtype.name in DOUBLE for arg in sample.args])


@lru_cache(maxsize=2)  # samples come by one after the other, and several checks ask for the same one
def _point_of(sample: Sample) -> Point | None:
    point = Point(sample)
    return point if point.kept else None


def point_of(sample: Sample, order: int) -> Point | None:
    """The point of a sample, or None where there is nothing to differentiate that often in double precision."""
    return _point_of(sample) if _is_plain(sample) and is_differentiated(sample, order) else None


def linear_point_of(sample: Sample) -> Point | None:
    """The point of a sample, whether it is differentiated or not; None where nothing is in double precision."""
    inexact = any([np.asarray(arg).dtype.name in DOUBLE for arg in sample.args])
    return _point_of(sample) if inexact and _is_plain(sample) else None


def _is_plain(sample: Sample) -> bool:
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    return all([kind.name in DOUBLE or kind.kind in "biu" for kind in kinds])
