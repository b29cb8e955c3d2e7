"""The rule kind that named axes own, and themselves as a plugin."""

from __future__ import annotations

from typing import Any

from tangrad._collectives.named_axes.substitution import subst_in_programs
from tangrad.core import Primitive, RuleKind, Transformation


def _default(primitive: Primitive) -> Any:
    """Primitives whose parameters name no axis: only the programs that they carry are looked into."""
    return subst_in_programs


axis_subst = RuleKind(
    "axis_subst",
    api=1,
    signature="(params, subst) -> params",
    doc="the parameters with other names for mapped axes: subst(name) is a tuple of names",
    default=_default,
)
named_axes = Transformation(
    "named_axes", api=1, kinds=(axis_subst,), doc="other names for the mapped axes that a program uses"
)
