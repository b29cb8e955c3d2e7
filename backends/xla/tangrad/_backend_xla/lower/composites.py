"""How composites become StableHLO: one operation, and its definition as a function of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tangrad._backend_xla.lowering import FunctionContext, ordered_effects
from tangrad._backend_xla.mlir import IrValue, ir
from tangrad.core import ClosedJaxpr, RuleSet, dtypes
from tangrad.extend.custom_rules import composite_p

if TYPE_CHECKING:
    from tangrad._backend_xla.mlir import IrAttribute, Vocabulary

lower = RuleSet("lower.xla", api=1)


@lower.rule(composite_p)
def _composite(
    ctx: FunctionContext, *operands: IrValue, jaxpr: ClosedJaxpr, name: str, version: int, attributes: Any
) -> tuple[IrValue, ...]:
    if ordered_effects(jaxpr.jaxpr) or ctx.sizes:  # whose tokens and sizes a definition cannot be given
        return tuple(ctx.inline(jaxpr, operands))
    words = ctx.vocabulary
    symbol = ctx.lower_jaxpr_as_function(jaxpr, name)
    found = {key: _attribute(words, value) for key, value in attributes.values.items()}
    made = ctx.ops(
        "stablehlo.composite",
        [ctx.types[aval] for aval in ctx.out_avals],
        operands,
        {
            "name": words.string(name),
            "decomposition": ir.FlatSymbolRefAttr.get(symbol, words.context),
            "version": words.integer32(version),
            "composite_attributes": ir.DictAttr.get(found, words.context),
        },
    )
    return tuple(made.results)


def _attribute(words: Vocabulary, value: object) -> IrAttribute:
    if isinstance(value, tuple):
        return ir.ArrayAttr.get([_attribute(words, item) for item in value], words.context)
    if isinstance(value, dict):
        return ir.DictAttr.get({key: _attribute(words, item) for key, item in value.items()}, words.context)
    if isinstance(value, np.dtype):
        return ir.TypeAttr.get(words.element_type(dtypes.as_dtype(value)), words.context)
    if isinstance(value, np.ndarray):
        return words.elements(value)
    return words.attribute(value)
