"""Axes in two parts: what a primitive along such an axis gives is what it gives along the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tangrad import use_backend, vmap
from tangrad._conformance.comparison import as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.batching import SplitAxis, batch_flat, place_axis
from tangrad.core import as_operand
from tangrad.core.tools import rule_kinds

Cells = Iterator[tuple[str, Callable[[], None]]]


def check_split_axis(sample: Sample) -> Cells:
    """Each axis whose size has a divisor, in two parts; and with arguments that are the same along the inner part."""
    if "split_axis" not in rule_kinds():
        return
    for name, size in sample.axes.items():
        for count in [n for n in range(1, size + 1) if size % n == 0]:
            yield f"{name!r} in {count} parts", partial(_check_parts, sample, name, count, True)
        if sample.args:
            yield f"{name!r} in one part, of what is the same along it", partial(_check_parts, sample, name, 1, False)


def _check_parts(sample: Sample, name: Any, count: int, differs: bool) -> None:
    position = list(sample.axes).index(name)
    size = sample.axes[name]
    if not differs:
        first = [np.take(np.asarray(arg), [0] * size, position) for arg in sample.args]
        sample = replace(sample, args=tuple(first))
    args = [_apart(np.asarray(arg), position, count) for arg in sample.args]
    with use_backend(reference_backend()):
        found = _mapped(sample, name, count, differs)(*args)
        expected = sample.apply(*sample.args)
        joined = [one.reshape(*one.shape[:position], size, *one.shape[position + 2 :]) for one in as_numpy(found)]
    check_same(joined, expected, sample.tolerance, "along an axis in two parts, along the whole")


def _apart(arg: Any, position: int, count: int) -> Any:
    shape = arg.shape
    return arg.reshape(*shape[:position], count, shape[position] // count, *shape[position + 1 :])


def _mapped(sample: Sample, split: Any, count: int, differs: bool) -> Callable[..., Any]:
    """The sample mapped over its axes, one of them in two parts."""
    function: Callable[..., Any] = sample.apply_one
    for name, size in reversed(list(sample.axes.items())):
        if name == split:
            outer = f"outer {name}"
            function = partial(_inner_part, function, SplitAxis(name, size // count, outer, count), differs)
            function = vmap(function, axis_name=outer, axis_size=count)
        else:
            function = vmap(function, axis_name=name, axis_size=size)
    return function


def _inner_part(function: Callable[..., Any], axis: SplitAxis, differs: bool, *args: Any) -> tuple[Any, ...]:
    values = [as_operand(arg if differs else arg[0]) for arg in args]
    outs, dims = batch_flat(function, values, [0 if differs else None] * len(values), axis)
    return tuple([place_axis(as_operand(out), dim, 0, axis.size) for out, dim in zip(outs, dims, strict=True)])
