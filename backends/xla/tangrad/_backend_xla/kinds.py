"""The rule kinds that belong to the XLA backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad.core import DerivedRule, Primitive, RuleKind, decomposition_jaxpr

if TYPE_CHECKING:
    from jaxlib.mlir import ir

    from tangrad._backend_xla.lowering import FunctionContext
    from tangrad._backend_xla.mlir import IrValue
    from tangrad.core.protocols import LoweringRule

SIGNATURE = "(ctx, *operands, **params) -> MLIR value, or a tuple of them"


def lower_by_decomposition(primitive: Primitive) -> LoweringRule:
    """The rule of a primitive that is defined by others: they are lowered in its place."""

    def rule(ctx: FunctionContext, *operands: ir.Value, **params: object) -> IrValue | tuple[IrValue, ...]:
        with DerivedRule(primitive, "lower.xla"):
            outs = ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), operands)
        return tuple(outs) if primitive.multiple_results else outs[0]

    return rule


lower_xla = RuleKind(
    "lower.xla",
    api=1,
    signature=SIGNATURE,
    doc="adds the StableHLO operations of one equation",
    derive=lower_by_decomposition,
)
lower_xla_cpu = RuleKind("lower.xla.cpu", api=1, signature=SIGNATURE, doc="as lower.xla, for the CPU alone")
lower_xla_cuda = RuleKind("lower.xla.cuda", api=1, signature=SIGNATURE, doc="as lower.xla, for NVIDIA GPUs alone")
lower_xla_rocm = RuleKind("lower.xla.rocm", api=1, signature=SIGNATURE, doc="as lower.xla, for AMD GPUs alone")
lower_xla_tpu = RuleKind("lower.xla.tpu", api=1, signature=SIGNATURE, doc="as lower.xla, for TPUs alone")
