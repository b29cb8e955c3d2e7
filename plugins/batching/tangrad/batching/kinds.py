"""The rule kind that batching owns, and itself as a plugin."""

from __future__ import annotations

from tangrad.batching.trace import batch_by_decomposition
from tangrad.core import RuleKind, Transformation

batch = RuleKind(
    "batch",
    api=1,
    signature="(args, dims, *, axis_info, **params) -> (outs, out_dims)",
    doc="a primitive applied along a mapped axis of some operands",
    derive=batch_by_decomposition,
)
batching = Transformation("batching", api=1, kinds=(batch,), doc="vectorisation (vmap)")
