"""The rule kind that sparsify owns."""

from __future__ import annotations

from tangrad.core import RuleKind
from tangrad.sparse_arrays.trace import by_decomposition

sparse = RuleKind(
    "sparse",
    api=1,
    signature="(*args, **params) -> results",
    doc="a primitive applied to operands of which some are sparse arrays",
    derive=by_decomposition,
    optional=True,
)
