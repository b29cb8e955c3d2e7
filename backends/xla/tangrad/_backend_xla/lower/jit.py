"""How calls of jitted functions, and of those with attributes, become StableHLO: calls of functions of the module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tangrad.core import ClosedJaxpr, RuleSet
from tangrad.extend.jit import hinted_p, jit_p, tagged_p

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute, IrValue


lower = RuleSet("lower.xla", api=1)


@lower.rule(jit_p)
def _jit(ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str) -> tuple[IrValue, ...]:
    return tuple(ctx.call(jaxpr, operands, name))


@lower.rule(hinted_p)
def _hinted(
    ctx: FunctionContext,
    *operands: IrValue,
    jaxpr: ClosedJaxpr,
    name: str,
    attributes: Sequence[tuple[str, str]],
    derived: object,
) -> tuple[IrValue, ...]:
    return tuple(ctx.call(jaxpr, operands, name, _dictionary(ctx, {}, attributes) if attributes else None))


@lower.rule(tagged_p)
def _tagged(ctx: FunctionContext, x: IrValue, *, attributes: Iterable[tuple[str, str]]) -> IrValue:
    """The operation that makes the value gets the attributes, where one of this function does."""
    owner: Any = x.owner
    if not isinstance(owner, ctx.vocabulary.ir.Block):
        before: dict[str, object] = {}
        if "mhlo.frontend_attributes" in owner.attributes:
            before = {item.name: item.attr for item in owner.attributes["mhlo.frontend_attributes"]}
        owner.attributes["mhlo.frontend_attributes"] = _dictionary(ctx, before, attributes)
    return x


def _dictionary(ctx: FunctionContext, before: dict[str, object], attributes: Iterable[tuple[str, str]]) -> IrAttribute:
    words = ctx.vocabulary
    return words.ir.DictAttr.get({**{name: words.string(value) for name, value in attributes}, **before}, words.context)
