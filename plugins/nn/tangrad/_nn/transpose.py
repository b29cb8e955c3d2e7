"""No activation is linear."""

from __future__ import annotations

from tangrad._nn.primitives import activations
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("not linear", *activations.primitives.values())
