"""The rule kind `lower.numpy`, and lowerings made of decompositions."""

from __future__ import annotations

from typing import Any

from tangrad._backend_numpy.kernels import Kernel
from tangrad.core import DerivedRule, RuleKind, decomposition_jaxpr


def from_decomposition(primitive: Any) -> Kernel:
    """The lowering of a primitive that has none: its decomposition, traced for the types at hand."""

    def emit(ctx: Any, *values: Any, **params: Any) -> Any:
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
