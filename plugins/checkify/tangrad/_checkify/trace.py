"""The trace of checked functions: each operation is applied by its rule, which notes what may fail.

Its values are those of the trace below: what is carried beside them is one error for the whole run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad._checkify.failures import Failure
from tangrad._checkify.state import Checks
from tangrad.core import Primitive, RuleTrace, Trace, as_operand, rule_table, run_traced
from tangrad.core.transformations import is_operand

if TYPE_CHECKING:
    from tangrad.typing import Params, Value, Values

CHECKIFY = rule_table("checkify")


class CheckifyTrace(RuleTrace, kind="checkify"):
    """Applies rules of the kind `checkify` to everything."""

    __slots__ = ("checks",)

    def __init__(self, parent: Trace, checks: Checks) -> None:
        super().__init__(parent)
        self.checks = checks

    def applies(self, primitive: Primitive, args: Values, params: Params) -> bool:
        return True

    def apply(self, primitive: Primitive, values: list[Value], extras: list[Any], params: Params) -> Any:
        out = CHECKIFY[primitive](tuple([as_operand(value) for value in values]), checks=self.checks, **params)
        for one in out if primitive.multiple_results else (out,):
            if not is_operand(one):
                found = f"{one!r} of type {type(one).__name__}; expected an array"
                raise TypeError(f"the checkify rule of {primitive.identity!r} returned {found}")
        return out


def checked_flat(
    function: Callable[..., Any], values: Sequence[Value], enabled: frozenset[type[Failure]]
) -> tuple[Any, Checks]:
    """Run a function of flat values with checks. Returns its result, and what has failed.

    Args:
        function: what is to be checked.
        values: its arguments, of the current trace.
        enabled: the classes of failures that are looked for.
    """
    checks = Checks(enabled)
    out = run_traced(lambda trace: function(*values), CheckifyTrace, checks)
    return out, checks
