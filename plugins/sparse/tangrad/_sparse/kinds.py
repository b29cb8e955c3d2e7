"""The rule kind that sparsify owns."""

from __future__ import annotations

from tangrad._sparse.trace import by_decomposition
from tangrad.core import RuleKind

sparse = RuleKind(
    "sparse",
    api=1,
    signature="(*args, **params) -> results",
    doc="a primitive applied to operands of which some are sparse arrays",
    derive=by_decomposition,
    optional=True,
)
