"""How calls with a rule for dead code are mapped: their rule is, as their program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad._custom_rules.dead_code import PartRule, chosen, custom_dce_call_p
from tangrad.batching import batch_jaxpr, to_front
from tangrad.core import ClosedJaxpr, RuleSet

if TYPE_CHECKING:
    from tangrad.typing import Dims, Values

batch = RuleSet("batch", api=1)


@batch.rule(custom_dce_call_p)
def _batch(args: Values, dims: Dims, *, axis_info: Any, jaxpr: ClosedJaxpr, rule: PartRule, name: str) -> Any:
    mapped = tuple([dim is not None for dim in dims])
    whole, out_mapped = batch_jaxpr(jaxpr, mapped, axis_info)
    mapped_rule = None
    if rule is not None:

        def make(used: tuple[bool, ...]) -> ClosedJaxpr:
            # The reader of the results knows which are mapped: the rule must not give a mapped one in place of another.
            part, found = batch_jaxpr(rule.program(used), mapped, axis_info, chosen(out_mapped, used))
            if list(found) != chosen(out_mapped, used):
                raise TypeError(f"the rule for dead code of {name} maps results that its function does not")
            return part

        mapped_rule = PartRule(whole, name, make)
    operands = [to_front(arg, dim) for arg, dim in zip(args, dims, strict=True)]
    outs = custom_dce_call_p.bind(*operands, jaxpr=whole, rule=mapped_rule, name=name)
    return outs, tuple([0 if is_mapped else None for is_mapped in out_mapped])
