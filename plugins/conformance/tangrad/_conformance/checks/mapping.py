"""Batching against a loop: which arguments are mapped, along which axes, and nested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import tangrad
from tangrad import use_backend
from tangrad._conformance.comparison import as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend

Cells = Iterator[tuple[str, Callable[[], None]]]
Axes = tuple[int | None, ...]

SIZE = 3
MOST = 12  # combinations of axes for one sample
MANY = 130  # rows: more elements than go into one block of an implementation that works in blocks


def check_batch(sample: Sample) -> Cells:
    """Mapping against a loop, for every choice of mapped arguments and axes, and nested twice."""
    if not sample.args:
        return
    for axes in _combinations(sample):
        yield f"in_axes={axes}", partial(_check_batch, sample, axes)
    for size in (0, 1, MANY):
        yield f"axis of size {size}", partial(_check_size, sample, size)
    yield "nested", partial(_check_nested, sample)
    for position, name in enumerate(sample.axes):
        yield f"not mapped along {name!r}", partial(_check_unmapped, sample, position)


def _combinations(sample: Sample) -> list[Axes]:
    """All choices, or, of many, an even selection."""
    choices = [(None, *range(np.ndim(arg) - len(sample.axes) + 1)) for arg in sample.args]
    found = [axes for axes in product(*choices) if any([axis is not None for axis in axes])]
    if len(found) <= MOST:
        return found
    step = (len(found) - 1) / (MOST - 1)
    return [found[round(position * step)] for position in range(MOST)]


def variants(arg: Any) -> list[Any]:
    """Examples near the argument: what it must be (in a domain, in bounds, positive definite) they are as well."""
    array = np.asarray(arg)
    if array.dtype.kind in "fc":
        return [array * array.dtype.type(1 - 0.02 * i) for i in range(SIZE)]
    return [np.roll(array, i) if array.ndim else array for i in range(SIZE)]


def _check_batch(sample: Sample, axes: Axes) -> None:
    rows, named = [variants(arg) for arg in sample.args], len(sample.axes)
    mapped = [arg if axis is None else np.stack(row, named + axis) for arg, row, axis in zip(sample.args, rows, axes)]
    with use_backend(reference_backend()):
        found = sample.around(tangrad.vmap(sample.apply_one, in_axes=axes))(*mapped)
        loop = [
            as_numpy(sample.apply(*[arg if a is None else row[i] for arg, row, a in zip(sample.args, rows, axes)]))
            for i in range(SIZE)
        ]
    check_same(found, [np.stack(parts, named) for parts in zip(*loop)], sample.tolerance, "mapped, loop")


def _check_size(sample: Sample, size: int) -> None:
    """All arguments mapped along their first axes: no example, one, or many, which come by in turn."""
    named = len(sample.axes)
    turns = [position % SIZE for position in range(size)]
    mapped = [np.take(np.stack(variants(arg), named), turns, named) for arg in sample.args]
    with use_backend(reference_backend()):
        found = sample.around(tangrad.vmap(sample.apply_one))(*mapped)
        loop = [
            as_numpy(sample.apply(*row)) for row in list(zip(*[variants(arg) for arg in sample.args]))[: max(size, 1)]
        ]
    expected = [np.take(np.stack(parts, named), turns, named) for parts in zip(*loop)]
    check_same(found, expected, sample.tolerance, f"mapped along an axis of size {size}, loop")


def _check_nested(sample: Sample) -> None:
    """The first argument is mapped by the inner map alone, the others by both."""
    named = len(sample.axes)
    rows = [np.stack(variants(arg), named) for arg in sample.args]
    alone = 1 if len(rows) > 1 else 0
    twice = [*rows[:alone], *[np.stack([row, row[::-1]], -1) for row in rows[alone:]]]
    outer: Axes = (*[None] * alone, *[-1] * (len(rows) - alone))
    with use_backend(reference_backend()):
        found = sample.around(tangrad.vmap(tangrad.vmap(sample.apply_one), in_axes=outer))(*twice)
        once = sample.around(tangrad.vmap(sample.apply_one))
        loop = [
            as_numpy(once(*[many if a is None else many[..., i] for many, a in zip(twice, outer)])) for i in range(2)
        ]
    check_same(found, [np.stack(parts, named) for parts in zip(*loop)], sample.tolerance, "mapped twice, loop of maps")


def _check_unmapped(sample: Sample, position: int) -> None:
    """Arguments that are the same along one of the sample's axes: mapped over it, and not."""
    one = [np.take(arg, 0, position) for arg in sample.args]
    function: Callable[..., Any] = sample.apply_one
    for place, (name, size) in reversed(list(enumerate(sample.axes.items()))):
        in_axes = None if place == position else 0
        function = tangrad.vmap(function, in_axes=(in_axes,) * len(one), axis_name=name, axis_size=size)
    with use_backend(reference_backend()):
        repeated = [np.stack([arg] * list(sample.axes.values())[position], position) for arg in one]
        check_same(function(*one), sample.apply(*repeated), sample.tolerance, "not mapped, repeated")
