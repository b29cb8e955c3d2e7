"""A call of a jitted function: its steps, here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import ClosedJaxpr, RuleSet, eval_jaxpr
from tangrad.extend.jit import jit_p

if TYPE_CHECKING:
    from tangrad.typing import Value, Values

portable = RuleSet("portable", api=1)


@portable.rule(jit_p)
def _(*args: Value, jaxpr: ClosedJaxpr, name: str) -> Values:
    return tuple(eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args))
