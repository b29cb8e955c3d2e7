"""What contractions and convolutions share: how exactly their products are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tangrad.extend.lax import is_algorithm

if TYPE_CHECKING:
    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrAttribute


def precision_config(ctx: FunctionContext, precision: Any) -> IrAttribute:
    """The attribute that says how exactly accelerators compute, of a canonical precision."""
    names = ("DEFAULT", "DEFAULT") if precision is None or is_algorithm(precision) else [p.name for p in precision]
    return ctx.vocabulary.parsed(f"[#stablehlo<precision {names[0]}>, #stablehlo<precision {names[1]}>]")
