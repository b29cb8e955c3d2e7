"""How an operation is checked that has no rule of its own, and the rule of those that cannot go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tangrad._checkify.state import Checks
from tangrad._checkify.trace import CheckifyTrace
from tangrad.core import Primitive, RuleSet, current_trace, decomposed, holding
from tangrad.core.backends import carried_program

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

CheckifyRule = Callable[..., Any]


def default_rule(primitive: Primitive) -> CheckifyRule:
    """The rule of an operation that may give NaN."""

    def rule(args: Values, *, checks: Checks, **params: Any) -> Value:
        out = primitive.bind(*args, **params)
        checks.check_nan(primitive, out if primitive.multiple_results else (out,))
        return out

    return rule


def by_decomposition(primitive: Primitive) -> CheckifyRule:
    """The rule of an operation with a decomposition: where it carries a program, the checks go into that."""
    whole = default_rule(primitive)

    def rule(args: Values, *, checks: Checks, **params: Any) -> Value:
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
    def rule(args: Values, *, checks: Checks, **params: Any) -> Value:
        return primitive.bind(*args, **params)

    return rule
