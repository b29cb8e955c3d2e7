"""No special function is linear."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad.core import RuleSet

transpose = RuleSet("transpose", api=1)
transpose.not_applicable("it is not linear", *special.primitives.values())
