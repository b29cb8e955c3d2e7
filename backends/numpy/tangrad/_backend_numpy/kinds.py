"""The rule kind `lower.numpy`, and lowerings made of decompositions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tangrad._backend_numpy.kernels import Kernel
from tangrad.core import DerivedRule, Primitive, RuleKind, decomposition_jaxpr

if TYPE_CHECKING:
    from tangrad._backend_numpy.lowering import Lowering
    from tangrad._backend_numpy.program import Value


def from_decomposition(primitive: Primitive) -> Kernel:
    """The lowering of a primitive that has none: its decomposition, traced for the types at hand."""

    def emit(ctx: Lowering, *values: Value, **params: object) -> Value:
        with DerivedRule(primitive, "lower.numpy"):
            return ctx.inline(decomposition_jaxpr(primitive, ctx.in_avals, params), *values)

    return Kernel(emit)


lower = RuleKind(
    "lower.numpy",
    api=1,
    signature="(ctx, *arrays, **params) -> array, or a tuple of arrays with multiple results",
    doc="computes a primitive with NumPy",
    derive=from_decomposition,
)
