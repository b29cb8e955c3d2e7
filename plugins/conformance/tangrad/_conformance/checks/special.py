"""NaN, infinities, zeros of both signs, denormal and huge numbers: whether a value comes through in every way to run.

What a primitive makes of such operands is its own affair; the same must come out when it is applied directly, compiled,
decomposed, mapped, and on each backend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.checks.execution import compiled, decomposed
from tangrad._conformance.comparison import as_numpy, check_propagation
from tangrad._conformance.samples import Arguments, Sample, reference_backend
from tangrad.core import dtypes

Cells = Iterator[tuple[str, Callable[[], None]]]

ALL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, "denormal", "huge", "-huge")
ELSEWHERE = (np.nan, 1.0, np.inf, -np.inf, 0.5)  # how denormal and huge numbers are rounded is a backend's own affair
TURNS = 4  # how often the values are turned, until each has been an element of a small operand


def check_special(sample: Sample) -> Cells:
    """Special values among the operands: one operand at a time, then all; compiled, decomposed, mapped, elsewhere."""
    for subject, positions in _positions(sample):
        values = list(_operands(sample, positions))
        yield f"{subject}, compiled", partial(_check_compiled, sample, values)
        if decomposed(sample) is not None:
            yield f"{subject}, decomposed", partial(_check_decomposed, sample, values)
        if "batch" not in sample.without:
            yield f"{subject}, mapped", partial(_check_mapped, sample, values[0])
        elsewhere = list(_operands(sample, positions, ELSEWHERE))
        for name in sample.tried_on():
            if name != reference_backend():
                yield f"{subject}, on {name}", partial(_check_elsewhere, sample, elsewhere, name)


def _positions(sample: Sample) -> Iterator[tuple[str, tuple[int, ...]]]:
    kinds = [np.asarray(arg).dtype for arg in sample.args]
    sizes = [np.size(arg) for arg in sample.args]
    inexact = [i for i, kind in enumerate(kinds) if dtypes.issubdtype(kind, np.inexact) and sizes[i]]
    for position in inexact:
        yield f"operand {position}", (position,)
    if len(inexact) > 1:
        yield "all operands", tuple(inexact)


def special_values(dtype: np.dtype, values: Sequence[Any] = ALL) -> np.ndarray:
    """The values as an array of an inexact dtype."""
    limits = dtypes.finfo(dtype)
    named = {"denormal": 8 * float(limits.smallest_subnormal), "huge": float(limits.max), "-huge": -float(limits.max)}
    reals = [named.get(value, value) for value in values]
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return np.asarray(reals, np.float64).astype(dtype)
    return np.array([complex(x, y) for x in reals for y in (0.5, x)], dtype)


def _operands(sample: Sample, positions: tuple[int, ...], tried: Sequence[Any] = ALL) -> Iterator[Arguments]:
    """Arguments with special values at some positions, turned until each value has been somewhere."""
    sizes = [np.size(sample.args[position]) for position in positions]
    count = max([len(special_values(np.asarray(sample.args[position]).dtype, tried)) for position in positions])
    turns = min(TURNS, -(-count // min(sizes)))
    for turn in range(turns):
        args = [np.asarray(arg) for arg in sample.args]
        for place, position in enumerate(positions):
            arg = args[position]
            values = special_values(arg.dtype, tried)
            # Beside each other the operands have different values, so that pairs of them are met.
            start = turn * arg.size + place * 2
            args[position] = np.take(values, np.arange(start, start + arg.size), mode="wrap").reshape(arg.shape)
        yield tuple(args)


def _check_compiled(sample: Sample, values: list[Arguments]) -> None:
    for args in values:
        with use_backend(reference_backend()):
            found, expected = compiled(sample)(*args), sample.apply(*args)
            check_propagation(found, expected, sample.tolerance, "compiled, applied directly")


def _check_decomposed(sample: Sample, values: list[Arguments]) -> None:
    function = decomposed(sample)
    for args in values if function is not None else ():
        with use_backend(reference_backend()):
            found, expected = function(*args), sample.apply(*args)  # type: ignore[misc]
            check_propagation(found, expected, sample.tolerance, "decomposed, lowered")


def _check_mapped(sample: Sample, args: Arguments) -> None:
    named = len(sample.axes)
    with use_backend(reference_backend()):
        rows = [np.stack([arg, usual], named) for arg, usual in zip(args, sample.args)]
        found = sample.around(tangrad.vmap(sample.apply_one))(*rows)
        loop = [as_numpy(sample.apply(*args)), as_numpy(sample.apply(*sample.args))]
        expected = [np.stack(parts, named) for parts in zip(*loop)]
        check_propagation(found, expected, sample.tolerance, "mapped, loop")


def _check_elsewhere(sample: Sample, values: list[Arguments], name: str) -> None:
    for args in values:
        with use_backend(name):
            found = as_numpy(sample.apply(*args))
        with use_backend(reference_backend()):
            expected = as_numpy(sample.apply(*args))
        check_propagation(found, expected, sample.tolerance, f"{name}, {reference_backend()}", flushed=True)
