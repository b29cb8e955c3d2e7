"""Which functions call rules: their code is remembered, so that a traceback says whose rule an error comes from."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

# Code -> the rule kind, and the local variable with the primitive. Bounded by the functions that are marked.
SITES: dict[CodeType, tuple[str, str]] = {}


def calls_rules(kind: str, variable: str = "primitive", inner: str | None = None) -> Callable[[F], F]:
    """Mark a function that calls rules of a kind, so that errors of the call say which rule it was.

    Args:
        kind: the rule kind; "abstract_eval", "decompose", "evaluate" or "effects" for what a primitive has itself.
        variable: the function's local variable that holds the primitive, or an equation or context with it.
        inner: the name of a function that this one makes, which calls the rules; None: it does so itself.

    Returns:
        a decorator, which returns the function as it is: a call costs nothing more.

    >>> from tangrad.core import calls_rules, rule_table
    >>> @calls_rules("bounds")
    ... def bounds_of(primitive, args):
    ...     return rule_table("bounds")[primitive](*args)
    """

    def mark(function: F) -> F:
        code = cast(Any, function).__code__
        if inner is not None:
            code = next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == inner)
        SITES[code] = (kind, variable)
        return function

    return mark
