"""How the special functions act on padded arrays: each position by itself."""

from __future__ import annotations

from tangrad._lax.special.primitives import special
from tangrad.core import RuleSet
from tangrad.extend.masking import positionwise

mask = RuleSet("mask", api=1)
positionwise(mask, *special.primitives.values())
