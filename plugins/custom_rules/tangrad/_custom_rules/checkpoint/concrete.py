"""`checkpoint(concrete=True)`: while the function is traced, its values are at hand where those of its arguments are.

Each operation is recorded for the program and done at once, too: so Python may branch on what it gives. The program is
that of these values, and no other call can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tangrad.core import EVAL_TRACE, Trace, Tracer, thread


class ConcreteTracer(Tracer):
    """A value of the program under construction, and what it is this time; None where that is not known."""

    __slots__ = ("staged", "value")
    staged: Any
    value: Any

    def concrete(self) -> Any:
        return self.value

    def origin(self) -> str:
        return "a value of a checkpointed function"


class ConcreteTrace(Trace):
    """Records each primitive under the parent, and computes it where all operands are known."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace) -> None:
        self.alive = True
        self.stages = True
        self.parent = parent

    def tracer(self, staged: Any, value: Any) -> ConcreteTracer:
        tracer = object.__new__(ConcreteTracer)
        tracer._trace = self
        tracer.aval = staged.aval
        tracer.staged = staged
        tracer.value = value
        return tracer

    def staged(self, value: Any) -> Any:
        """What stands for a value in the program."""
        return value.staged if type(value) is ConcreteTracer and value._trace is self else value

    def process_primitive(self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values = [known_value(arg) for arg in args]
        known = primitive.effects is None and not any([value is None for value in values])
        found: Any = None
        try:
            thread.trace = self.parent
            outs = primitive.bind(*[self.staged(arg) for arg in args], **params)
            if known:
                thread.trace = EVAL_TRACE
                found = primitive.bind(*values, **params)
        finally:
            thread.trace = self
        if not primitive.multiple_results:
            return self.tracer(outs, found)
        each = found if known else [None] * len(outs)
        return tuple([self.tracer(out, value) for out, value in zip(outs, each, strict=True)])


def known_value(value: Any) -> Any:
    """What a value is, or None for a tracer that stands for any."""
    return value.concrete() if isinstance(value, Tracer) else value


def with_values(function: Callable[..., Sequence[Any]], values: Sequence[Any]) -> Callable[..., list[Any]]:
    """A function of flat arguments to be traced, whose arguments are these values this time."""

    def run(*leaves: Any) -> list[Any]:
        outer = thread.trace
        trace = ConcreteTrace(outer)
        thread.trace = trace
        try:
            outs = function(*[trace.tracer(leaf, value) for leaf, value in zip(leaves, values, strict=True)])
            return [trace.staged(out) for out in outs]
        finally:
            thread.trace = outer
            trace.alive = False

    return run
