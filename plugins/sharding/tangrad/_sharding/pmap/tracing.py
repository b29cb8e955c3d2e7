"""Functions of single examples as programs, with the mapped axis in scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad.core import ClosedJaxpr, closed_over_as_arguments, holding, thread, trace_to_jaxpr


def trace_of_one(
    of_one: Callable[..., Sequence[Any]],
    values: Sequence[Any],
    axes: Sequence[int | None],
    axis: tuple[Any, int],
    name: str,
) -> tuple[ClosedJaxpr, list[Any]]:
    """The program of one example of values that are mapped along `axes`, and what it closed over: its first arguments.

    `axis`: the name of the mapped axis, and its size.
    """
    examples = [
        value.aval if dim is None else value.aval.update(shape=(*value.aval.shape[:dim], *value.aval.shape[dim + 1 :]))
        for value, dim in zip(values, axes, strict=True)
    ]
    with holding(axis_environment=(*thread.axis_environment, axis)):
        jaxpr, consts = trace_to_jaxpr(of_one, examples, name)
    return ClosedJaxpr(closed_over_as_arguments(jaxpr)), list(consts)
