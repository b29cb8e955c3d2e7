"""Mapped axes: batching against a loop, axes in two parts, and results that are the same along an axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

import tangrad
from tangrad import use_backend, vmap
from tangrad._conformance.comparison import Mismatch, as_numpy, check_same
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.batching import SplitAxis, batch_flat, place_axis
from tangrad.core import as_operand, axes_of_effects, equation_effects, rule_table
from tangrad.core.tools import rule_kinds

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Value


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


def variants(arg: object) -> list[np.ndarray]:
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
    function: Callable[..., Sequence[Value]] = sample.apply_one
    for place, (name, size) in reversed(list(enumerate(sample.axes.items()))):
        in_axes = None if place == position else 0
        function = tangrad.vmap(function, in_axes=(in_axes,) * len(one), axis_name=name, axis_size=size)
    with use_backend(reference_backend()):
        repeated = [np.stack([arg] * list(sample.axes.values())[position], position) for arg in one]
        check_same(function(*one), sample.apply(*repeated), sample.tolerance, "not mapped, repeated")


def check_split_axis(sample: Sample) -> Cells:
    """Each axis whose size has a divisor, in two parts; and with arguments that are the same along the inner part."""
    if "split_axis" not in rule_kinds():
        return
    for name, size in sample.axes.items():
        for count in [n for n in range(1, size + 1) if size % n == 0]:
            yield f"{name!r} in {count} parts", partial(_check_parts, sample, name, count, True)
        if sample.args:
            yield f"{name!r} in one part, of what is the same along it", partial(_check_parts, sample, name, 1, False)


def _check_parts(sample: Sample, name: object, count: int, differs: bool) -> None:
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


def _apart(arg: np.ndarray, position: int, count: int) -> object:
    shape = arg.shape
    return arg.reshape(*shape[:position], count, shape[position] // count, *shape[position + 1 :])


def _mapped(sample: Sample, split: object, count: int, differs: bool) -> Callable[..., Sequence[Value]]:
    """The sample mapped over its axes, one of them in two parts."""
    function: Callable[..., Sequence[Value]] = sample.apply_one
    for name, size in reversed(list(sample.axes.items())):
        if name == split:
            outer = f"outer {name}"
            function = partial(_inner_part, function, SplitAxis(name, size // count, outer, count), differs)
            function = vmap(function, axis_name=outer, axis_size=count)
        else:
            function = vmap(function, axis_name=name, axis_size=size)
    return function


def _inner_part(
    function: Callable[..., Sequence[Value]], axis: SplitAxis, differs: bool, *args: Array
) -> tuple[Value, ...]:
    values = [as_operand(arg if differs else arg[0]) for arg in args]
    outs, dims = batch_flat(function, values, [0 if differs else None] * len(values), axis)
    return tuple([place_axis(as_operand(out), dim, 0, axis.size) for out, dim in zip(outs, dims, strict=True)])


def check_replication(sample: Sample) -> Cells:
    """For arguments that differ along all axes, and along some of them only."""
    if not sample.axes or "replication" not in rule_kinds():
        return
    for count in range(len(sample.axes) + 1):
        for names in combinations(sample.axes, count):
            what = ", ".join([repr(name) for name in names]) or "no axis"
            yield f"arguments that differ along {what}", partial(_check, sample, frozenset(names))


def _check(sample: Sample, differing: frozenset[object]) -> None:
    args = [_same_along(np.asarray(arg), sample.axes, differing) for arg in sample.args]
    claimed = _claimed(sample, differing)
    with use_backend(reference_backend()):
        results = as_numpy(sample.apply(*args))
    for number, (result, axes) in enumerate(zip(results, claimed, strict=True)):
        for position, name in enumerate(sample.axes):
            first = np.take(result, [0], position)
            if name not in axes and not np.array_equal(np.broadcast_to(first, result.shape), result, equal_nan=True):
                raise Mismatch(f"result {number} differs along {name!r}, and by the rule it differs along {axes}")


def _same_along(arg: np.ndarray, axes: Mapping[Any, int], differing: frozenset[object]) -> object:
    for position, (name, size) in enumerate(axes.items()):
        if name not in differing:
            arg = np.take(arg, [0] * size, position)
    return arg


def _claimed(sample: Sample, differing: frozenset[object]) -> list[frozenset[object]]:
    """The axes along which each result may differ. Without a rule: where an operand does, and where it names one."""
    avals = tuple([operand.aval for operand in sample.operands(*sample.example())])
    params = dict(sample.params)
    found = rule_table("replication")[sample.primitive]((differing,) * len(avals), params)
    several = sample.primitive.multiple_results
    if found is None or found == (None,):
        named = axes_of_effects(equation_effects(sample.primitive, avals, params))
        outs = sample.primitive.infer(avals, params)
        return [(differing if avals else frozenset()) | named] * (len(outs) if several else 1)
    return list(found) if several else [found]
