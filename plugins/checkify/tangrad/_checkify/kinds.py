"""The rule kind that checkify owns."""

from __future__ import annotations

from tangrad._checkify.programs import checked_call
from tangrad._checkify.rule_helpers import by_decomposition, default_rule, unchecked
from tangrad.core import RuleKind

checkify = RuleKind(
    "checkify",
    api=1,
    signature="(args, *, checks, **params) -> results",
    doc="a primitive applied to its operands, with what may fail noted in `checks`",
    derive=by_decomposition,
    default=default_rule,
    forms={"call": checked_call, "handed on": unchecked},
)
