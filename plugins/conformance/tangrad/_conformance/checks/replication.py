"""Replication: a result that a rule says is the same along a mapped axis is the same for all examples along it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from tangrad import use_backend
from tangrad._conformance.comparison import Mismatch, as_numpy
from tangrad._conformance.samples import Sample, reference_backend
from tangrad.core import axes_of_effects, equation_effects, rule_table
from tangrad.core.tools import rule_kinds

Cells = Iterator[tuple[str, Callable[[], None]]]


def check_replication(sample: Sample) -> Cells:
    """For arguments that differ along all axes, and along some of them only."""
    if not sample.axes or "replication" not in rule_kinds():
        return
    for count in range(len(sample.axes) + 1):
        for names in combinations(sample.axes, count):
            what = ", ".join([repr(name) for name in names]) or "no axis"
            yield f"arguments that differ along {what}", partial(_check, sample, frozenset(names))


def _check(sample: Sample, differing: frozenset[Any]) -> None:
    args = [_same_along(np.asarray(arg), sample.axes, differing) for arg in sample.args]
    claimed = _claimed(sample, differing)
    with use_backend(reference_backend()):
        results = as_numpy(sample.apply(*args))
    for number, (result, axes) in enumerate(zip(results, claimed, strict=True)):
        for position, name in enumerate(sample.axes):
            first = np.take(result, [0], position)
            if name not in axes and not np.array_equal(np.broadcast_to(first, result.shape), result, equal_nan=True):
                raise Mismatch(
                    f"result {number} differs along {name!r}, and the rule says that it differs along {axes}"
                )


def _same_along(arg: Any, axes: Any, differing: frozenset[Any]) -> Any:
    for position, (name, size) in enumerate(axes.items()):
        if name not in differing:
            arg = np.take(arg, [0] * size, position)
    return arg


def _claimed(sample: Sample, differing: frozenset[Any]) -> list[frozenset[Any]]:
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
