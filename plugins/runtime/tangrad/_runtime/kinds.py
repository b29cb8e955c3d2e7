"""The rule kind of saved programs: how what belongs to a transformation is said in primitives that programs carry."""

from __future__ import annotations

from tangrad.core import RuleKind

portable = RuleKind(
    "portable",
    api=1,
    signature="(*args, **params) -> results",
    doc="a primitive of a transformation in terms of those that saved programs have",
    optional=True,
)
