"""The rule kind that masking owns."""

from __future__ import annotations

from tangrad._masking.rule_helpers import FORMS
from tangrad._masking.trace import mask_by_decomposition, mask_call
from tangrad.core import RuleKind

mask = RuleKind(
    "mask",
    api=1,
    signature="(args, shapes, *, sizes, **params) -> results",
    doc="a primitive applied to padded arrays, of which a part counts",
    derive=mask_by_decomposition,
    forms={**FORMS, "call": mask_call},
)
