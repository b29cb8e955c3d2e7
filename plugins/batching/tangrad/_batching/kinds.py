"""The rule kinds that batching owns, and itself as a plugin."""

from __future__ import annotations

from tangrad._batching.rule_helpers import FORMS
from tangrad._batching.split import split_by_names
from tangrad._batching.trace import batch_by_decomposition, batch_call
from tangrad.core import RuleKind, Transformation

batch = RuleKind(
    "batch",
    api=1,
    signature="(args, dims, *, axis_info, **params) -> (outs, out_dims)",
    doc="a primitive applied along a mapped axis of some operands",
    derive=batch_by_decomposition,
    forms={**FORMS, "call": batch_call},
)
split_axis = RuleKind(
    "split_axis",
    api=1,
    signature="(args, dims, *, axis_info, **params) -> (outs, out_dims)",
    doc="a primitive that names an axis of which only a part is mapped here, and another one under a name of its own",
    default=split_by_names,
    optional=True,
)
batching = Transformation("batching", api=1, kinds=(batch, split_axis), doc="vectorisation (vmap)")
