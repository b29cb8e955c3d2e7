"""The rule kind that belongs to rematerialisation."""

from __future__ import annotations

from tangrad.core import RuleKind

recompute = RuleKind(
    "recompute",
    api=1,
    signature="(equation, wanted, divide) -> Recomputation(first, kept, second)",
    doc="divides an equation that carries programs into what a checkpoint policy keeps and what is computed again",
    optional=True,
)
