"""Functions of references as programs of values: what kernels are traced to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._references.cells import Reference, References
from tangrad.core import Jaxpr, thread, trace_to_jaxpr
from tangrad.core.transformations import install_trace


def value_program(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], own: Sequence[bool], name: str
) -> tuple[Jaxpr, list[Any]]:
    """The program of a function that takes references where `own` is true; there the program takes their values.

    `avals`: the types of values. The program returns the results, and then the last value behind each reference; what
    is not written comes out as the variable that it came in as. Beside it the values that the function closed over.
    """

    def run(*values: Any) -> list[Any]:
        trace = install_trace(References(thread.trace))
        cells = [Reference(trace, value) if is_own else value for value, is_own in zip(values, own, strict=True)]
        outs = function(*cells)
        return [*outs, *[cell.value for cell, is_own in zip(cells, own, strict=True) if is_own]]

    return trace_to_jaxpr(run, avals, name)
