"""Operands with another memory layout than fresh arrays: turned around, transposed, and not to be written to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.samples import Sample
from tangrad.core import as_array, find_primitive
from tangrad.core.tools import families

Cells = Iterator[tuple[str, Callable[[], None]]]


def check_layouts(sample: Sample) -> Cells:
    """Operands with negative strides, and transposed ones, against fresh ones; and that they are left as they were."""
    if not any([np.size(arg) > 1 for arg in sample.args]):
        return
    for name in sample.tried_on():
        yield f"{name}, untouched", partial(_check_untouched, sample, name)
        for subject, (prepare, undo) in _layouts().items():
            yield f"{name}, {subject}", partial(_check_layout, sample, name, prepare, undo)


Turn = Callable[[Any], Any]


def _layouts() -> dict[str, tuple[Turn, Turn]]:
    """How an array gets another memory layout (by NumPy), and how a program puts it in order again: without a copy."""
    found: dict[str, tuple[Turn, Turn]] = {"transposed": (_moved, _moved_back)}
    if "structure" in families():
        found["negative strides"] = (np.flip, _turned)
    return found


def _moved(arg: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(arg, -1, 0)) if arg.ndim else arg


def _moved_back(value: Any) -> Any:
    last = np.ndim(value) - 1
    return find_primitive("batching.move_axis").bind(value, source=0, destination=last) if last > 0 else value


def _turned(value: Any) -> Any:
    dimensions = tuple(range(np.ndim(value)))
    return find_primitive("structure.rev").bind(value, dimensions=dimensions) if dimensions else value


def _check_layout(sample: Sample, name: str, prepare: Turn, undo: Turn) -> None:
    named = len(sample.axes)
    where = [tuple(range(named, np.ndim(arg))) for arg in sample.args]
    if prepare is np.flip:
        args = [np.flip(arg, axes) for arg, axes in zip(sample.args, where)]
    else:
        args = [_each(prepare, np.asarray(arg), named) for arg in sample.args]

    def applied(*values: Any) -> Any:
        return sample.apply_one(*[undo(as_array(value)) for value in values])

    with use_backend(name):
        expected = as_numpy(sample.apply(*sample.args))
        check_same(sample.around(applied)(*args), expected, sample.tolerance, "in another layout, fresh")
        check_same(sample.around(tangrad.jit(applied))(*args), expected, sample.tolerance, "in a program, fresh")


def _each(function: Turn, array: Any, named: int) -> Any:
    """The function of each example, below the named axes."""
    if not named:
        return function(array)
    return np.stack([_each(function, row, named - 1) for row in array])


def _check_untouched(sample: Sample, name: str) -> None:
    """An implementation that works in place would change what its caller still holds."""
    with use_backend(name):
        held = [as_array(value) for value in sample.args]
        before = [np.array(np.asarray(value)) for value in held]
        sample.apply(*held)
        after = [np.asarray(value) for value in held]
    for position, (x, y) in enumerate(zip(after, before, strict=True)):
        if x.tobytes() != y.tobytes():
            raise Mismatch(f"operand {position} was {y!r}, and is {x!r} after the primitive was applied")
