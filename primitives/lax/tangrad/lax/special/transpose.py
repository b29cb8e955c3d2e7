"""No special function is linear."""

from __future__ import annotations

from tangrad.core import RuleSet
from tangrad.lax.special.primitives import special

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", *special.primitives.values())
