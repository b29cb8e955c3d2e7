"""The rule kind that checkify owns."""

from __future__ import annotations

from tangrad._checkify.rules import by_decomposition, default_rule
from tangrad.core import RuleKind

checkify = RuleKind(
    "checkify",
    api=1,
    signature="(args, *, checks, **params) -> results",
    doc="a primitive applied to its operands, with what may fail noted in `checks`",
    derive=by_decomposition,
    default=default_rule,
)
