"""No activation is linear."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.nn.primitives import activations

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *activations.primitives.values())
