"""The kit for transformations: subclass `RuleTrace`, run functions with `run_traced`, and write the rules."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from tangrad._core.diagnostics.source_info import current_source
from tangrad._core.diagnostics.tracebacks import calls_rules
from tangrad._core.kernel.backend import as_operand
from tangrad._core.kernel.keys import Params
from tangrad._core.kernel.primitive import Primitive
from tangrad._core.kernel.trace import Trace, Tracer, check_no_leak
from tangrad._core.settings.config import thread

T = TypeVar("T")
R = TypeVar("R", bound=Trace)
_new = object.__new__


class RuleTracer(Tracer):
    """A value of a `RuleTrace`: a value of the trace below, with what is known of it."""

    __slots__ = ("extra", "value")
    value: Any
    extra: Any


class RuleTrace(Trace):
    """Asks for a rule where an operand is a value of its own, and hands everything else to the trace below.

    A subclass, `class BoundsTrace(RuleTrace, kind="bounds", own=Bounded)`, calls a rule in `apply`.

    Attributes:
        parent: the trace below.
        below: the trace that is current while a rule runs: the parent, unless the subclass sets another one.
        absent: what gives the extra of an operand that is not this trace's own; None: that is None.
    """

    __slots__ = ("below", "parent")
    own: ClassVar[Any] = RuleTracer
    absent: ClassVar[Any] = None
    parent: Trace
    below: Any

    def __init_subclass__(cls, kind: str = "", own: type[Tracer] | None = None) -> None:
        cls.own = own or cls.own
        if kind and "apply" in vars(cls):  # an error of a rule names whose it is
            calls_rules(kind)(cls.apply)

    def __init__(self, parent: Trace) -> None:
        self.alive = True
        self.stages = parent.stages
        self.parent = self.below = parent

    def tracer(self, value: Any, extra: Any = None) -> Any:
        """A value of this trace."""
        tracer: Any = _new(self.own)
        tracer._trace = self
        tracer.aval = value.aval
        tracer.value = value
        tracer.extra = extra
        return tracer

    def split(self, value: Any) -> tuple[Any, Any]:
        """The value of the trace below and what is known of it: None for a value that is not this trace's own."""
        own = type(value) is self.own and value._trace is self
        return (value.value, value.extra) if own else (value, None)

    def applies(self, primitive: Primitive, args: tuple[Any, ...], params: Params) -> bool:
        """Whether a rule is asked for though no operand is a value of this trace."""
        return False

    def apply(self, primitive: Primitive, values: list[Any], extras: list[Any], params: Params) -> Any:
        """Call the rule under the trace `below`, and return the result, or the tuple of results."""
        raise NotImplementedError

    def process_primitive(self, primitive: Primitive, args: tuple[Any, ...], params: Params) -> Any:
        own, absent, mine = self.own, self.absent, False
        values: list[Any] = []
        extras: list[object] = []
        for arg in args:
            if type(arg) is own and arg._trace is self:
                values.append(arg.value)
                extras.append(arg.extra)
                mine = True
            else:
                if not hasattr(type(arg), "aval"):  # it stands for an array, which may be a value of this trace
                    return self.process_primitive(primitive, tuple([as_operand(value) for value in args]), params)
                values.append(arg)
                extras.append(None if absent is None else absent(arg))
        previous, placed = thread.trace, False
        try:
            if not mine and not self.applies(primitive, args, params):
                thread.trace = self.parent
                return self.parent.process_primitive(primitive, args, params)
            thread.trace = self.below
            if self.stages and thread.source is None:  # found once, for all that the rule will do
                thread.source = current_source(2)
                placed = True
            return self.apply(primitive, values, extras, params)
        finally:
            thread.trace = previous
            if placed:
                thread.source = None

    def pass_on(self, primitive: Primitive, args: tuple[object, ...], params: Params) -> Any:
        """Apply a primitive under the trace below."""
        thread.trace = self.parent
        try:
            return self.parent.process_primitive(primitive, args, params)
        finally:
            thread.trace = self


def call_under(trace: Trace, function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Call a function with `trace` as the current trace."""
    previous = thread.trace
    thread.trace = trace
    try:
        return function(*args, **kwargs)
    finally:
        thread.trace = previous


def run_traced(function: Callable[[R], T], kind: Callable[..., R], *args: object) -> T:
    """Return `function(trace)`, called under a new trace `kind(current trace, *args)`, which ends with the call.

    Raises LeakedTracerError, with the setting `check_tracer_leaks`, where something still holds a tracer.
    """
    previous = thread.trace
    trace = kind(previous, *args)
    thread.trace = trace
    try:
        found = function(trace)
    finally:
        thread.trace = previous
        trace.alive = False
    if thread.check_tracer_leaks and trace.leaks:
        reference = weakref.ref(trace)
        del trace
        check_no_leak(reference)
    return found
