"""The rule kinds that belong to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tangrad.core.declarations import RuleKind


def _keep_whole(used_outputs: Sequence[bool], equation: Any) -> tuple[list[bool], Any]:
    """Without a rule of its own an equation that carries jaxprs stays as it is."""
    return [True] * len(equation.invars), equation


dce = RuleKind(
    "dce",
    api=1,
    signature="(used_outputs, equation) -> (used_inputs, equation or None)",
    doc="removes from an equation that carries jaxprs what its unused outputs needed",
    default=lambda _: _keep_whole,
)
