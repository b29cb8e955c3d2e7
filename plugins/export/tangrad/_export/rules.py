"""The rules of calls of exported programs, whose derivatives are other programs; of some kinds they have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._export.primitives import call_exported_p, push_forward_p
from tangrad.core import RuleSet, ShapedArray, eval_jaxpr, get_aval
from tangrad.extend.sharding import Axes, Unclear

if TYPE_CHECKING:
    from tangrad._export.exported import Exported
    from tangrad.typing import Params, Value, Values

if TYPE_CHECKING:
    from tangrad.core import Array

jvp, transpose = RuleSet("jvp", api=1), RuleSet("transpose", api=1)
batch, mask = RuleSet("batch", api=1), RuleSet("mask", api=1)

transpose.not_applicable("a program need not be linear; its derivative forwards is another primitive", call_exported_p)
batch.not_applicable("a program for arguments of certain types is not mapped", call_exported_p, push_forward_p)
mask.not_applicable("which of a program's results depend on padding is not known", call_exported_p, push_forward_p)


@jvp.rule(call_exported_p)
def _(primals: Values, tangents: Values, *, exported: Exported) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    if not exported.has_vjp():
        exported.vjp()  # which raises, before anything is computed
    outs = call_exported_p.bind(*primals, exported=exported)
    return outs, tuple(push_forward_p.bind(*primals, *tangents, exported=exported))


@transpose.rule(push_forward_p)
def _(cotangents: Values, *operands: Value, exported: Exported) -> tuple[Value | None, ...]:
    count = len(exported.in_avals)
    return (*[None] * count, *exported.vjp().call(*operands[:count], *cotangents))


sharding = RuleSet("sharding", api=1)


@sharding.rule(call_exported_p, push_forward_p)
def _(operands: object, results: tuple[ShapedArray, ...], params: Params) -> tuple[Axes, ...]:
    """As it was when the program was written; whole where that had no sharding."""
    saved: Exported = params["exported"]
    if any([one is not None and one.order for one in saved.out_shardings]):
        raise Unclear("the program was written for devices in another order than that of its mesh")
    return tuple(
        [
            ((),) * result.ndim if one is None else one.dimensions
            for one, result in zip(saved.out_shardings, results, strict=True)
        ]
    )


# In a saved program: its steps, here.
portable = RuleSet("portable", api=1)


@portable.rule(call_exported_p)
def _(*args: Value, exported: Exported) -> Values:
    program = exported.program_for([get_aval(arg) for arg in args])
    return tuple(eval_jaxpr(program.jaxpr, program.consts, *args))
