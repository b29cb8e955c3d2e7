"""The trace of checked functions, programs with their checks, and the rule kind: each operation notes what may fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._checkify.failures import Failure
from tangrad._checkify.state import Checks, Layout
from tangrad.core import (
    ClosedJaxpr,
    Literal,
    Primitive,
    RuleKind,
    RuleSet,
    RuleTrace,
    Trace,
    as_operand,
    current_trace,
    decomposed,
    holding,
    jaxpr_as_function,
    keeps_alive,
    rule_table,
    run_traced,
    trace_to_closed_jaxpr,
)
from tangrad.core.backends import carried_program
from tangrad.core.caches import JaxprCache, register_cache
from tangrad.core.transformations import is_operand

if TYPE_CHECKING:
    from tangrad.core import Array
    from tangrad.typing import Params, PyTree, Value, Values


CHECKIFY = rule_table("checkify")


class CheckifyTrace(RuleTrace, kind="checkify"):
    """Applies rules of the kind `checkify` to everything."""

    __slots__ = ("checks",)

    def __init__(self, parent: Trace, checks: Checks) -> None:
        super().__init__(parent)
        self.checks = checks

    def applies(self, primitive: Primitive, args: Values, params: Params) -> bool:
        return True

    def apply(self, primitive: Primitive, values: list[Value], extras: list[object], params: Params) -> PyTree:
        out = CHECKIFY[primitive](tuple([as_operand(value) for value in values]), checks=self.checks, **params)
        for one in out if primitive.multiple_results else (out,):
            if not is_operand(one):
                found = f"{one!r} of type {type(one).__name__}; expected an array"
                raise TypeError(f"the checkify rule of {primitive.identity!r} returned {found}")
        return out


def checked_flat(
    function: Callable[..., Any], values: Sequence[Value], enabled: frozenset[type[Failure]]
) -> tuple[list[Array], Checks]:
    """Run a function of flat values with checks. Returns its result, and what has failed.

    Args:
        function: what is to be checked.
        values: its arguments, of the current trace.
        enabled: the classes of failures that are looked for.
    """
    checks = Checks(enabled)
    out = run_traced(lambda trace: function(*values), CheckifyTrace, checks)
    return out, checks


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

    def run(self, *values: object) -> tuple[list[Value], list[Value]]:
        """Its results and the leaves of its error, under the current trace."""
        outs = jaxpr_as_function(self.jaxpr)(*values)
        count = len(outs) - self.layout.count
        return outs[:count], outs[count:]


def checked_program(closed: ClosedJaxpr, enabled: frozenset[type[Failure]]) -> CheckedProgram:
    """A program with its checks; it is made once."""
    return CheckedProgram(*_programs.get(closed, enabled, lambda: _make(closed, enabled)))


def checked_call(primitive: Primitive) -> Callable[..., tuple[Array | Literal, ...]]:
    """The rule of a call of the program `jaxpr`: the program returns its error too."""

    def rule(args: Values, *, checks: Checks, jaxpr: ClosedJaxpr, **params: object) -> Values:
        program = checked_program(jaxpr, checks.enabled)
        return checks.take(program.layout, primitive.bind(*args, jaxpr=program.jaxpr, **params))

    return rule


def _make(closed: ClosedJaxpr, enabled: frozenset[type[Failure]]) -> tuple[ClosedJaxpr, Layout]:
    layouts = []

    def run(*values: Array) -> list[Value]:
        outs, checks = checked_flat(jaxpr_as_function(closed), values, enabled)
        layouts.append(checks.layout)
        return [*outs, *checks.leaves()]

    made = trace_to_closed_jaxpr(run, closed.in_avals, closed.jaxpr.debug_name or "a checked program")
    (layout,) = layouts
    is_same = not layout.failures and not keeps_alive(closed.effects)  # checks may have been turned off
    return closed if is_same else made, layout


CheckifyRule = Callable[..., Any]


def default_rule(primitive: Primitive) -> CheckifyRule:
    """The rule of an operation that may give NaN."""

    def rule(args: Values, *, checks: Checks, **params: object) -> Value:
        out = primitive.bind(*args, **params)
        checks.check_nan(primitive, out if primitive.multiple_results else (out,))
        return out

    return rule


def by_decomposition(primitive: Primitive) -> CheckifyRule:
    """The rule of an operation with a decomposition: where it carries a program, the checks go into that."""
    whole = default_rule(primitive)

    def rule(args: Values, *, checks: Checks, **params: object) -> Value:
        if carried_program(params) is None:
            return whole(args, checks=checks, **params)
        with holding(trace=CheckifyTrace(current_trace(), checks)):
            return decomposed(primitive, args, params)

    return rule


def handed_on(rules: RuleSet, *primitives: Primitive) -> None:
    """Give a rule to operations that make no failure of their own: NaN that they return was there before."""
    for primitive in primitives:
        rules.add(primitive, unchecked(primitive))


def unchecked(primitive: Primitive) -> CheckifyRule:
    def rule(args: Values, *, checks: Checks, **params: object) -> Value:
        return primitive.bind(*args, **params)

    return rule


checkify = RuleKind(
    "checkify",
    api=1,
    signature="(args, *, checks, **params) -> results",
    doc="a primitive applied to its operands, with what may fail noted in `checks`",
    derive=by_decomposition,
    default=default_rule,
    forms={"call": checked_call, "handed on": unchecked},
)
