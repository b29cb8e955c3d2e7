"""What functions with rules of their own, and checkpointed ones, do with random keys."""

from __future__ import annotations

from collections.abc import Sequence

from tangrad._random.key_reuse.uses import SAME, KeyRule, KeyUse, of_call
from tangrad.core import ClosedJaxpr, RuleSet, ShapedArray, find_primitive

custom_rules: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)
checkpointing: RuleSet[KeyRule] = RuleSet("key_reuse", api=1)


@custom_rules.rule(find_primitive("custom_rules.custom_jvp_call"), find_primitive("custom_rules.custom_vjp_call"))
def _(avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, **_: object) -> KeyUse:
    """As a program, or as the function itself, each of whose operations is looked at then."""
    return of_call(avals, jaxpr) if isinstance(jaxpr, ClosedJaxpr) else KeyUse()


@checkpointing.rule(find_primitive("checkpointing.remat"))
def _(avals: Sequence[ShapedArray], *, jaxpr: ClosedJaxpr, differentiated: bool, **_: object) -> KeyUse:
    """What is computed a second time, for a gradient, draws the same numbers on purpose."""
    return KeyUse() if differentiated else of_call(avals, jaxpr)


checkpointing.table({find_primitive("checkpointing.name"): SAME})
