"""Functions with rules of their own. Where nothing is differentiated any more they are what they compute."""

from __future__ import annotations

from typing import Any

from tangrad._references.cells import discharged
from tangrad._references.operands import check_distinct, keep_values, values_of
from tangrad.core import ClosedJaxpr, Primitive, RuleSet, as_array, eval_jaxpr, find_primitive

discharge = RuleSet("discharge", api=1)


def _call(primitive: Primitive) -> None:
    @discharge.rule(primitive)
    def _(args: Any, own: Any, *, jaxpr: Any, name: str, **others: Any) -> Any:
        if not all([arg._trace.last for arg, is_own in zip(args, own, strict=True) if is_own]):
            raise NotImplementedError(
                f"{name}: a function with derivatives of its own uses a reference from outside, within a program whose "
                "derivative may be asked for. Read it before, ref[...], pass the value, and write what is returned"
            )
        check_distinct(name, args, own)
        if type(jaxpr) is not ClosedJaxpr:  # the function itself
            return tuple([as_array(out) for out in jaxpr(*args)])
        program = discharged(jaxpr, args, own)
        outs = eval_jaxpr(program.jaxpr, program.consts, *values_of(args, own))
        return keep_values(args, own, program, [as_array(out) for out in outs])


_call(find_primitive("custom_rules.custom_jvp_call"))
_call(find_primitive("custom_rules.custom_vjp_call"))
