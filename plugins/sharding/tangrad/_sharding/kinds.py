"""The rule kind that shardings own."""

from __future__ import annotations

from tangrad._sharding.propagation import FORMS, missing_rule, rule_by_decomposition
from tangrad.core import RuleKind

sharding = RuleKind(
    "sharding",
    api=1,
    signature="(operands, results, params) -> axes of each result",
    doc="the mesh axes that cut each dimension of the results, given those of the operands, where types have shardings",
    derive=rule_by_decomposition,
    default=missing_rule,
    forms=FORMS,
    optional=True,
)
