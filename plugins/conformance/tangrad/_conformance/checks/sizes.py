"""Larger operands than the sample's: implementations that work in blocks have to put these together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.checks.execution import compiled, decomposed
from tangrad._conformance.checks.parameters import carries_program
from tangrad._conformance.comparison import as_numpy, check_same
from tangrad._conformance.samples import Arguments, Sample, reference_backend

Cells = Iterator[tuple[str, Callable[[], None]]]

LENGTH = 200  # of a dimension, or a little less
MOST = 50_000  # elements of an operand
PARTS = 8  # how many parts are compared, evenly over all


def check_sizes(sample: Sample) -> Cells:
    """Each dimension some hundreds long, where the parameters allow that: compiled, decomposed, in parts, elsewhere."""
    if carries_program(sample) or sample.axes or sample.leave.__name__ != "_unchanged":
        return
    for size in sorted({n for arg in sample.args for n in np.shape(arg) if n > 1}):
        large = grown(sample, size)
        if large is not None:
            what = f"dimensions of {size} made {LENGTH // size * size}"
            yield f"{what}, compiled", partial(_check_compiled, large)
            if decomposed(large) is not None:
                yield f"{what}, decomposed", partial(_check_decomposed, large)
            if _goes_along(sample, size):
                yield f"{what}, in parts", partial(_check_parts, sample, large, size)
            for name in sample.tried_on():
                if name != reference_backend():
                    yield f"{what}, on {name}", partial(_check_elsewhere, large, name)


def grown(sample: Sample, size: int, times: int | None = None) -> Sample | None:
    """The sample with its dimensions of a size repeated; None where its abstract evaluation refuses that."""
    times = LENGTH // size if times is None else times
    if times < 2 or any([np.size(arg) * times ** np.shape(arg).count(size) > MOST for arg in sample.args]):
        return None  # it is large itself, or would be huge
    args = tuple([_repeated(np.asarray(arg), size, times) for arg in sample.args])
    large = replace(sample, args=args, tolerance=max(sample.tolerance or 0.0, _slack(args)))
    try:
        large.inferred()
    except (TypeError, ValueError, NotImplementedError):
        return None
    return large


def _slack(args: Arguments) -> float:
    """Sums of more numbers are rounded more."""
    kinds = {np.asarray(arg).dtype.name for arg in args}
    if kinds & {"bfloat16", "float16"}:
        return 0.2
    return 1e-3 if kinds & {"float32", "complex64"} else 1e-7


def _repeated(array: Any, size: int, times: int) -> Any:
    found = np.tile(array, [times if n == size else 1 for n in array.shape]) if array.ndim else array
    if array.dtype.kind not in "fc" or found.size == array.size:
        return found
    # A little different from each other, so that what is exchanged, left out or counted twice makes a difference.
    return (found * (1 - 0.1 * np.arange(found.size).reshape(found.shape) / found.size)).astype(array.dtype)


def _run(sample: Sample, name: str | None = None) -> list[Any]:
    with use_backend(name or reference_backend()):
        return as_numpy(sample.apply(*sample.args))


def _check_compiled(large: Sample) -> None:
    with use_backend(reference_backend()):
        check_same(compiled(large)(*large.args), _run(large), large.tolerance, "compiled, applied directly")


def _check_decomposed(large: Sample) -> None:
    function = decomposed(large)
    with use_backend(reference_backend()):
        if function is not None:
            check_same(function(*large.args), _run(large), large.tolerance, "decomposed, lowered")


def _check_elsewhere(large: Sample, name: str) -> None:
    check_same(_run(large, name), _run(large), large.tolerance, f"{name}, {reference_backend()}")


# --- primitives that work element by element along a dimension --------------------------------------------------------


def _cut(args: Arguments, size: int, start: int, stop: int) -> Arguments:
    """A part of the arguments, along all dimensions of a size."""
    return tuple([arg[tuple([slice(start, stop) if n == size else slice(None) for n in arg.shape])] for arg in args])


def _goes_along(sample: Sample, size: int) -> bool:
    """Whether, of twice the arguments, each half of the results comes from that half of the arguments."""
    twice = grown(sample, size, 2)
    shapes = [np.shape(arg) for arg in sample.args if np.ndim(arg)]
    # What is cut is recognised by its size: no other dimension may have it, before or after.
    if twice is None or any([shape.count(size) != 1 or 2 * size in shape for shape in shapes]):
        return False
    whole = _run(twice)
    for start in (0, size):
        half = _run(replace(sample, args=_cut(twice.args, 2 * size, start, start + size)))
        for x, y in zip(whole, half):
            (part,) = _cut((x,), 2 * size, start, start + size)
            if (
                part.shape != y.shape
                or part.shape == x.shape
                or not np.array_equal(part, y, equal_nan=x.dtype.kind in "fc")
            ):
                return False
    return True


def _check_parts(sample: Sample, large: Sample, size: int) -> None:
    whole, length = _run(large), LENGTH // size * size
    starts = list(range(0, length, size))
    for start in starts[:: max(1, len(starts) // PARTS)] + starts[-1:]:
        part = _run(replace(sample, args=_cut(large.args, length, start, start + size)))
        found = [_cut((x,), length, start, start + size)[0] for x in whole]
        check_same(found, part, sample.tolerance, f"elements from {start} of all, these alone")
