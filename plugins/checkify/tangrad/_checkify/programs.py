"""Programs with their checks: what calls them gets their error behind their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._checkify.failures import Failure
from tangrad._checkify.state import Checks, Layout
from tangrad._checkify.trace import checked_flat as checked_flat
from tangrad.core import ClosedJaxpr, Primitive, jaxpr_as_function, keeps_alive, trace_to_closed_jaxpr
from tangrad.core.caches import JaxprCache, register_cache

if TYPE_CHECKING:
    from tangrad.typing import Values

_programs = JaxprCache()
register_cache(_programs.clear)


class CheckedProgram:
    """A program that also returns an error.

    Attributes:
        jaxpr: closed jaxpr `inputs -> (*results, *error leaves)`; the program itself where nothing can fail.
        layout: what the error looks like.
    """

    __slots__ = ("jaxpr", "layout")

    def __init__(self, jaxpr: ClosedJaxpr, layout: Layout) -> None:
        self.jaxpr = jaxpr
        self.layout = layout

    def run(self, *values: Any) -> tuple[list[Any], list[Any]]:
        """Its results and the leaves of its error, under the current trace."""
        outs = jaxpr_as_function(self.jaxpr)(*values)
        count = len(outs) - self.layout.count
        return outs[:count], outs[count:]


def checked_program(closed: ClosedJaxpr, enabled: frozenset[type[Failure]]) -> CheckedProgram:
    """A program with its checks; it is made once."""
    return CheckedProgram(*_programs.get(closed, enabled, lambda: _make(closed, enabled)))


def checked_call(primitive: Primitive) -> Callable[..., Any]:
    """The rule of a call of the program `jaxpr`: the program returns its error too."""

    def rule(args: Values, *, checks: Checks, jaxpr: ClosedJaxpr, **params: Any) -> Values:
        program = checked_program(jaxpr, checks.enabled)
        return checks.take(program.layout, primitive.bind(*args, jaxpr=program.jaxpr, **params))

    return rule


def _make(closed: ClosedJaxpr, enabled: frozenset[type[Failure]]) -> tuple[ClosedJaxpr, Layout]:
    layouts = []

    def run(*values: Any) -> list[Any]:
        outs, checks = checked_flat(jaxpr_as_function(closed), values, enabled)
        layouts.append(checks.layout)
        return [*outs, *checks.leaves()]

    made = trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name or "a checked program")
    (layout,) = layouts
    is_same = not layout.failures and not keeps_alive(closed.effects)  # checks may have been turned off
    return closed if is_same else made, layout
