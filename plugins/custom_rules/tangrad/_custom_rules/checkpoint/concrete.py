"""`checkpoint(concrete=True)`: while the function is traced, its values are at hand where those of its arguments are.

Each operation is recorded for the program and done at once, too: so Python may branch on what it gives. The program is
that of these values, and no other call can use it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import EVAL_TRACE, Array, Primitive, RuleTrace, RuleTracer, Tracer, run_traced
from tangrad.core.transformations import call_under

if TYPE_CHECKING:
    from tangrad.typing import Params, Value


class ConcreteTracer(RuleTracer):
    """A value of the program under construction, and what it is this time; None where that is not known."""

    __slots__ = ()

    def concrete(self) -> Value:
        return self.extra

    def origin(self) -> str:
        return "a value of a checkpointed function"


class ConcreteTrace(RuleTrace, own=ConcreteTracer):
    """Records each primitive under the parent, and computes it where all operands are known."""

    __slots__ = ()

    def applies(self, primitive: Primitive, args: tuple[Any, ...], params: Params) -> bool:
        return True

    def apply(self, primitive: Primitive, values: list[Value], extras: list[Any], params: Params) -> Any:
        found: Any = None
        known = [known_value(value) if extra is None else extra for value, extra in zip(values, extras)]
        outs = primitive.bind(*values, **params)
        if primitive.effects is None and not any([value is None for value in known]):
            found = call_under(EVAL_TRACE, primitive.bind, *known, **params)
        if not primitive.multiple_results:
            return self.tracer(outs, found)
        return tuple([self.tracer(*one) for one in zip(outs, found or [None] * len(outs), strict=True)])


def known_value(value: Value) -> Value | None:
    """What a value is, or None for a tracer that stands for any."""
    return value.concrete() if isinstance(value, Tracer) else value


def with_values(function: Callable[..., Sequence[Any]], values: Sequence[Value | None]) -> Callable[..., list[Any]]:
    """A function of flat arguments to be traced, whose arguments are these values this time."""

    def run(*leaves: Any) -> list[Any]:
        def traced(trace: ConcreteTrace) -> list[Array]:
            outs = function(*[trace.tracer(leaf, value) for leaf, value in zip(leaves, values, strict=True)])
            return [trace.split(out)[0] for out in outs]

        return run_traced(traced, ConcreteTrace)

    return run
