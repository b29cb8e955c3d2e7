"""The trace of checked functions: each operation is applied by its rule, which notes what may fail.

Its values are those of the trace below: what is carried beside them is one error for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad._checkify.failures import Failure
from tangrad._checkify.state import Checks
from tangrad.core import (
    Trace,
    as_operand,
    calls_rules,
    check_no_leak,
    close_trace,
    current_trace,
    is_operand,
    rule_table,
    set_current_trace,
    thread,
)
from tangrad.errors import UnexpectedTracerError

CHECKIFY = rule_table("checkify")


class CheckifyTrace(Trace):
    """Applies rules of the kind `checkify`."""

    __slots__ = ("checks", "parent")

    def __init__(self, parent: Trace, checks: Checks) -> None:
        super().__init__(parent)
        self.parent = parent
        self.checks = checks

    @calls_rules("checkify")
    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if not self.alive:
            raise UnexpectedTracerError(args[0] if args else None)
        with set_current_trace(self.parent):
            out = CHECKIFY[primitive](tuple([as_operand(arg) for arg in args]), checks=self.checks, **params)
        for one in out if primitive.multiple_results else (out,):
            if not is_operand(one):
                found = f"{one!r} of type {type(one).__name__}; expected an array"
                raise TypeError(f"the checkify rule of {primitive.identity!r} returned {found}")
        return out


def checked_flat(
    function: Callable[..., Any], values: Sequence[Any], enabled: frozenset[type[Failure]]
) -> tuple[Any, Checks]:
    """Run a function of flat values with checks. Returns its result, and what has failed.

    Args:
        function: what is to be checked.
        values: its arguments, of the current trace.
        enabled: the classes of failures that are looked for.
    """
    checks = Checks(enabled)
    trace = CheckifyTrace(current_trace(), checks)
    try:
        with set_current_trace(trace):
            out = function(*values)
    finally:
        reference = close_trace(trace)
    if thread.check_tracer_leaks:
        del trace
        check_no_leak(reference)
    return out, checks
